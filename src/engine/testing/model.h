// The naive engine: the rules of admission once more, written from the specification with maps and
// loops, everything recomputed from scratch each time. Slow and meant to be obviously right; random
// and exhaustive worlds compare the real engine with it. It knows queues, quota, flavors,
// preemption, fair sharing, admission checks, slices, variants and pod sets that share flavors;
// topology is not in it. One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace kueue::engine::testing {

using Fr = std::pair<std::string, std::string>;  // flavor, resource
using FrAmounts = std::map<Fr, Amount>;
using Requests = std::map<std::string, Amount>;  // by resource

// A node of the quota forest by kind and name.
struct TreeNode {
  bool queue = false;
  std::string name;  // "" = no node
  auto operator<=>(const TreeNode&) const = default;
  bool none() const { return name.empty(); }
};

struct Held {
  std::string queue;
  Admission admission;
  FrAmounts usage;
  Instant since;
  bool assumed = false;
  bool admitted = false;
};

struct ModelScan {
  std::vector<std::map<std::string, int>> tried;  // per pod set, by resource; -1 = all were tried
  int64_t generation = 0;
  int64_t cycle = 0;
  std::string digest;
  bool has_untried() const;
};

struct Item {
  std::shared_ptr<const Workload> w;
  enum class Place { kNone, kActive, kInadmissible, kFlight } place = Place::kNone;
  std::string waits_in;  // ClusterQueue
  std::optional<Held> held;
  std::optional<ModelScan> scan;
  bool eviction_sent = false;
};

struct QueueState {
  int64_t pops = 0;
  int64_t retried_at = -1;
  int64_t generation = 0;
  std::map<std::string, PendingReason> bypass;
  std::optional<Key> preemptor;
  int64_t preemptor_generation = 0;
  bool sticky = false;
};

struct Tables {
  Settings settings;
  Instant now;
  int64_t cycle = 0;
  std::map<std::string, Flavor> flavors;
  std::map<std::string, Cohort> cohorts;
  std::map<std::string, ClusterQueue> queues;
  std::map<Key, LocalQueue> locals;
  std::map<std::string, AdmissionCheck> checks;
  std::map<std::string, Labels> namespaces;
  std::map<Key, Item> items;
  std::map<std::string, QueueState> states;  // by ClusterQueue, also of those that are gone
  std::map<Key, double> consumed;            // usage of LocalQueues
  std::map<TreeNode, Instant> retries;       // by the root when it was asked for
  std::map<Key, Instant> delayed;

  bool gate(Gate g) const { return settings.gates.on(g); }
  bool active(const std::string& queue) const;
  bool checks_fit_together(const ClusterQueue& queue) const;
  // Of an admission: each check that its flavors need has a state; and all of them are ready.
  bool checks_listed(const Workload& w, const Admission& admission) const;
  // The tree as the objects say it is.
  TreeNode parent(const TreeNode& node) const;
  TreeNode root(TreeNode node) const;
  std::vector<TreeNode> children(const TreeNode& node) const;
  std::vector<std::string> queues_below(const TreeNode& node) const;
  bool in_cycle(TreeNode node) const;
  int height(const TreeNode& cohort) const;
  std::string path(TreeNode queue) const;

  // Queueing.
  bool admissible(const Workload& w) const;
  bool backoff_expired(const Workload& w) const;
  Instant timestamp(const Workload& w) const;
  std::string target_queue(const Workload& w) const;  // "" = none
  int32_t effective_count(const Workload& w, const PodSet& ps) const;
  std::string digest(const Workload& w) const;
  double local_usage(const Workload& w) const;
  bool pops_before(const Item& a, const Item& b) const;
  bool fair_queue(const std::string& queue) const;
};

// The quota forest with some workloads taken out and some usage added.
struct Snapshot {
  const Tables* t = nullptr;
  std::set<Key> removed;
  std::vector<std::pair<std::string, FrAmounts>> extra;  // ClusterQueue, usage

