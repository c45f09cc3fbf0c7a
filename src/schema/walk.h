// Small pieces that every walk over a document and its Type shares. Pure; thread safe.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"
#include "schema/type.h"

namespace kueue::schema {

// Finds fields of one struct by name. Documents mostly keep the order of the table, so the search
// starts behind the field found before: a walk over all members costs about one comparison each.
class FieldCursor {
 public:
  explicit FieldCursor(const Type& type) : fields_(type.fields) {}

  // nullptr when the struct has no such field.
  const Field* find(std::string_view name) {
    const size_t n = fields_.size();
    for (size_t i = 0; i < n; ++i) {
      const size_t at = next_ + i < n ? next_ + i : next_ + i - n;
      if (fields_[at].name == name) {
        next_ = at + 1 < n ? at + 1 : 0;
        return &fields_[at];
      }
    }
    return nullptr;
  }

 private:
  std::span<const Field> fields_;
  size_t next_ = 0;
};

// The name of a struct without its package: "JobSpec" of "io.k8s.api.batch.v1.JobSpec".
inline std::string_view short_name(const Type& type) {
  const size_t dot = type.name.rfind('.');
  return dot == std::string_view::npos ? type.name : type.name.substr(dot + 1);
}

// Deepest nesting any walk follows; deeper input is refused by the parser, so that only a Type
// cycle could get there.
inline constexpr int kMaxDepth = 600;

}  // namespace kueue::schema
