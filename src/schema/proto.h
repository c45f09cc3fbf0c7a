// Kubernetes' protobuf bodies: kubectl sends its typed commands so. Decoded by the field numbers of
// the tables into the same JSON documents that everything else works on. Pure; thread safe.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"
#include "schema/type.h"

namespace kueue::schema {

// The Type of a kind; nullptr for one we do not know.
using FindKind = std::function<const Type*(std::string_view api_version, std::string_view kind)>;

struct ProtoOptions {
  size_t max_bytes = 64u << 20;
  int max_depth = 100;
};

// True when the bytes begin like a Kubernetes protobuf body ("k8s" and a zero byte).
bool is_protobuf(std::string_view bytes);

// A whole body: the envelope (runtime.Unknown) and the object in it, apiVersion and kind set from
// the envelope. Values that Go leaves out of JSON when they are zero are left out here. Unknown
// field numbers are passed over. kBadRequest for malformed bytes, with the path of the field, and
// for a kind that find_kind does not know.
Result<json::Value> decode_protobuf(std::string_view bytes, const FindKind& find_kind,
                                    const ProtoOptions& options = {});

// One message without envelope.
Result<json::Value> decode_message(const Type& type, std::string_view bytes,
                                   const ProtoOptions& options = {});

// The body of an object, as a client would send it. Members without a field number are left out;
// the document must fit its Type.
std::string encode_protobuf(const Type& type, const json::Value& object);
std::string encode_message(const Type& type, const json::Value& object);

}  // namespace kueue::schema
