// Rules about how queues, cohorts, flavors and checks refer to each other and to namespaces.
#include <algorithm>
#include <set>

#include "cli/lint.h"

namespace kueue::cli {
namespace {

class Rules : public RuleSet {
 public:
  Rules(const Inventory& inventory, std::vector<Finding>* out) : RuleSet(inventory, out) {}

  void run() {
    for (const json::Value& queue : all_.of("ClusterQueue")) cluster_queue(queue);
    for (const json::Value& queue : all_.of("LocalQueue")) local_queue(queue);
    for (const json::Value& flavor : all_.of("ResourceFlavor")) this->flavor(flavor);
    cohorts();
  }

 private:
  void cluster_queue(const json::Value& queue) {
    const std::string label = object_label("ClusterQueue", queue);
    reach(queue, label);
    flavors_of(queue, label);
    checks_of(queue, label);
    const json::Value* active = condition_of(queue, "Active");
    if (active != nullptr && active->get_string({"status"}) == "False")
      add(Severity::kError, "inactive-queue", label, "status.conditions",
          "is not active (" + std::string(active->get_string({"reason"})) +
              "): " + std::string(active->get_string({"message"})),
          "nothing is admitted until this is mended");
    const std::string_view stop = queue.get_string({"spec", "stopPolicy"}, "None");
    if (stop != "None")
      add(Severity::kInfo, "stopped-queue", label, "spec.stopPolicy",
          "is stopped: stopPolicy is " + std::string(stop), "set it to None to admit again");
  }

  void reach(const json::Value& queue, const std::string& label) {
    const json::Value* selector = queue.find_path({"spec", "namespaceSelector"});
    if (all_.has("Namespace")) {
      const auto& namespaces = all_.of("Namespace");
      const bool any = std::any_of(namespaces.begin(), namespaces.end(),
                                   [&](const json::Value& one) { return selects(selector, one); });
      if (selector == nullptr || selector->is_null()) {
        add(Severity::kError, "unreachable-queue", label, "spec.namespaceSelector",
            "has no namespaceSelector, which matches no namespace: nothing can ever be admitted",
            "write namespaceSelector: {} to allow every namespace");
      } else if (!any) {
        add(Severity::kError, "unreachable-queue", label, "spec.namespaceSelector",
            "its namespaceSelector matches none of the " + std::to_string(namespaces.size()) +
                " namespaces",
            "label a namespace so that it matches, or widen the selector");
      }
    }
    if (!all_.has("LocalQueue")) return;
    const auto& locals = all_.of("LocalQueue");
    const bool named = std::any_of(locals.begin(), locals.end(), [&](const json::Value& one) {
      return one.get_string({"spec", "clusterQueue"}) == name_of(queue);
    });
    if (!named)
      add(Severity::kWarning, "queue-without-local-queue", label, "",
          "no LocalQueue leads to it, so no job can be sent to it",
          "make a LocalQueue with spec.clusterQueue: " + std::string(name_of(queue)));
  }

  void flavors_of(const json::Value& queue, const std::string& label) {
    if (!all_.has("ResourceFlavor")) return;
    size_t g = 0;
    for (const json::Value& group : json::list_at(queue, {"spec", "resourceGroups"})) {
      size_t f = 0;
      for (const json::Value& flavor : json::list_at(group, {"flavors"})) {
        const std::string_view name = flavor.get_string({"name"});
        if (all_.find("ResourceFlavor", "", name) == nullptr)
          add(Severity::kError, "missing-flavor", label,
              "spec.resourceGroups[" + std::to_string(g) + "].flavors[" + std::to_string(f) + "]",
              "names the ResourceFlavor \"" + std::string(name) +
                  "\", which does not exist: the whole queue is inactive",
              "create the flavor or take it out of the queue");
        ++f;
      }
      ++g;
    }
  }

  void checks_of(const json::Value& queue, const std::string& label) {
    if (!all_.has("AdmissionCheck")) return;
    std::vector<std::string> names;
    for (const json::Value& one : json::list_at(queue, {"spec", "admissionChecks"}))
      names.emplace_back(one.string_or(""));
    for (const json::Value& one :
         json::list_at(queue, {"spec", "admissionChecksStrategy", "admissionChecks"}))
      names.emplace_back(one.get_string({"name"}));
    for (const std::string& name : names) {
      const json::Value* check = all_.find("AdmissionCheck", "", name);
      if (check == nullptr) {
        add(Severity::kError, "missing-check", label, "spec.admissionChecksStrategy",
            "names the AdmissionCheck \"" + name + "\", which does not exist",
            "create the check or take it out of the queue");
        continue;
      }
      const json::Value* active = condition_of(*check, "Active");
      if (active == nullptr || active->get_string({"status"}) != "True")
        add(Severity::kError, "inactive-check", label, "spec.admissionChecksStrategy",
            "its AdmissionCheck \"" + name + "\" is not active: no controller (" +
                std::string(check->get_string({"spec", "controllerName"})) + ") answers for it",
            "start the controller that the check names");
    }
  }

