#include "cel/types.h"

namespace kueue::cel {

CelType CelType::list(CelType element) {
  CelType t(TypeKind::kList);
  t.params.push_back(std::move(element));
  return t;
}
CelType CelType::map(CelType key, CelType value) {
  CelType t(TypeKind::kMap);
  t.params.push_back(std::move(key));
  t.params.push_back(std::move(value));
  return t;
}
CelType CelType::optional(CelType inner) {
  CelType t(TypeKind::kOptional);
  t.params.push_back(std::move(inner));
  return t;
}
CelType CelType::opaque(std::string_view name) {
  CelType t(TypeKind::kOpaque);
  t.name = name;
  return t;
}

namespace {

CelType type_of_text(const schema::Type& schema) {
  if (schema.constraints == nullptr) return TypeKind::kString;
  std::string_view format = schema.constraints->format;
  if (format == "date-time" || format == "date") return TypeKind::kTimestamp;
  if (format == "duration") return TypeKind::kDuration;
  if (format == "byte") return TypeKind::kBytes;
  return TypeKind::kString;
}

}  // namespace

CelType type_of_schema(const schema::Type* schema) {
  if (schema == nullptr) return TypeKind::kDyn;
  switch (schema->kind) {
    case schema::Kind::kAny:
    case schema::Kind::kIntOrString:
    case schema::Kind::kQuantity:
      return TypeKind::kDyn;
    case schema::Kind::kBool:
      return TypeKind::kBool;
    case schema::Kind::kInt32:
    case schema::Kind::kInt64:
      return TypeKind::kInt;
    case schema::Kind::kDouble:
      return TypeKind::kDouble;
    case schema::Kind::kString:
      return type_of_text(*schema);
    case schema::Kind::kDuration:
      return TypeKind::kString;
    case schema::Kind::kBytes:
      return TypeKind::kBytes;
    case schema::Kind::kTime:
    case schema::Kind::kMicroTime:
      return TypeKind::kTimestamp;
    case schema::Kind::kList:
      return CelType::list(schema->element ? type_of_schema(&*schema->element) : CelType());
    case schema::Kind::kMap:
      return CelType::map(TypeKind::kString,
                          schema->element ? type_of_schema(&*schema->element) : CelType());
    case schema::Kind::kStruct: {
      CelType t(TypeKind::kObject);
      t.schema = schema;
      return t;
    }
  }
  return TypeKind::kDyn;
}

std::string to_string(const CelType& type) {
  auto param = [&type](size_t i) {
    return i < type.params.size() ? to_string(type.params[i]) : std::string("dyn");
  };
  switch (type.kind) {
    case TypeKind::kDyn:
      return "dyn";
    case TypeKind::kNull:
      return "null";
    case TypeKind::kBool:
      return "bool";
    case TypeKind::kInt:
      return "int";
    case TypeKind::kUint:
      return "uint";
    case TypeKind::kDouble:
      return "double";
    case TypeKind::kString:
      return "string";
    case TypeKind::kBytes:
      return "bytes";
    case TypeKind::kList:
      return "list(" + param(0) + ")";
    case TypeKind::kMap:
      return "map(" + param(0) + ", " + param(1) + ")";
    case TypeKind::kObject:
      return "object";
    case TypeKind::kTimestamp:
      return "timestamp";
    case TypeKind::kDuration:
      return "duration";
    case TypeKind::kType:
      return "type";
    case TypeKind::kOptional:
      return "optional_type(" + param(0) + ")";
    case TypeKind::kOpaque:
    case TypeKind::kParam:
      return std::string(type.name);
  }
  return "dyn";
}

bool assignable(const CelType& from, const CelType& to) {
  if (from.kind == TypeKind::kDyn || to.kind == TypeKind::kDyn) return true;
  if (from.kind == TypeKind::kNull || to.kind == TypeKind::kNull) {
    // null may stand for objects and library types, never for scalars.
    TypeKind other = from.kind == TypeKind::kNull ? to.kind : from.kind;
    return other == TypeKind::kNull || other == TypeKind::kObject ||
           other == TypeKind::kTimestamp || other == TypeKind::kDuration ||
           other == TypeKind::kOpaque || other == TypeKind::kOptional;
  }
  if (from.kind != to.kind) return false;
  if (from.kind == TypeKind::kObject) return from.schema == to.schema;
  if (from.kind == TypeKind::kOpaque) return from.name == to.name;
  for (size_t i = 0; i < from.params.size() && i < to.params.size(); ++i)
    if (!assignable(from.params[i], to.params[i])) return false;
  return true;
}

CelType join(const CelType& a, const CelType& b) {
  if (a.kind != b.kind) return TypeKind::kDyn;
  if (a.kind == TypeKind::kObject) return a.schema == b.schema ? a : CelType();
  if (a.kind == TypeKind::kOpaque) return a.name == b.name ? a : CelType();
  CelType out = a;
  for (size_t i = 0; i < out.params.size(); ++i)
    out.params[i] = i < b.params.size() ? join(a.params[i], b.params[i]) : CelType();
  return out;
}

}  // namespace kueue::cel
