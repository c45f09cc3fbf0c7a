#include "cli/lease.h"

#include "base/age.h"

namespace kueue::cli {

std::string leader_problem(const json::Value* lease, Instant now) {
  if (lease == nullptr) return "no manager has ever led: there is no Lease";
  const std::string holder(lease->get_string({"spec", "holderIdentity"}));
  const auto renewed = parse_time(lease->get_string({"spec", "renewTime"}));
  const std::string since = renewed.ok() ? human_duration(now - *renewed) + " ago" : "";
  if (holder.empty())
    return "no manager leads: the last one gave its Lease up" + (since.empty() ? "" : " " + since);
  if (!renewed.ok()) return "";
  const Duration held = Duration::seconds(lease->get_int({"spec", "leaseDurationSeconds"}, 15));
  if (now - *renewed <= held * 2) return "";
  return "no manager leads: " + holder + " renewed its Lease " + since + " for the last time";
}

}  // namespace kueue::cli
