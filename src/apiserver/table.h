// Tables: rows and columns as `kubectl get` prints them, for built-in kinds and by the printer
// columns of CRDs. Pure; thread safe.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/call.h"
#include "base/result.h"
#include "base/time.h"

namespace kueue::apiserver {

enum class RowObject : uint8_t { kMetadata, kNone, kObject };

// ?includeObject=; kBadRequest for other words.
Result<RowObject> row_object(const Call& call);

// The columnDefinitions of a kind as JSON text: "[...]".
std::string column_definitions(const Served& served);
// One row as JSON text. `object_text` is the object in the version of `served`.
std::string table_row(const Served& served, std::string_view object_text, RowObject include,
                      std::string_view meta_version, Instant now);
// The start of a Table up to `"rows":[`.
std::string table_head(std::string_view meta_version, std::string_view list_metadata,
                       std::string_view definitions);

}  // namespace kueue::apiserver
