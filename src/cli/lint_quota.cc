// Rules about amounts: what subtrees promise against what nodes have, flavors nobody uses or no
// node carries, quotas of one resource written in scales that do not go together.
#include <algorithm>
#include <functional>

#include "api/quantity.h"
#include "cli/lint.h"

namespace kueue::cli {
namespace {

using api::Quantity;

constexpr int kSuspectRatio = 1000;  // between quotas of one resource in different notations

struct Quota {
  std::string owner;  // "ClusterQueue/a"
  std::string field;
  std::string flavor;
  std::string resource;
  std::string text;
  Quantity amount;
};

// How an amount was written.
std::string notation(const std::string& text) {
  if (text.empty()) return "";
  if (text.ends_with('i')) return "binary units (Ki, Mi, Gi, ...)";
  const char last = text.back();
  if (last == 'm') return "thousandths (m)";
  if (last == 'n' || last == 'u') return "smaller units (n, u)";
  if (last >= '0' && last <= '9') return "plain numbers";
  return "decimal units (k, M, G, ...)";
}

bool is_bytes(const std::string& resource) {
  return resource == "memory" || resource == "ephemeral-storage" ||
         resource.starts_with("hugepages-");
}

class Rules : public RuleSet {
 public:
  Rules(const Inventory& inventory, std::vector<Finding>* out) : RuleSet(inventory, out) {}

  void run() {
    for (const char* kind : {"ClusterQueue", "Cohort"})
      for (const json::Value& owner : all_.of(kind)) collect(kind, owner);
    flavors();
    capacity();
    scales();
    hollow_queues();
  }

 private:
  void collect(const char* kind, const json::Value& owner) {
    size_t g = 0;
    for (const json::Value& group : json::list_at(owner, {"spec", "resourceGroups"})) {
      size_t f = 0;
      for (const json::Value& flavor : json::list_at(group, {"flavors"})) {
        size_t r = 0;
        for (const json::Value& resource : json::list_at(flavor, {"resources"})) {
          const json::Value* nominal = resource.find("nominalQuota");
          auto amount = Quantity::from_json(nominal != nullptr ? *nominal : json::Value(0));
          if (amount.ok()) {
            quotas_.push_back({object_label(kind, owner),
                               "spec.resourceGroups[" + std::to_string(g) + "].flavors[" +
                                   std::to_string(f) + "].resources[" + std::to_string(r) +
                                   "].nominalQuota",
                               std::string(flavor.get_string({"name"})),
                               std::string(resource.get_string({"name"})),
                               nominal != nullptr && nominal->is_string() ? nominal->as_string()
                                                                          : amount->to_string(),
                               *amount});
          }
          ++r;
        }
        ++f;
      }
      ++g;
    }
  }

  // Labels of a flavor all stand on the node.
  static bool carries(const json::Value& node, const json::Value& flavor) {
    const json::Value* wanted = flavor.find_path({"spec", "nodeLabels"});
    if (wanted == nullptr || !wanted->is_object()) return true;
    const json::Value* labels = node.find_path({"metadata", "labels"});
    for (const auto& [key, value] : wanted->as_object()) {
      const json::Value* has = labels != nullptr ? labels->find(key) : nullptr;
      if (has == nullptr || *has != value) return false;
    }
    return true;
  }

  void flavors() {
    if (!all_.has("ClusterQueue")) return;
    for (const json::Value& flavor : all_.of("ResourceFlavor")) {
      const std::string name(name_of(flavor));
      const std::string label = object_label("ResourceFlavor", flavor);
      const bool used = std::any_of(quotas_.begin(), quotas_.end(),
                                    [&](const Quota& q) { return q.flavor == name; });
      if (!used)
        add(Severity::kWarning, "unused-flavor", label, "",
            "no ClusterQueue and no Cohort has quota of it", "give it quota or delete it");
      const auto& nodes = all_.of("Node");
      if (used && !nodes.empty() &&
          std::none_of(nodes.begin(), nodes.end(),
                       [&](const json::Value& node) { return carries(node, flavor); }))
        add(Severity::kWarning, "flavor-without-nodes", label, "spec.nodeLabels",
            "none of the " + std::to_string(nodes.size()) +
                " nodes carries all its nodeLabels: what is admitted with it cannot run now",
            "label nodes, or see whether an autoscaler makes such nodes");
    }
  }

