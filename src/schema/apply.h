// The documents of server-side apply: merging an applied configuration into a live object, and
// taking out what is no longer applied. Who manages what is the business of
// schema/managed_fields.h. Pure; thread safe.
#pragma once

#include "json/value.h"
#include "schema/fieldset.h"
#include "schema/type.h"

namespace kueue::schema {

// `live` overlaid with `config`: members and map entries merge, atomic values and scalars are
// replaced, items of list maps merge by key, items of sets unite. Items of the config keep their
// order; live items stay before the item they stood before.
json::Value merge_applied(const Type& type, const json::Value& live, const json::Value& config);

// `merged` without what is in `before` (what the manager applied last time) and not in `managed`
// (what anybody manages now, this manager's new set included). Structs count as managed when
// something inside is. A container that loses its last entry is removed too, unless it is managed
// itself.
json::Value remove_unapplied(const Type& type, json::Value merged, const FieldSet& before,
                             const FieldSet& managed);

}  // namespace kueue::schema
