#include "schema/path.h"

namespace kueue::schema {

std::string Path::str() const {
  std::string out;
  append_to(out);
  return out;
}

void Path::append_to(std::string& out) const {
  if (parent_ != nullptr) parent_->append_to(out);
  switch (step_) {
    case Step::kRoot:
      break;
    case Step::kChild:
      if (!out.empty()) out += '.';
      out += name_;
      break;
    case Step::kIndex:
      out += '[';
      out += std::to_string(index_);
      out += ']';
      break;
    case Step::kKey:
      out += '[';
      out += name_;
      out += ']';
      break;
  }
}

}  // namespace kueue::schema
