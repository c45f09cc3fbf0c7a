// Conversions between versions of one kind: the built-in pairs, and CRDs' webhooks.
#pragma once

#include "apiserver/catalog.h"
#include "base/result.h"
#include "json/value.h"

namespace kueue::apiserver {

class Core;

// events (core/v1 and events.k8s.io/v1) and HorizontalPodAutoscaler (v1 and v2); of other kinds
// only apiVersion changes. Pure.
Result<json::Value> convert_built_in(json::Value object, const Served& target);

// Sends a ConversionReview and waits. Errors are worded as kube-apiserver's.
Result<json::Value> convert_by_webhook(Core& core, const Resource& resource, json::Value object,
                                       const Served& target);

}  // namespace kueue::apiserver