  std::vector<const ResourceQuota*> specs(const TreeNode& node, const Fr& fr) const;
  Amount nominal(const TreeNode& node, const Fr& fr) const;
  Amount subtree(const TreeNode& node, const Fr& fr) const;  // S
  Amount local(const TreeNode& node, const Fr& fr) const;    // L
  Amount usage(const TreeNode& node, const Fr& fr) const;    // U
  Amount local_available(const TreeNode& node, const Fr& fr) const;
  Amount available_raw(const TreeNode& node, const Fr& fr) const;
  Amount available(const std::string& queue, const Fr& fr) const;
  Amount potential(const TreeNode& node, const Fr& fr) const;
  bool borrowing_with(const TreeNode& node, const Fr& fr, Amount more) const;
  std::pair<int, bool> lowest_subtree(const std::string& queue, const Fr& fr, Amount v) const;
  std::optional<Amount> borrowing_limit(const TreeNode& node, const Fr& fr) const;
  std::set<Fr> all_frs(const TreeNode& root) const;
};

struct ModelShare {
  double ratio = 0;
  double weight = 1;
  bool borrowing = false;
};
ModelShare share_of(const Snapshot& s, const TreeNode& node);
int compare_shares(const ModelShare& a, const ModelShare& b);

struct Chosen {
  std::string flavor;
  PreemptMode mode = PreemptMode::kFit;
  int borrow = 0;
  int tried = -1;
};

struct ModelPodSet {
  size_t index = 0;
  int32_t count = 0;
  Requests requests;
  std::map<std::string, Chosen> flavors;
  std::vector<std::string> reasons;
  PendingReason no_fit = PendingReason::kNone;
  FitMode mode() const;
};

struct ModelAssignment {
  std::vector<ModelPodSet> pod_sets;
  FrAmounts usage;
  int borrow = 0;
  ModelScan scan;
  bool deferred = false;
  FitMode mode() const;
  std::string message(const Workload& w) const;
  PendingReason pending() const;
};

struct ModelVictim {
  Key key;
  PreemptReason reason = PreemptReason::kNone;
};

struct AssignRequest {
  const Item* item = nullptr;
  std::string queue;
  std::vector<int32_t> counts;  // empty = as the workload says
  const ModelAssignment* pinned = nullptr;
  std::optional<Key> replaced;
};
ModelAssignment assign(const Snapshot& s, const AssignRequest& request);
// Who has to go so that the usage fits; `needed` = what is missing.
std::vector<ModelVictim> victims(const Snapshot& s, const Key& preemptor, const std::string& queue,
                                 const FrAmounts& usage, const std::set<Fr>& needed);
bool candidate_before(const Tables& t, const std::string& own_queue, const Key& a, const Key& b);
bool policy_allows(const Tables& t, const Workload& preemptor, const Workload& candidate,
                   WithinClusterQueue policy);
bool policy_allows(const Workload& preemptor, const Workload& candidate,
                   ReclaimWithinCohort policy);

class Model {
 public:
  explicit Model(Settings settings);
  void apply(const Event& event);
  // A cycle that looks at every head.
  Plan plan(Instant now);
  // As state_text() of the engine.
  std::string state_text() const;
  const Tables& tables() const { return t_; }

 private:
  void apply_to_trees(const Event& event);
  void workload_changed(const std::shared_ptr<const Workload>& w);
  void workload_updated(Item& item, const Workload& before);
  void workload_deleted(const Key& key);
  void push_or_update(Item& item, const Workload* before);
  void push_members(const std::string& queue);
  void push_member(Item& item);
  void leave_queue(Item& item);
  Item* find_active_preemptor(const std::string& queue);
  void requeue(Item& item, RequeueReason reason, PendingReason pending);
  void hold(Item& item, const std::string& queue, const Admission& admission, bool assumed,
            bool admitted, Instant since);
  void release(Item& item);
  void release_for_others(Item& item);
  void sync_held(Item& item);
  FrAmounts admission_usage(const Workload& w, const Admission& admission) const;
  void ask_retry(const TreeNode& node);
  void ask_retry_for(const Item& item);
  void run_retries(bool all);
  // Runs `change` and notes whose trees it rebuilt, which became active, and asks for retries.
  template <typename Change>
  void reconfigure(const Change& change);
  std::map<std::string, bool> activity() const;

  Tables t_;
};

}  // namespace kueue::engine::testing
