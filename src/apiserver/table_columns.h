// The columns of built-in kinds, as data. Pure; constant.
#pragma once

#include <span>
#include <string_view>

#include "base/time.h"
#include "json/value.h"

namespace kueue::apiserver {

struct ColumnSet {
  std::string_view collection;
  // "Name:string/name|Age:string|IP:string*": name, type, format, and * for those of -o wide.
  std::string_view columns;
  // One cell per column.
  json::Array (*cells)(const json::Value& object, Instant now) = nullptr;
};

// nullptr for kinds that show name and creation time only.
const ColumnSet* columns_of(std::string_view collection);

// What both files of cells need.
std::string age(const json::Value& object, Instant now);
json::Array pod_cells(const json::Value& object, Instant now);
json::Array node_cells(const json::Value& object, Instant now);
json::Array event_cells(const json::Value& object, Instant now);

}  // namespace kueue::apiserver