  void local_queue(const json::Value& queue) {
    if (!all_.has("ClusterQueue")) return;
    const std::string label = object_label("LocalQueue", queue);
    const std::string target(queue.get_string({"spec", "clusterQueue"}));
    const json::Value* cluster_queue = all_.find("ClusterQueue", "", target);
    if (cluster_queue == nullptr) {
      add(Severity::kError, "missing-cluster-queue", label, "spec.clusterQueue",
          "leads to the ClusterQueue \"" + target + "\", which does not exist",
          "create the ClusterQueue; spec.clusterQueue cannot be changed");
      return;
    }
    const std::string_view stop = queue.get_string({"spec", "stopPolicy"}, "None");
    if (stop != "None")
      add(Severity::kInfo, "stopped-queue", label, "spec.stopPolicy",
          "is stopped: stopPolicy is " + std::string(stop), "set it to None to admit again");
    const json::Value* own = all_.find("Namespace", "", namespace_of(queue));
    const json::Value* selector = cluster_queue->find_path({"spec", "namespaceSelector"});
    // A selector that takes nobody is told once, at the ClusterQueue.
    if (own != nullptr && selector != nullptr && !selector->is_null() && !selects(selector, *own))
      add(Severity::kError, "unreachable-queue", label, "spec.clusterQueue",
          "the namespaceSelector of ClusterQueue \"" + target + "\" does not take namespace \"" +
              std::string(namespace_of(queue)) + "\": jobs sent here wait for ever",
          "label the namespace so that it matches, or widen the selector");
  }

  void flavor(const json::Value& flavor) {
    const std::string label = object_label("ResourceFlavor", flavor);
    const std::string topology(flavor.get_string({"spec", "topologyName"}));
    if (!topology.empty() && all_.has("Topology") && all_.find("Topology", "", topology) == nullptr)
      add(Severity::kError, "missing-topology", label, "spec.topologyName",
          "names the Topology \"" + topology + "\", which does not exist",
          "create the Topology; queues with this flavor are inactive until then");
  }

  void cohorts() {
    std::map<std::string, std::string> parent;  // of every Cohort that has one
    std::set<std::string> used;                 // by queues or as a parent
    for (const json::Value& queue : all_.of("ClusterQueue"))
      used.emplace(queue.get_string({"spec", "cohortName"}));
    for (const json::Value& cohort : all_.of("Cohort")) {
      const std::string up(cohort.get_string({"spec", "parentName"}));
      if (up.empty()) continue;
      parent[std::string(name_of(cohort))] = up;
      used.insert(up);
    }
    for (const json::Value& cohort : all_.of("Cohort")) {
      const std::string name(name_of(cohort));
      if (all_.has("ClusterQueue") && !used.contains(name))
        add(Severity::kWarning, "unused-cohort", object_label("Cohort", cohort), "",
            "no ClusterQueue and no other Cohort is in it, so its quota reaches nobody",
            "set cohortName of a ClusterQueue or parentName of a Cohort to it");
      cycle(name, parent);
    }
  }

  // Tells each cycle once, at the member whose name comes first.
  void cycle(const std::string& start, const std::map<std::string, std::string>& parent) {
    std::vector<std::string> path{start};
    for (;;) {
      const auto up = parent.find(path.back());
      if (up == parent.end()) return;
      if (up->second == start) break;
      if (std::find(path.begin(), path.end(), up->second) != path.end()) return;  // leads into one
      path.push_back(up->second);
    }
    if (*std::min_element(path.begin(), path.end()) != start) return;
    std::string text;
    for (const std::string& name : path) text += name + " -> ";
    add(Severity::kError, "cohort-cycle", "Cohort/" + start, "spec.parentName",
        "is its own ancestor: " + text + start + "; every queue below is inactive",
        "take parentName from one of these Cohorts");
  }
};

}  // namespace

void lint_queues(const Inventory& inventory, std::vector<Finding>* out) {
  Rules(inventory, out).run();
}

}  // namespace kueue::cli
