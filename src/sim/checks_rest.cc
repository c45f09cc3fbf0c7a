// What must hold when a simulated world is at rest.
#include <algorithm>
#include <set>

#include "controllers/manager.h"
#include "controllers/runtime.h"
#include "sim/checks.h"

namespace kueue::sim {
namespace {

std::string text_of(const Amounts& amounts) {
  std::string text;
  for (const auto& [fr, amount] : amounts)
    if (amount != 0) text += " " + fr.first + "/" + fr.second + ":" + std::to_string(amount);
  return text.empty() ? " nothing" : text;
}

// status.flavorsReservation and its like.
Amounts shown(const json::Value& object, std::string_view field) {
  Amounts amounts;
  const json::Value* list = object.find_path({"status", field});
  if (list == nullptr || !list->is_array()) return amounts;
  for (const json::Value& flavor : list->as_array())
    for (const json::Value& resource : flavor.find("resources")->as_array()) {
      const std::string name(resource.get_string({"name"}));
      const int64_t total = amount(resource.find("total"), name);
      if (total != 0) amounts[{std::string(flavor.get_string({"name"})), name}] = total;
    }
  return amounts;
}

}  // namespace

void Checks::at_rest(controllers::Manager* leader) {
  check_queues();
  check_local_queues();
  check_topologies();
  check_jobs();
  check_workloads();
  if (leader == nullptr) return;
  check_engine(*leader);
  check_telemetry(*leader);
}

void Checks::check_queues() {
  for (const auto& [key, queue] : cluster_.all("clusterqueues")) {
    const Quota quota = quota_of(queue);
    for (const bool admitted : {false, true}) {
      Amounts expected;
      for (const auto& [fr, used] : usage_of(key.second, admitted))
        if (used != 0 && quota.nominal.contains(fr)) expected[fr] = used;
      const char* field = admitted ? "flavorsUsage" : "flavorsReservation";
      const Amounts seen = shown(queue, field);
      if (seen != expected)
        fail("the usage of a ClusterQueue is not the sum of its workloads",
             key.second + " " + field + text_of(seen) + " instead of" + text_of(expected));
    }
    int64_t reserving = 0, admitted = 0;
    for (const auto& [id, workload] : cluster_.all("workloads")) {
      if (!reserves(workload) ||
          workload.get_string({"status", "admission", "clusterQueue"}) != key.second)
        continue;
      ++reserving;
      admitted += is_true(workload, "Admitted") ? 1 : 0;
    }
    const int64_t seen_reserving = queue.get_int({"status", "reservingWorkloads"});
    const int64_t seen_admitted = queue.get_int({"status", "admittedWorkloads"});
    if (seen_reserving != reserving || seen_admitted != admitted)
      fail("a ClusterQueue counts wrong", key.second + ": " + std::to_string(seen_reserving) +
                                              " reserving and " + std::to_string(seen_admitted) +
                                              " admitted instead of " + std::to_string(reserving) +
                                              " and " + std::to_string(admitted));
    if (deleting(queue) && reserving == 0)
      fail("a deleted ClusterQueue that nobody uses stays", brief(queue));
  }
}

void Checks::check_local_queues() {
  for (const auto& [key, queue] : cluster_.all("localqueues")) {
    int64_t reserving = 0, admitted = 0, pending = 0;
    Amounts used, running;
    for (const auto& [id, workload] : cluster_.all("workloads")) {
      if (id.first != key.first || workload.get_string({"spec", "queueName"}) != key.second)
        continue;
      if (reserves(workload)) {
        ++reserving;
        admitted += is_true(workload, "Admitted") ? 1 : 0;
        for (const auto& [fr, amount] : charge(workload)) {
          if (amount != 0) used[fr] += amount;
          if (is_true(workload, "Admitted")) running[fr] += amount;
        }
      } else if (unfinished(workload) && workload.get_bool({"spec", "active"}, true) &&
                 !deleting(workload)) {
        ++pending;
      }
    }
    const std::string target(queue.get_string({"spec", "clusterQueue"}));
    const json::Value* cluster_queue = cluster_.find("clusterqueues", "", target);
    if (cluster_queue == nullptr) continue;  // then it says nothing of numbers
    const int64_t seen_reserving = queue.get_int({"status", "reservingWorkloads"});
    const int64_t seen_admitted = queue.get_int({"status", "admittedWorkloads"});
    if (seen_reserving != reserving || seen_admitted != admitted)
      fail("a LocalQueue counts wrong",
           key.first + "/" + key.second + ": " + std::to_string(seen_reserving) +
               " reserving and " + std::to_string(seen_admitted) + " admitted instead of " +
               std::to_string(reserving) + " and " + std::to_string(admitted));
    const int64_t seen_pending = queue.get_int({"status", "pendingWorkloads"});
    if (!stopped(queue) && !stopped(*cluster_queue) && seen_pending > pending)
      fail("a LocalQueue counts workloads that do not wait",
           key.first + "/" + key.second + ": " + std::to_string(seen_pending) + " instead of " +
               std::to_string(pending));
    const Quota quota = quota_of(*cluster_queue);
    std::erase_if(used, [&](const auto& entry) { return !quota.nominal.contains(entry.first); });
    if (const Amounts seen = shown(queue, "flavorsReservation"); seen != used)
      fail("the usage of a LocalQueue is not the sum of its workloads",
           key.first + "/" + key.second + text_of(seen) + " instead of" + text_of(used));
    if (consumption_) check_consumption(queue, running);
  }
}

// Nothing was admitted or ended for many half-lives.
void Checks::check_consumption(const json::Value& queue, const Amounts& used) {
  constexpr int64_t kTolerance = 100;
  const json::Value* told =
      queue.find_path({"status", "fairSharing", "admissionFairSharingStatus", "consumedResources"});
  const int64_t seen = told == nullptr ? 0 : amount(told->find("cpu"), "cpu");
  int64_t expected = 0;
  for (const auto& [fr, amount] : used) expected += amount;
  if (std::abs(seen - expected) > kTolerance)
    fail("a LocalQueue did not consume what it uses",
         namespace_of(queue) + "/" + name_of(queue) + ": " + std::to_string(seen) +
             "m cpu instead of " + std::to_string(expected) + "m");
}

// A deleted one goes when no flavor names it.
void Checks::check_topologies() {
  for (const auto& [key, topology] : cluster_.all("topologies")) {
    const auto& flavors = cluster_.all("resourceflavors");
    const bool used = std::any_of(flavors.begin(), flavors.end(), [&](const auto& flavor) {
      return flavor.second.get_string({"spec", "topologyName"}) == key.second;
    });
    if (deleting(topology) && !used)
      fail("a deleted Topology that nobody uses stays", brief(topology));
    const json::Value* finalizers = topology.find_path({"metadata", "finalizers"});
    if (!deleting(topology) && (finalizers == nullptr || finalizers->as_array().empty()))
      fail("a Topology has no finalizer", brief(topology));
  }
}

// Without the class that it names a job waits for it.
bool Checks::class_exists(const json::Value& job) const {
  const std::string name(job.get_string({"metadata", "labels", "kueue.x-k8s.io/priority-class"}));
  return name.empty() || cluster_.find("workloadpriorityclasses", "", name) != nullptr;
}

void Checks::check_jobs() {
  for (const auto& [key, job] : cluster_.all("jobs")) {
    if (deleting(job)) continue;
    int open = 0;
    const json::Value* mine = nullptr;
    for (const auto& [id, workload] : cluster_.all("workloads")) {
      if (job_of(cluster_, workload) != &job || deleting(workload)) continue;
      if (unfinished(workload)) ++open;
      mine = &workload;
    }
    const bool runs = job.get_int({"status", "active"}) > 0;
    const bool suspended = job.get_bool({"spec", "suspend"}, false);
    if (open > 1) fail("a job has two open workloads", brief(job));
    if (mine != nullptr && nonsense_.contains(uid_of(*mine))) continue;
    if (job_finished(job)) {
      if (open > 0) fail("the workload of a finished job is open", brief(job) + " " + brief(*mine));
      continue;
    }
    if (mine == nullptr || !unfinished(*mine)) {
      if (mine == nullptr && class_exists(job)) fail("a job has no workload", brief(job));
      continue;
    }
    const bool admitted = is_true(*mine, "Admitted") && reserves(*mine);
    if ((runs || !suspended) && !admitted)
      fail("a job runs without being admitted", brief(job) + " " + brief(*mine));
    if (admitted && !is_true(*mine, "Evicted") && (suspended || !runs))
      fail("an admitted job does not run", brief(job) + " " + brief(*mine));
  }
}

void Checks::check_workloads() {
  for (const auto& [key, workload] : cluster_.all("workloads")) {
    const json::Value* job = job_of(cluster_, workload);
    if (workload.get_string({"spec", "priorityClassRef", "kind"}) == "WorkloadPriorityClass" &&
        unfinished(workload) && !deleting(workload)) {
      const json::Value* level =
          cluster_.find("workloadpriorityclasses", "",
                        std::string(workload.get_string({"spec", "priorityClassRef", "name"})));
      if (level != nullptr && level->get_int({"value"}) != workload.get_int({"spec", "priority"}))
        fail("a workload did not follow its priority class", brief(workload));
    }
    if (nonsense_.contains(uid_of(workload))) continue;
    if (job == nullptr || deleting(*job)) {
      if (reserves(workload) && job == nullptr)
        fail("a workload without job holds quota", brief(workload));
      continue;
    }
    if (!unfinished(workload) || deleting(workload)) continue;
    if (reserves(workload)) {
      if (is_true(workload, "Evicted"))
        fail("an evicted workload keeps its quota", brief(workload) + " " + brief(*job));
      check_reserving(workload, *job);
      continue;
    }
    if (workload.get_string({"spec", "queueName"}) !=
        job->get_string({"metadata", "labels", "kueue.x-k8s.io/queue-name"}))
      fail("a workload did not follow its job to another queue", brief(workload) + brief(*job));
    if (workload.find_path({"status", "admission"}) != nullptr)
      fail("an admission without reservation", brief(workload));
    check_pending(workload);
  }
}

// A workload that holds quota may go on doing so.
void Checks::check_reserving(const json::Value& workload, const json::Value& job) {
  if (!workload.get_bool({"spec", "active"}, true))
    fail("an inactive workload keeps its quota", brief(workload));
  const std::string name(workload.get_string({"status", "admission", "clusterQueue"}));
  const json::Value* queue = cluster_.find("clusterqueues", "", name);
  const json::Value* local = cluster_.find("localqueues", namespace_of(workload),
                                           std::string(workload.get_string({"spec", "queueName"})));
  const bool admitted = is_true(workload, "Admitted");
  for (const json::Value* one : {queue, local}) {
    if (one == nullptr) continue;
    const std::string_view policy = one->get_string({"spec", "stopPolicy"});
    if (policy == "HoldAndDrain" || (policy == "Hold" && !admitted))
      fail("a stopped queue is not drained", brief(workload) + " " + brief(*one));
  }
  bool answered = true;  // all checks have somebody who answers
  if (const json::Value* checks = workload.find_path({"status", "admissionChecks"}))
    for (const json::Value& check : checks->as_array())
      answered = answered && cluster_.find("admissionchecks", "",
                                           std::string(check.get_string({"name"}))) != nullptr;
  if (!admitted) {
    if (answered) fail("a workload with ready checks is not admitted", brief(workload));
    return;
  }
  const int64_t granted = workload.find_path({"status", "admission", "podSetAssignments"})
                              ->as_array()[0]
                              .get_int({"count"});
  if (job.get_int({"status", "active"}) > granted)
    fail("more pods run than were admitted", brief(workload) + " " + brief(job));
  const auto since =
      parse_time(condition(workload, "Admitted")->get_string({"lastTransitionTime"}));
  const int64_t limit = workload.get_int({"spec", "maximumExecutionTimeSeconds"}, -1);
  if (limit >= 0 && since.ok() &&
      cluster_.scheduler().now() - *since > Duration::seconds(limit + 1200))
    fail("a workload runs longer than it may", brief(workload));
}

bool Checks::has_an_obstacle(const json::Value& workload, const json::Value& queue,
                             const QuotaTree& tree) const {
  if (!is_active(cluster_, queue) || tree.root_of(name_of(queue)).empty()) return true;
  if (queue.find_path({"spec", "namespaceSelector", "matchLabels"}) == nullptr) return false;
  const json::Value* home = cluster_.find("namespaces", "", namespace_of(workload));
  return home->get_string({"metadata", "labels", "marked"}) != "yes";
}

// In a StrictFIFO queue others may be before it, and what is free may be kept for their heads.
bool Checks::somebody_is_before_it(const json::Value& workload, const json::Value& queue,
                                   const QuotaTree& tree) const {
  const std::string root = tree.root_of(name_of(queue));
  for (const auto& [key, other] : cluster_.all("workloads")) {
    if (&other == &workload || !unfinished(other) || reserves(other)) continue;
    const json::Value* local = cluster_.find("localqueues", namespace_of(other),
                                             std::string(other.get_string({"spec", "queueName"})));
    if (local == nullptr) continue;
    const std::string target(local->get_string({"spec", "clusterQueue"}));
    if (!tree.has_queue(target) || tree.root_of(target) != root) continue;
    const json::Value* theirs = cluster_.find("clusterqueues", "", target);
    if (!is_active(cluster_, *theirs)) continue;
    if (theirs->get_string({"spec", "queueingStrategy"}) == "StrictFIFO") return true;
  }
  return false;
}

// A workload that waits has a reason.
void Checks::check_pending(const json::Value& workload) {
  if (!workload.get_bool({"spec", "active"}, true)) return;
  const json::Value* local = cluster_.find("localqueues", namespace_of(workload),
                                           std::string(workload.get_string({"spec", "queueName"})));
  if (local == nullptr || deleting(*local) || stopped(*local)) return;
  const std::string name(local->get_string({"spec", "clusterQueue"}));
  const json::Value* queue = cluster_.find("clusterqueues", "", name);
  if (queue == nullptr || !is_active(cluster_, *queue)) return;
  std::map<std::string, Amounts> usage;
  for (const auto& [key, one] : cluster_.all("clusterqueues"))
    usage[key.second] = usage_of(key.second, false);
  const QuotaTree tree(cluster_, std::move(usage));
  if (has_an_obstacle(workload, *queue, tree) || somebody_is_before_it(workload, *queue, tree))
    return;
  const json::Value& set = workload.find_path({"spec", "podSets"})->as_array()[0];
  const json::Value& container = set.find_path({"template", "spec", "containers"})->as_array()[0];
  const int64_t each = amount(container.find_path({"resources", "requests", "cpu"}), "cpu");
  const int64_t most = count_to_run(workload, set.get_string({"name"}));
  const int64_t pods = std::min(most, set.get_int({"minCount"}, most));
  const int64_t least = each * pods;
  for (const std::string& flavor : tree.queue(name).flavors) {
    const json::Value* spec = cluster_.find("resourceflavors", "", flavor);
    if (spec->find_path({"spec", "nodeTaints"}) != nullptr) continue;
    const int64_t room = tree.available(name, {flavor, "cpu"});
    if (least <= room && places_.fits(workload, *queue, flavor, pods))
      fail("a workload waits for nothing", "in " + name + ", " + flavor + " has room for " +
                                               std::to_string(room) + "m cpu, it wants " +
                                               std::to_string(least) + "m: " + brief(workload));
  }
}

namespace {

std::map<std::string, std::set<std::string>> reserved_of(controllers::Manager& manager) {
  std::map<std::string, std::set<std::string>> seen;
  manager.runtime().admission.ask([&](const engine::State& state) {
    for (const auto& [queue, keys] : state.reserved_by_queue())
      for (const engine::Key& key : keys) seen[queue].insert(key.namespace_ + "/" + key.name);
    return 0;
  });
  return seen;
}

}  // namespace

void Checks::granted(const json::Value& workload, const std::string& by) {
  grants_[uid_of(workload)] = by;
}

// Who gave a reservation knows of it until the reservation is no more.
void Checks::check_grants(controllers::Manager& manager, const std::string& life) {
  std::map<std::string, std::set<std::string>> seen;
  for (const auto& [key, workload] : cluster_.all("workloads")) {
    const std::string uid = uid_of(workload);
    if (!counts(workload) || nonsense_.contains(uid)) continue;
    auto grant = grants_.find(uid);
    if (grant == grants_.end() || grant->second != life) continue;
    const std::string queue(workload.get_string({"status", "admission", "clusterQueue"}));
    if (seen.empty()) seen = reserved_of(manager);
    if (!seen[queue].contains(key.first + "/" + key.second))
      fail("a manager forgot a reservation that it gave", queue + " " + brief(workload));
  }
}

void Checks::check_engine(controllers::Manager& leader) {
  std::map<std::string, std::set<std::string>> expected;
  for (const auto& [key, workload] : cluster_.all("workloads"))
    // A ClusterQueue that was deleted before it had its finalizer is just gone.
    if (reserves(workload) &&
        cluster_.find("clusterqueues", "",
                      std::string(workload.get_string({"status", "admission", "clusterQueue"}))))
      expected[std::string(workload.get_string({"status", "admission", "clusterQueue"}))].insert(
          key.first + "/" + key.second);
  std::map<std::string, std::set<std::string>> seen = reserved_of(leader);
  for (const auto* side : {&expected, &seen})
    for (const auto& [queue, keys] : *side)
      for (const std::string& key : keys)
        if (expected[queue].contains(key) != seen[queue].contains(key))
          fail("the engine and the API disagree about a reservation",
               key + " in " + queue +
                   (seen[queue].contains(key) ? " of the engine" : " of the API"));
}

// Nothing is told of what is no more.
void Checks::check_telemetry(controllers::Manager& leader) {
  std::set<std::string> cohorts;
  for (const auto& [key, cohort] : cluster_.all("cohorts")) {
    cohorts.insert(key.second);
    cohorts.insert(std::string(cohort.get_string({"spec", "parentName"})));
  }
  for (const auto& [key, queue] : cluster_.all("clusterqueues"))
    cohorts.insert(std::string(queue.get_string({"spec", "cohortName"})));
  std::set<std::string> pointed_to;
  for (const auto& [key, queue] : cluster_.all("localqueues"))
    pointed_to.insert(std::string(queue.get_string({"spec", "clusterQueue"})));
  const std::string text = leader.metrics_text();
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const auto label = [&](const std::string& name) -> std::optional<std::string> {
      for (const char* before : {"{", ","}) {
        const size_t at = line.find(before + name + "=\"");
        if (at == std::string::npos) continue;
        const size_t from = at + name.size() + 3;
        return line.substr(from, line.find('"', from) - from);
      }
      return std::nullopt;
    };
    if (line.empty() || line[0] == '#') continue;
    const auto queue = label("cluster_queue");
    // A LocalQueue may point to one that never was, and its workloads are told as unadmitted.
    const bool waited_for =
        queue && line.starts_with("kueue_unadmitted_workloads") && pointed_to.contains(*queue);
    if (queue && !queue->empty() && !line.starts_with("kueue_local_queue") && !waited_for &&
        cluster_.find("clusterqueues", "", *queue) == nullptr)
      fail("metrics tell of a ClusterQueue that is gone", line);
    const auto local = label("name") ? label("name") : label("local_queue");
    const auto home = label("namespace");
    if (local && home && line.starts_with("kueue_local_queue") &&
        cluster_.find("localqueues", *home, *local) == nullptr)
      fail("metrics tell of a LocalQueue that is gone", line);
    const auto cohort = label("cohort");
    if (cohort && !cohort->empty() && line.starts_with("kueue_cohort") &&
        !cohorts.contains(*cohort))
      fail("metrics tell of a cohort that is gone", line);
  }
}

}  // namespace kueue::sim
