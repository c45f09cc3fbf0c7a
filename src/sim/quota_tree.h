// QuotaTree: what ClusterQueues and cohorts may use, computed from the objects by the rules of
// behaviour 7 as they are written down, slowly. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/cluster.h"
#include "sim/look.h"

namespace kueue::sim {

struct Quota {
  Amounts nominal;
  Amounts borrowing;  // limits; absent = none
  Amounts lending;
  std::vector<std::string> flavors;
  std::string parent;
};

// Of a ClusterQueue or Cohort.
Quota quota_of(const json::Value& object);

// A ClusterQueue that may admit: neither stopped nor going, and all that it names is there.
bool is_active(const Cluster& cluster, const json::Value& queue);

// ClusterQueues that are not active are no part of it.
class QuotaTree {
 public:
  // `usage` by name of the ClusterQueue.
  QuotaTree(const Cluster& cluster, std::map<std::string, Amounts> usage);

  bool has_queue(const std::string& name) const { return nodes_.contains("q/" + name); }
  const Quota& queue(const std::string& name) const { return nodes_.at("q/" + name); }
  // Of the tree that a ClusterQueue belongs to, "" when there is a cycle above it.
  std::string root_of(const std::string& queue) const;
  // How much more of it the ClusterQueue may use now; not for trees with cycles.
  int64_t available(const std::string& queue, const Amounts::key_type& fr) const;

 private:
  std::vector<const std::string*> children(const std::string& parent) const;
  int64_t subtree(const std::string& id, const Amounts::key_type& fr) const;
  int64_t local_part(const std::string& id, const Amounts::key_type& fr) const;
  int64_t use(const std::string& id, const Amounts::key_type& fr) const;
  int64_t available_at(const std::string& id, const Amounts::key_type& fr) const;

  std::map<std::string, Quota> nodes_;  // "q/NAME" and "c/NAME"
  std::map<std::string, Amounts> usage_;
};

}  // namespace kueue::sim
