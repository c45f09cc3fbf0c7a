// Webhook configurations to install: which requests the API server sends to which path. Pure;
// thread safe.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "json/value.h"

namespace kueue::webhooks {

struct ManifestOptions {
  std::string namespace_ = "kueue-system";  // Kueue's own
  // How the API server reaches the webhooks: a Service in that namespace, or, when set, the URL
  // that paths follow.
  std::string service = "kueue-webhook-service";
  std::string url = {};        // "https://127.0.0.1:9443"
  std::string ca_bundle = {};  // base64 of the PEM; "" = left out
  // The only paths to install; absent = all.
  std::optional<std::set<std::string, std::less<>>> paths = {};
};

// MutatingWebhookConfiguration kueue-mutating-webhook-configuration.
json::Value mutating_configuration(const ManifestOptions& options);
// ValidatingWebhookConfiguration kueue-validating-webhook-configuration.
json::Value validating_configuration(const ManifestOptions& options);
// The conversion block of a kueue CustomResourceDefinition (spec.conversion).
json::Value conversion_block(const ManifestOptions& options);

}  // namespace kueue::webhooks
