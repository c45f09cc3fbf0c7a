// JSON documents to C++ API structs and back. The templates are thin; one engine in codec.cc does
// the work over the bindings of schema/bind.h. Pure functions, thread safe.
#pragma once

#include "base/result.h"
#include "json/value.h"
#include "schema/bind.h"

namespace kueue::schema {

struct DecodeOptions {
  // Unknown fields are errors (all are listed), instead of being left out.
  bool strict = false;
};

// The engine. `object` is a default-made C++ value that `binding` describes.
Result<void> decode_value(const ValueBinding& binding, const json::Value& value, void* object,
                          const DecodeOptions& options = {});
json::Value encode_value(const ValueBinding& binding, const void* object);

// T is an API struct, or a scalar, vector, Map or optional of what API structs are made of. A field
// of the wrong type gives kBadRequest, worded as kube-apiserver does ("json: cannot unmarshal
// string into Go struct field WorkloadSpec.spec.priority of type int32"), with the exact path,
// indexes included, in the cause. JSON null leaves a field absent. A root object whose apiVersion
// or kind is present and another one's is refused.
template <typename T>
Result<T> decode(const json::Value& value, const DecodeOptions& options = {}) {
  T object{};
  Result<void> result = decode_value(value_binding<T>, value, &object, options);
  if (!result.ok()) return std::move(result).error();
  return object;
}

// Zero values are left out except in required fields; apiVersion and kind of root objects are
// written.
template <typename T>
json::Value encode(const T& object) {
  return encode_value(value_binding<T>, &object);
}

}  // namespace kueue::schema