  // By the root of each quota's tree: the topmost Cohort, or the ClusterQueue itself.
  std::string root_of(const std::string& owner) const {
    std::string name = owner.substr(owner.find('/') + 1);
    std::string cohort;
    if (owner.starts_with("ClusterQueue/")) {
      const json::Value* queue = all_.find("ClusterQueue", "", name);
      cohort = queue != nullptr ? std::string(queue->get_string({"spec", "cohortName"})) : "";
      if (cohort.empty()) return owner;
    } else {
      cohort = name;
    }
    for (size_t steps = 0; steps <= all_.of("Cohort").size(); ++steps) {  // cycles end too
      const json::Value* object = all_.find("Cohort", "", cohort);
      const std::string up(object != nullptr ? object->get_string({"spec", "parentName"}) : "");
      if (up.empty()) break;
      cohort = up;
    }
    return "Cohort/" + cohort;
  }

  void capacity() {
    const auto& nodes = all_.of("Node");
    if (nodes.empty()) return;
    for (const json::Value& flavor : all_.of("ResourceFlavor")) {
      const std::string name(name_of(flavor));
      std::map<std::string, Quantity> has;
      for (const json::Value& node : nodes) {
        const json::Value* allocatable = node.find_path({"status", "allocatable"});
        if (allocatable == nullptr || !allocatable->is_object() || !carries(node, flavor)) continue;
        for (const auto& [resource, text] : allocatable->as_object())
          if (const auto amount = Quantity::from_json(text); amount.ok())
            has[resource].add(*amount);
      }
      std::map<std::string, std::map<std::string, Quantity>> promised;  // resource -> root -> sum
      for (const Quota& quota : quotas_)
        if (quota.flavor == name) promised[quota.resource][root_of(quota.owner)].add(quota.amount);
      for (const auto& [resource, roots] : promised)
        compare(object_label("ResourceFlavor", flavor), resource, roots, has);
    }
  }

  void compare(const std::string& flavor, const std::string& resource,
               const std::map<std::string, Quantity>& roots,
               const std::map<std::string, Quantity>& has) {
    Quantity total;
    std::vector<std::string> parts;
    for (const auto& [root, amount] : roots) {
      total.add(amount);
      parts.push_back(root + " " + amount.to_string());
    }
    const auto there = has.find(resource);
    if (total.is_zero()) return;
    if (there == has.end()) {
      if (has.empty()) return;  // told as a flavor without nodes
      const bool elsewhere =
          std::any_of(all_.of("Node").begin(), all_.of("Node").end(), [&](const json::Value& node) {
            const json::Value* list = node.find_path({"status", "allocatable"});
            return list != nullptr && list->find(resource) != nullptr;
          });
      add(elsewhere ? Severity::kWarning : Severity::kInfo, "quota-without-capacity", flavor, "",
          "has quota of " + total.to_string() + " " + resource + " (" + some_of(parts) + "), but " +
              (elsewhere ? "no node with its nodeLabels" : "no node at all") + " offers " +
              resource,
          elsewhere ? "move the quota to a flavor whose nodes have it"
                    : "fine if it counts something else than nodes, as licences");
      return;
    }
    Quantity more = total;
    more.sub(there->second);
    if (more.sign() > 0) {
      add(Severity::kWarning, "quota-above-capacity", flavor, "",
          "quotas promise " + total.to_string() + " " + resource + " (" + some_of(parts) +
              "), its nodes have " + there->second.to_string() + ": " + more.to_string() +
              " too much; admitted jobs may find no room",
          "lower nominalQuota, add nodes, or rely on an autoscaler knowingly");
    } else if (more.sign() < 0) {
      more.negate();
      add(Severity::kInfo, "capacity-without-quota", flavor, "",
          "its nodes have " + there->second.to_string() + " " + resource + ", quotas hand out " +
              total.to_string() + ": " + more.to_string() + " can be used by nobody's queue",
          "raise nominalQuota if that is not kept back on purpose");
    }
  }

