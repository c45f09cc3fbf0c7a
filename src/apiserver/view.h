// Views: a stored object as a version and form that a client asked for. Conversion between
// versions, partial metadata, the envelopes of lists and watch events. Thread safe.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/call.h"
#include "apiserver/store.h"
#include "base/result.h"
#include "json/value.h"

namespace kueue::apiserver {

// `object` (any version of the resource) as the version `target`. In process where a converter is
// known; by webhook, which blocks, for CRDs that say so.
Result<json::Value> convert(Core& core, json::Value object, const Served& target);
// True when convert() to or from a version of this resource may wait for a webhook.
bool conversion_blocks(Core& core, const Resource& resource);

// The object as JSON text in the version `target`.
Result<std::string> object_text(Core& core, const Served& target, const Stored& stored);
Result<json::Value> object_value(Core& core, const Served& target, const Stored& stored);

// A PartialObjectMetadata of the object.
std::string partial_text(std::string_view object_text, std::string_view meta_version,
                         std::string_view kind = "PartialObjectMetadata");

// "JobList" of "Job".
std::string list_kind(const Served& served);
// The object text as the call wants it: itself, a Table of one row, or partial metadata.
std::string render_form(const Call& call, std::string_view object_text);

}  // namespace kueue::apiserver
