// Identity of list items: the keys of list maps and the values of sets. Pure; thread safe.
#pragma once

#include <string>
#include <unordered_map>

#include "json/value.h"
#include "schema/type.h"

namespace kueue::schema {

// The key members of an item of a list map, as an object in the order of list_map_keys:
// {"name":"a","port":80}. A key that is absent takes its default; without one it is left out. An
// item that is no object gives an empty object.
json::Value list_map_key(const Type& list, const json::Value& item);

// A text that is equal for equal keys and different for different ones: for maps and sorting, not
// for people.
std::string list_map_key_text(const Type& list, const json::Value& item);

// The items of a list map by their keys; the first of equal ones counts. The list must outlive the
// index.
class ListMapIndex {
 public:
  ListMapIndex(const Type& list, const json::Value& items);
  // nullptr when no item has the same keys.
  const json::Value* find(const json::Value& item) const;

 private:
  const Type& list_;
  std::unordered_map<std::string, const json::Value*> items_;
};

}  // namespace kueue::schema
