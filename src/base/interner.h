// Interner: names to dense ids and back. One per engine instance; ids are handed out in order of
// first use and live as long as the interner. Not thread safe.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/ids.h"

namespace kueue {

template <typename IdType>
class Interner {
 public:
  IdType intern(std::string_view name) {
    if (auto it = by_name_.find(name); it != by_name_.end()) return it->second;
    const std::string& stored = names_.emplace_back(name);
    IdType id(names_.size() - 1);
    by_name_.emplace(stored, id);
    return id;
  }
  // The invalid id when the name was never interned.
  IdType find(std::string_view name) const {
    auto it = by_name_.find(name);
    return it == by_name_.end() ? IdType() : it->second;
  }
  const std::string& name(IdType id) const { return names_[id.value]; }
  size_t size() const { return names_.size(); }

 private:
  std::deque<std::string> names_;  // stable addresses: by_name_ views them
  std::unordered_map<std::string_view, IdType> by_name_;
};

}  // namespace kueue
