#include "app/own_lease.h"

#include "json/value.h"
#include "kube/leader_election.h"

namespace kueue::app {
namespace {

const kube::Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};
constexpr const char* kHolder = "kueue-up";
constexpr int64_t kSeconds = 15;
constexpr Duration kRenew = Duration::seconds(5);

kube::ObjectKey lease_key() {
  const kube::LeaderElectionOptions defaults;
  return {defaults.namespace_, defaults.lease_name};
}

}  // namespace

OwnLease::OwnLease(std::shared_ptr<kube::Client> client, kube::Executor& executor)
    : client_(std::move(client)), executor_(executor) {}

OwnLease::~OwnLease() { give_back(); }

Result<void> OwnLease::write(const std::string& holder, int64_t seconds) {
  const std::string now = format_micro_time(executor_.clock().now());
  const json::Value spec = json::Value::object(
      {{"holderIdentity", holder}, {"leaseDurationSeconds", seconds}, {"renewTime", now}});
  auto patched = client_->patch(kLeases, lease_key(), kube::PatchType::kMerge,
                                json::Value::object({{"spec", spec}}));
  if (patched.ok()) return {};
  if (patched.error().code != ErrorCode::kNotFound) return std::move(patched).error();
  auto made = client_->create(
      kLeases, lease_key().namespace_,
      json::Value::object({{"apiVersion", "coordination.k8s.io/v1"},
                           {"kind", "Lease"},
                           {"metadata", json::Value::object({{"name", lease_key().name}})},
                           {"spec", spec}}));
  if (!made.ok()) return std::move(made).error();
  return {};
}

Result<void> OwnLease::take() {
  std::lock_guard lock(guard_->mutex);
  KUEUE_TRY(write(kHolder, kSeconds));
  guard_->held = true;
  renew_later();
  return {};
}

void OwnLease::renew_later() {
  timer_ = executor_.run_after(kRenew, [this, guard = guard_] {
    std::lock_guard lock(guard->mutex);
    if (!guard->held) return;
    // Nothing depends on one renewal: nobody can reach this server but through this process.
    (void)write(kHolder, kSeconds).ok();
    renew_later();
  });
}

void OwnLease::give_back() {
  std::lock_guard lock(guard_->mutex);
  if (!guard_->held) return;
  guard_->held = false;
  executor_.cancel(timer_);
  (void)write("", 1).ok();
}

Result<void> OwnLease::clear() {
  const auto lease = client_->get(kLeases, lease_key());
  if (!lease.ok() || lease->get_string({"spec", "holderIdentity"}) != kHolder) return {};
  return write("", 1);
}

}  // namespace kueue::app
