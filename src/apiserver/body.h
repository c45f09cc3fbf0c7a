// Request bodies: decoding by content type, and the check of a document against its kind. Pure;
// thread safe.
#pragma once

#include <string>
#include <vector>

#include "apiserver/call.h"
#include "base/result.h"
#include "json/value.h"

namespace kueue::apiserver {

// Bytes of a request that are accepted, as in Kubernetes.
constexpr size_t kMaxBody = 3u * 1024 * 1024;

struct Body {
  json::Value value;
  std::vector<std::string> duplicates;  // paths of keys that came twice
};

// The body as JSON, YAML or Kubernetes protobuf. kTooLarge, kUnsupportedMedia or kBadRequest.
Result<Body> read_body(const Call& call);

// dryRun, fieldManager and fieldValidation of the query into the call.
Result<void> read_write_options(Call& call);

// apiVersion and kind fit the version the request goes to; absent ones are filled in.
Result<void> check_kind(const Call& call, json::Value& object, const Served& expected);

// Types, nulls, unknown fields (warned, refused or ignored as the call says), defaults.
Result<void> take_in(Call& call, json::Value& object, const Served& as,
                     const std::vector<std::string>& duplicates);
// The JSON types that everything after relies on: all of them for built-in kinds, those of the
// metadata for custom ones.
Result<void> check_shape(const json::Value& object, const Served& as);
// Nulls, unknown fields and defaults once more, silently: after an admission webhook changed the
// object.
void tidy_up(json::Value& object, const Served& as);

// apiVersion, kind and metadata first: stored texts are scanned from the front.
json::Value ordered(json::Value object);

}  // namespace kueue::apiserver
