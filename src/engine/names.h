// Names of one engine instance as dense ids, and amounts keyed by them. Ids say where something is
// stored; every order that can be seen is by name.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/amount.h"
#include "base/ids.h"
#include "base/interner.h"
#include "engine/model/pod.h"

namespace kueue::engine {

using FlavorId = Id<struct FlavorTag>;
using ResourceId = Id<struct ResourceTag>;
using FrId = Id<struct FlavorResourceTag>;  // a flavor together with a resource
using QueueId = Id<struct QueueTag>;        // ClusterQueue
using LocalId = Id<struct LocalQueueTag>;   // LocalQueue
using WorkloadId = Id<struct WorkloadTag>;
using QuotaId = Id<struct QuotaNodeTag>;  // node of the quota forest: ClusterQueue or Cohort

struct FlavorResource {
  FlavorId flavor;
  ResourceId resource;
};

// By resource, in name order.
using ResourceList = std::vector<std::pair<ResourceId, Amount>>;
// By flavor and resource, in no order that means anything.
using Usage = std::vector<std::pair<FrId, Amount>>;

Amount get(const ResourceList& list, ResourceId id);
Amount get(const Usage& usage, FrId id);
// Adds to the entry, which appears when it was absent.
void add(Usage& usage, FrId id, Amount amount);
void add(Usage& usage, const Usage& other);
// Subtracts; entries that become zero go away.
void subtract(Usage& usage, const Usage& other);

class Names {
 public:
  FlavorId flavor(std::string_view name) { return flavors_.intern(name); }
  ResourceId resource(std::string_view name) { return resources_.intern(name); }
  FlavorId find_flavor(std::string_view name) const { return flavors_.find(name); }
  ResourceId find_resource(std::string_view name) const { return resources_.find(name); }
  const std::string& text(FlavorId id) const { return flavors_.name(id); }
  const std::string& text(ResourceId id) const { return resources_.name(id); }

  FrId fr(FlavorId flavor, ResourceId resource);
  const FlavorResource& parts(FrId id) const { return frs_[id]; }
  size_t fr_count() const { return frs_.size(); }
  std::string text(FrId id) const;  // "flavor/resource"

  ResourceList list(const ResourceAmounts& amounts);
  ResourceAmounts amounts(const ResourceList& list) const;
  // Inserts or adds, keeping name order.
  void add(ResourceList& list, ResourceId id, Amount amount) const;

 private:
  Interner<FlavorId> flavors_;
  Interner<ResourceId> resources_;
  IndexVec<FrId, FlavorResource> frs_;
  std::unordered_map<uint64_t, FrId> fr_by_parts_;
};

}  // namespace kueue::engine
