// Rules about Workloads that wait or run in vain.
#include <map>

#include "cli/lint.h"

namespace kueue::cli {
namespace {

bool is_true(const json::Value& object, std::string_view type) {
  const json::Value* found = condition_of(object, type);
  return found != nullptr && found->get_string({"status"}) == "True";
}

// Uids of the objects that own it.
std::vector<std::string> owners_of(const json::Value& object) {
  std::vector<std::string> out;
  for (const json::Value& owner : json::list_at(object, {"metadata", "ownerReferences"}))
    out.emplace_back(owner.get_string({"uid"}));
  return out;
}

struct Stuck {
  size_t pods = 0;
  std::string message;
};

// By the uid of their owners.
std::map<std::string, Stuck> unscheduled_pods(const Inventory& all) {
  std::map<std::string, Stuck> out;
  for (const json::Value& pod : all.of("Pod")) {
    const std::string why = why_unscheduled(pod);
    if (why.empty()) continue;
    for (const std::string& owner : owners_of(pod)) {
      ++out[owner].pods;
      out[owner].message = why;
    }
  }
  return out;
}

// Reasons of QuotaReserved=False that do not pass by themselves.
struct Hopeless {
  std::string_view reason;
  std::string_view message;
  std::string_view advice;
};
constexpr Hopeless kHopeless[] = {
    {"ExceedsMaxQuota", "asks for more than its ClusterQueue can ever have",
     "raise the quota, or request less"},
    {"NoMatchingFlavor", "matches no flavor of its ClusterQueue",
     "let its node selector and tolerations fit a flavor, or add one"},
    {"Misconfigured", "cannot be queued", "mend what its condition names"},
};

void run_in_vain(const Inventory& all, std::vector<Finding>* out) {
  const std::map<std::string, Stuck> stuck = unscheduled_pods(all);
  for (const json::Value& workload : all.of("Workload")) {
    if (!is_true(workload, "Admitted") || is_true(workload, "Finished")) continue;
    for (const std::string& owner : owners_of(workload)) {
      const auto found = stuck.find(owner);
      if (found == stuck.end()) continue;
      out->push_back({Severity::kError, "admitted-cannot-run", object_label("Workload", workload),
                      "status.conditions",
                      "holds its quota, but " + std::to_string(found->second.pods) +
                          " of its Pods cannot be scheduled: " + found->second.message,
                      "the quota promises more than the nodes have, or in other pieces: compare "
                      "both, or free the quota with spec.active: false"});
    }
  }
}

// One finding for each queue and reason: there may be thousands.
void wait_in_vain(const Inventory& all, std::vector<Finding>* out) {
  struct Group {
    std::vector<std::string> names;
    std::string said;
  };
  std::map<std::pair<std::string, size_t>, Group> groups;
  for (const json::Value& workload : all.of("Workload")) {
    const json::Value* reserved = condition_of(workload, "QuotaReserved");
    if (reserved == nullptr || reserved->get_string({"status"}) != "False" ||
        is_true(workload, "Finished"))
      continue;
    for (size_t i = 0; i < std::size(kHopeless); ++i) {
      if (reserved->get_string({"reason"}) != kHopeless[i].reason) continue;
      const std::string queue = "LocalQueue/" + std::string(namespace_of(workload)) + "/" +
                                std::string(workload.get_string({"spec", "queueName"}));
      Group& group = groups[{queue, i}];
      group.names.emplace_back(name_of(workload));
      if (group.said.empty()) group.said = reserved->get_string({"message"});
    }
  }
  for (const auto& [key, group] : groups) {
    const Hopeless& hopeless = kHopeless[key.second];
    const bool many = group.names.size() > 1;
    out->push_back({Severity::kWarning, "waits-for-ever", key.first, "",
                    "Workload " + some_of(group.names) + " " + std::string(hopeless.message) +
                        (many ? "; of the first: " : ": ") + group.said,
                    std::string(hopeless.advice) + "; kueue explain workload " + group.names[0]});
  }
}

}  // namespace

std::string why_unscheduled(const json::Value& pod) {
  const json::Value* scheduled = condition_of(pod, "PodScheduled");
  if (scheduled == nullptr || scheduled->get_string({"status"}) != "False") return "";
  std::string out(scheduled->get_string({"reason"}));
  if (out == "SchedulingGated") return "";  // somebody holds it on purpose
  const std::string message(scheduled->get_string({"message"}));
  return message.empty() ? out : out + ": " + message;
}

void lint_workloads(const Inventory& inventory, std::vector<Finding>* out) {
  run_in_vain(inventory, out);
  wait_in_vain(inventory, out);
}

}  // namespace kueue::cli
