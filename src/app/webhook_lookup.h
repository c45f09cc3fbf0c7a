// What webhooks ask of the cluster, answered from the manager's caches. Thread safe.
#pragma once

#include <memory>

#include "controllers/manager.h"
#include "kube/client.h"
#include "webhooks/hook.h"

namespace kueue::app {

// The manager must outlive it. Queues are known only while the controllers that keep them run:
// without them webhooks see a cluster without queues, as with Kueue.
std::shared_ptr<webhooks::Lookup> make_webhook_lookup(controllers::Manager& manager,
                                                      std::shared_ptr<kube::Client> client,
                                                      const controllers::Options& options);
webhooks::Settings webhook_settings(const controllers::Options& options);

}  // namespace kueue::app