  void scales() {
    std::map<std::string, std::vector<const Quota*>> by_resource;
    for (const Quota& quota : quotas_)
      if (!quota.amount.is_zero()) by_resource[quota.resource].push_back(&quota);
    for (const auto& [resource, list] : by_resource) {
      if (is_bytes(resource)) tiny(resource, list);
      mixed(resource, list);
    }
  }

  void tiny(const std::string& resource, const std::vector<const Quota*>& list) {
    for (const Quota* quota : list) {
      Quantity less = quota->amount;
      less.sub(Quantity::of(1 << 20));
      if (less.sign() < 0)
        add(Severity::kWarning, "tiny-quota", quota->owner, quota->field,
            resource + " of flavor " + quota->flavor + " is \"" + quota->text +
                "\": that many bytes, less than 1Mi",
            "write a unit, such as " + quota->text + "Gi");
    }
  }

  void mixed(const std::string& resource, const std::vector<const Quota*>& list) {
    std::map<std::string, const Quota*> least;  // by notation
    std::map<std::string, const Quota*> most;
    for (const Quota* quota : list) {
      const std::string how = notation(quota->text);
      const Quota*& low = least.try_emplace(how, quota).first->second;
      const Quota*& high = most.try_emplace(how, quota).first->second;
      if ((quota->amount - low->amount).sign() < 0) low = quota;
      if ((quota->amount - high->amount).sign() > 0) high = quota;
    }
    if (least.size() < 2) return;
    for (auto a = least.begin(); a != least.end(); ++a) {
      for (auto b = std::next(a); b != least.end(); ++b) {
        // As close as the two notations come: a big pool beside a small one is no mistake.
        const double near =
            std::min(ratio(*most.at(a->first), *b->second), ratio(*most.at(b->first), *a->second));
        const bool suspect = near >= kSuspectRatio;
        const Quota& one = *a->second;
        const Quota& other = *b->second;
        add(suspect ? Severity::kWarning : Severity::kInfo, "mixed-scales", "Resource/" + resource,
            "",
            "quotas are written in " + a->first + " (\"" + one.text + "\", flavor " + one.flavor +
                " of " + one.owner + ") and in " + b->first + " (\"" + other.text + "\", flavor " +
                other.flavor + " of " + other.owner + ")" +
                (suspect ? "; they are more than " + std::to_string(kSuspectRatio) +
                               " times apart, so one of them is probably in the wrong unit"
                         : ""),
            "write one resource in one unit everywhere");
      }
    }
  }

  // At least 1.
  static double ratio(const Quota& a, const Quota& b) {
    const double x = a.amount.as_double();
    const double y = b.amount.as_double();
    return x > y ? x / y : y / x;
  }

  void hollow_queues() {
    for (const json::Value& queue : all_.of("ClusterQueue")) {
      const std::string label = object_label("ClusterQueue", queue);
      if (!queue.get_string({"spec", "cohortName"}).empty()) continue;
      const bool any = std::any_of(quotas_.begin(), quotas_.end(), [&](const Quota& q) {
        return q.owner == label && !q.amount.is_zero();
      });
      if (!any)
        add(Severity::kWarning, "queue-without-quota", label, "spec.resourceGroups",
            "has no quota and no cohort to borrow from: nothing that asks for resources can be "
            "admitted",
            "set nominalQuota or cohortName");
    }
  }

  std::vector<Quota> quotas_;
};

}  // namespace

void lint_quota(const Inventory& inventory, std::vector<Finding>* out) {
  Rules(inventory, out).run();
}

}  // namespace kueue::cli
