// Documents as sets of field paths, by their Type: what a document holds, and what differs between
// two. The grain is that of server-side apply: atomic maps and lists are one path, items of list
// maps go by their keys, items of sets by their value. Pure; thread safe.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"
#include "schema/fieldset.h"
#include "schema/type.h"

namespace kueue::schema {

struct Comparison {
  FieldSet changed;  // added or modified
  FieldSet removed;

  bool empty() const { return changed.empty() && removed.empty(); }
};

// What an update from `before` to `after` touches. An added struct, map or list is a path of its
// own besides those of its parts.
Comparison compare(const Type& type, const json::Value& before, const json::Value& after);

// What applying the document claims: leaves, entries of maps, items of lists; structs only when
// empty.
FieldSet owned_fields(const Type& type, const json::Value& document);

// Why a document cannot be applied: `.spec.foo: field not declared in schema`, duplicate or keyless
// list items, wrong shapes. Empty when it can.
std::vector<std::string> apply_problems(const Type& type, const json::Value& document);

// True when the value is one path to server-side apply, whatever it holds.
bool is_atomic(const Type& type);
// The Type of the members of what is kept as it is (kAny with preserve_unknown): maps are merged by
// key, lists are atomic.
const Type& deduced_type();
// The path element of a list item: "k:{\"name\":\"a\"}" or "v:\"x\"". "" when the item has none (no
// object, no key).
std::string item_element(const Type& list, const json::Value& item);

}  // namespace kueue::schema
