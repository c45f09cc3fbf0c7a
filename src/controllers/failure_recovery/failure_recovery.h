// FailureRecovery: ends Pods that were asked to end on nodes which nobody can reach any more, when
// their owner allowed it by annotation (gate FailureRecoveryPolicy). behaviour 22.
#pragma once

#include "api/core.h"
#include "controllers/context.h"
#include "kube/controller.h"
#include "kube/informer.h"

namespace kueue::controllers {

class FailureRecovery {
 public:
  // How long after its deletion time a Pod may still end by itself.
  static constexpr Duration kGrace = Duration::seconds(60);

  explicit FailureRecovery(Context& context);
  Result<kube::ReconcileResult> reconcile(const kube::ObjectKey& key);
  // Whether a Pod is any of its business: allowed and being deleted.
  static bool concerns(const api::core::Pod& pod);

  kube::Informer<api::core::Pod>& pods() { return pods_; }

 private:
  Result<bool> unreachable(const std::string& node);
  Result<void> fail(const kube::ObjectKey& key, const std::string& message);

  Context& context_;
  kube::EventRecorder recorder_;
  kube::Informer<api::core::Pod> pods_;
};

}  // namespace kueue::controllers
