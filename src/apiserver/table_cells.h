// Table cells of built-in kinds: the columns that kubectl prints for them, and one function a kind
// that makes the cells of a row from an object. Kinds without an entry show name and creation time.
// Pure, thread safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "json/value.h"
#include "schema/type.h"

namespace kueue::apiserver {

struct BuiltinTable {
  std::string_view group;
  std::string_view plural;
  std::span<const schema::PrinterColumn> columns;
  // As many cells as columns; strings, integers or booleans by the column's type.
  std::vector<json::Value> (*cells)(const json::Value& object, Instant now);
};

// nullptr: the kind has no columns of its own.
const BuiltinTable* builtin_table(std::string_view group, std::string_view plural);

// Age of a time stamp in an object; "<unknown>" when it is absent or no time.
std::string age(std::string_view time_text, Instant now);

}  // namespace kueue::apiserver
