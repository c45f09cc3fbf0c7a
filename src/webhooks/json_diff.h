// The difference of two documents as a JSON patch (RFC 6902). Pure; thread safe.
#pragma once

#include "json/value.h"

namespace kueue::webhooks {

// Operations that turn `from` into `to`: add, remove and replace, members and items as deep down as
// they differ. Empty when they are equal. Missing parents need not be made first: their whole value
// is added.
json::Value diff(const json::Value& from, const json::Value& to);

}  // namespace kueue::webhooks
