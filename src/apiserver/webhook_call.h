// Calls of webhooks: to a service registered in process, or through the transport factory. Thread
// safe; blocks.
#pragma once

#include "base/result.h"
#include "base/time.h"
#include "json/value.h"
#include "wire/http.h"

namespace kueue::apiserver {

class Core;

// POSTs `body` to where `client_config` (a WebhookClientConfig) points and returns the JSON answer.
// Errors: kTimeout, kUnavailable (no connection), kInternal (an answer that is not 200 or no JSON).
Result<json::Value> call_webhook(Core& core, const json::Value& client_config,
                                 const json::Value& body, Duration timeout);

// `request` sent to where `client_config` points: its handler in process, or its host. Blocks.
Result<wire::Response> send_request(Core& core, const json::Value& client_config,
                                    wire::Request request, Duration timeout);
// Any request to a handler in process, waiting for the whole answer.
Result<wire::Response> call_handler(wire::Handler& handler, wire::Request request,
                                    Duration timeout);

// True when the client config names a service that is registered in process.
bool is_local(const Core& core, const json::Value& client_config);
// The URL as error texts show it: "https://name.namespace.svc:443/path".
std::string webhook_url(const json::Value& client_config);

}  // namespace kueue::apiserver
