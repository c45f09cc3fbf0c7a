// Defaults of fields and types, at every level of a document, and the removal of nulls that goes
// before. Pure; thread safe.
#pragma once

#include "json/value.h"
#include "schema/type.h"

namespace kueue::schema {

// Puts the default where a struct lacks a member that has one (Field::default_json, else
// Type::default_json of its type), and walks into what was there and what was put. List items and
// map values are walked; an absent struct without a default of its own is not created for the sake
// of defaults inside. A null of a nullable type stays.
void apply_defaults(const Type& type, json::Value& document);

// Removes null members of structs and maps whose type is not nullable, as kube-apiserver does
// before defaulting. Nulls in lists stay (validation refuses them), and so does everything below
// kAny.
void drop_nulls(const Type& type, json::Value& document);

// Puts the structs that Go's built-in kinds hold by value where they are absent: spec, template,
// jobTemplate and the metadata of templates, from the root down. What is required inside is then
// missed by validation, as it should be. Other Types than those of Kubernetes are left alone.
void fill_values(const Type& type, json::Value& document);

}  // namespace kueue::schema
