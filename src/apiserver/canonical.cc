#include "apiserver/canonical.h"

#include "api/quantity.h"

namespace kueue::apiserver {

namespace {

bool empty_container(const schema::Field& field, const json::Value& value) {
  if (field.required) return false;
  if (field.type->kind == schema::Kind::kList) return value.is_array() && value.as_array().empty();
  return field.type->kind == schema::Kind::kMap && value.is_object() && value.as_object().empty();
}

void canonicalize_struct(const schema::Type& type, json::Value& value) {
  if (!value.is_object()) return;
  for (const schema::Field& field : type.fields) {
    json::Value* member = value.find(field.name);
    if (member == nullptr) continue;
    canonicalize(*field.type, *member);
    if (empty_container(field, *member)) value.as_object().erase(field.name);
  }
}

}  // namespace

void canonicalize(const schema::Type& type, json::Value& value) {
  switch (type.kind) {
    case schema::Kind::kStruct:
      canonicalize_struct(type, value);
      break;
    case schema::Kind::kMap:
      if (value.is_object() && type.element)
        for (auto& member : value.as_object()) canonicalize(*type.element, member.second);
      break;
    case schema::Kind::kList:
      if (value.is_array() && type.element)
        for (json::Value& item : value.as_array()) canonicalize(*type.element, item);
      break;
    case schema::Kind::kQuantity:
      if (const auto quantity = api::Quantity::from_json(value); quantity.ok())
        value = quantity->to_string();
      break;
    case schema::Kind::kAny:
    case schema::Kind::kBool:
    case schema::Kind::kInt32:
    case schema::Kind::kInt64:
    case schema::Kind::kDouble:
    case schema::Kind::kString:
    case schema::Kind::kBytes:
    case schema::Kind::kIntOrString:
    case schema::Kind::kTime:
    case schema::Kind::kMicroTime:
    case schema::Kind::kDuration:
      break;
  }
}

}  // namespace kueue::apiserver
