// Lists in documents that may lack them. Thread safe.
#pragma once

#include <initializer_list>
#include <string_view>

#include "json/value.h"

namespace kueue::json {

// The items of the list at a path of members; empty when there is none.
inline const Array& list_at(const Value& object, std::initializer_list<std::string_view> path) {
  static const Array kNone;
  const Value* list = object.find_path(path);
  return list != nullptr && list->is_array() ? list->as_array() : kNone;
}

}  // namespace kueue::json
