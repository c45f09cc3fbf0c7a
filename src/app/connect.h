// From plain configuration to connections over the network.
#pragma once

#include <memory>

#include "base/result.h"
#include "kube/kubeconfig.h"
#include "wire/http.h"

namespace kueue::app {

struct Rate {
  double qps = 0;  // 0 = not limited
  int burst = 0;
};

Result<std::shared_ptr<wire::Transport>> connect(const kube::ClientConfig& config, Rate rate = {});
// Of a transport that connect() made, for the requests to come.
void limit_rate(wire::Transport& transport, Rate rate);

}  // namespace kueue::app
