// Static types of expressions, as far as schemas and declarations tell them. Gradual: what is not
// known is dyn and is only checked when it runs. Values; thread safe once built.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schema/type.h"

namespace kueue::cel {

enum class TypeKind : uint8_t {
  kDyn,
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kList,
  kMap,
  kObject,  // fields of a schema
  kTimestamp,
  kDuration,
  kType,
  kOptional,
  kOpaque,  // name: kubernetes.Quantity, net.IP, ...
  kParam,   // A or B in a signature
};

struct CelType {
  TypeKind kind = TypeKind::kDyn;
  std::string_view name = {};            // kOpaque: static text
  const schema::Type* schema = nullptr;  // kObject
  std::vector<CelType> params = {};      // kList: element; kMap: key, value; kOptional: inner

  CelType() = default;
  CelType(TypeKind k) : kind(k) {}  // NOLINT: implicit by intent
  static CelType list(CelType element);
  static CelType map(CelType key, CelType value);
  static CelType optional(CelType inner);
  static CelType opaque(std::string_view name);
};

// The type of a schema's values. nullptr is dyn.
CelType type_of_schema(const schema::Type* schema);
// As messages print it: "int", "list(string)", "map(string, dyn)", "object".
std::string to_string(const CelType& type);
// A value of type `from` may stand where `to` is wanted (dyn goes both ways).
bool assignable(const CelType& from, const CelType& to);
// The common type of two branches; dyn when they differ.
CelType join(const CelType& a, const CelType& b);

}  // namespace kueue::cel
