// Renders reasons as the sentences of condition messages (labels-conditions-events.md 2).
#include "engine/explain/quantity_text.h"
#include "engine/explanation.h"

namespace kueue::engine {
namespace {

// Requests know no Unlimited: the largest one shows its number.
std::string request_text(const std::string& resource, Amount amount) {
  if (!amount.is_unlimited()) return quantity_text(resource, amount);
  return std::to_string(amount.value()) + (resource == "cpu" ? "m" : "");
}

}  // namespace

std::string render(const Reason& r) {
  switch (r.kind) {
    case ReasonKind::kFlavorMissing:
      return "flavor " + r.flavor + " not found";
    case ReasonKind::kTaint:
      return "untolerated taint " + r.detail + " in flavor " + r.flavor;
    case ReasonKind::kAffinity:
      return "flavor " + r.flavor + " doesn't match node affinity";
    case ReasonKind::kResourceUnavailable:
      return "resource " + r.resource + " unavailable in ClusterQueue";
    case ReasonKind::kExceedsCapacity:
      return "insufficient quota for " + r.resource + " in flavor " + r.flavor +
             ", previously considered podsets requests (" + request_text(r.resource, r.a) +
             ") + current podset request (" + request_text(r.resource, r.b) +
             ") > maximum capacity (" + quantity_text(r.resource, r.c) + ")";
    case ReasonKind::kWaitingForQuota:
      return "insufficient unused quota for " + r.resource + " in flavor " + r.flavor + ", " +
             quantity_text(r.resource, r.a) + " more needed";
    case ReasonKind::kPinned:
      return "skipping flavor " + r.flavor +
             " as it is not found in the nomination mapping for resource " + r.resource;
    case ReasonKind::kNotAllowed:
      return "skipping flavor " + r.flavor +
             " due to WorkloadAllowedResourceFlavorAnnotation annotation";
    case ReasonKind::kSliceFlavor:
      return "could not assign " + r.flavor +
             " flavor since the original workload is assigned: " + r.detail;
    case ReasonKind::kTopology:
      return r.detail;
  }
  return "";
}

}  // namespace kueue::engine
