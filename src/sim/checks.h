// Checks: what must hold in a simulated world: of each change of an object when it happens, and of
// everything when nothing has been left to do. They work from the objects alone, by rules written
// down again naively; the managers' own view is compared with them. One thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/cluster.h"
#include "sim/look.h"
#include "sim/places.h"
#include "sim/quota_tree.h"

namespace kueue::controllers {
class Manager;
}

namespace kueue::sim {

struct Failure {
  std::string what;     // of which check; equal for equal faults
  std::string details;  // objects and numbers
};

class Checks {
 public:
  explicit Checks(Cluster& cluster) : cluster_(cluster), places_(cluster) {}

  // Somebody else may have written nonsense: what was done to it is not held against the manager.
  void expect_nonsense(const std::string& uid) { nonsense_.insert(uid); }

  // Whether what LocalQueues consumed is told in their status, and no clock went wrong so far: when
  // all is at rest for long, it is what they use.
  void expect_consumption(bool expected) { consumption_ = expected; }

  void changed(const Change& change);
  // The manager of that life (a name that no other life has) wrote a reservation, or lives and is
  // asked what it knows of those that it wrote.
  void granted(const json::Value& workload, const std::string& by);
  void check_grants(controllers::Manager& manager, const std::string& life);
  // Everything is at rest and every program has seen everything. `leader` may be null.
  void at_rest(controllers::Manager* leader);
  // Every manager knows every Node, flavor and topology, and decides nothing now.
  void places_known() { places_.known(); }
  // Caches are up to date: what quotas were before no longer excuses anything.
  void settled();

  // The first one found.
  const std::optional<Failure>& failure() const { return failure_; }
  void fail(const std::string& what, const std::string& details);

 private:
  // What a ClusterQueue was since everything was at rest.
  struct Past {
    Amounts most;
    Amounts least;
    bool alone = true;  // never in a cohort
    bool changed = false;
  };
  void workload_changed(const json::Value* before, const json::Value& after);
  void reserved(const json::Value& workload);
  void released(const json::Value& before, const json::Value& after);
  void preempted(const json::Value& before, const json::Value& after);
  void queue_gone(const json::Value& queue);
  void job_changed(const json::Value* before, const json::Value& after);
  void quota_changed(const std::string& name);

  Amounts usage_of(const std::string& cluster_queue, bool admitted_only) const;

  void check_queues();
  void check_local_queues();
  void check_consumption(const json::Value& queue, const Amounts& used);
  void check_workloads();
  void check_reserving(const json::Value& workload, const json::Value& job);
  void check_pending(const json::Value& workload);
  // What keeps it from being admitted, quota apart.
  bool has_an_obstacle(const json::Value& workload, const json::Value& queue,
                       const QuotaTree& tree) const;
  bool somebody_is_before_it(const json::Value& workload, const json::Value& queue,
                             const QuotaTree& tree) const;
  void check_topologies();
  void check_jobs();
  bool class_exists(const json::Value& job) const;
  void check_engine(controllers::Manager& leader);
  void check_telemetry(controllers::Manager& leader);

  Cluster& cluster_;
  Places places_;
  std::optional<Failure> failure_;
  std::map<std::string, Past> past_;
  std::set<std::string> nonsense_;
  std::map<std::string, std::string> grants_;  // uid of a Workload: life of a manager
  bool consumption_ = false;
};

}  // namespace kueue::sim
