// Kinds that may own jobs and be managed by Kueue.
#pragma once

#include <span>
#include <string_view>

#include "json/value.h"

namespace kueue::webhooks {

struct OwnerKind {
  std::string_view group, kind, plural;
  std::string_view framework;  // "" = only passed through on the way up
};

// All of them.
std::span<const OwnerKind> owner_kinds();
// The controlling owner reference; nullptr when there is none.
const json::Value* controller_of(const json::Value& object);
// nullptr when no integration knows the kind of the reference.
const OwnerKind* owner_kind(const json::Value& owner);

}  // namespace kueue::webhooks
