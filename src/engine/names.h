// Names of one engine instance as dense ids, and amounts keyed by them. Ids say where something is
// stored; every order that can be seen is by name.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/amount.h"
#include "base/ids.h"
#include "base/inline_vector.h"
#include "base/interner.h"
#include "base/text.h"
#include "engine/model/pod.h"

namespace kueue::engine {

using FlavorId = Id<struct FlavorTag>;
using ResourceId = Id<struct ResourceTag>;
using FrId = Id<struct FlavorResourceTag>;  // a flavor together with a resource
using QueueId = Id<struct QueueTag>;        // ClusterQueue
using LocalId = Id<struct LocalQueueTag>;   // LocalQueue
using WorkloadId = Id<struct WorkloadTag>;
using QuotaId = Id<struct QuotaNodeTag>;  // node of the quota forest: ClusterQueue or Cohort

// By the place of the shared string: for look-ups, never for an order that can be seen.
struct TextHash {
  size_t operator()(const Text& text) const { return std::hash<const void*>()(&text.str()); }
};

struct FlavorResource {
  FlavorId flavor;
  ResourceId resource;
};

// By resource, in name order.
using ResourceList = InlineVector<std::pair<ResourceId, Amount>, 2>;
// By flavor and resource, in no order that means anything.
using Usage = InlineVector<std::pair<FrId, Amount>, 2>;

Amount get(const ResourceList& list, ResourceId id);
Amount get(const Usage& usage, FrId id);
// Adds to the entry, which appears when it was absent.
void add(Usage& usage, FrId id, Amount amount);
void add(Usage& usage, const Usage& other);
// Subtracts; entries that become zero go away.
void subtract(Usage& usage, const Usage& other);

class Names {
 public:
  FlavorId flavor(std::string_view name) { return intern(flavors_, flavor_texts_, name); }
  ResourceId resource(std::string_view name) { return intern(resources_, resource_texts_, name); }
  // The same, without a look at the letters.
  FlavorId flavor_of(const Text& name) { return of(flavors_by_text_, name, &Names::flavor); }
  ResourceId resource_of(const Text& name) {
    return of(resources_by_text_, name, &Names::resource);
  }
  FlavorId find_flavor(std::string_view name) const { return flavors_.find(name); }
  ResourceId find_resource(std::string_view name) const { return resources_.find(name); }
  const Text& text(FlavorId id) const { return flavor_texts_[id]; }
  const Text& text(ResourceId id) const { return resource_texts_[id]; }

  FrId fr(FlavorId flavor, ResourceId resource);
  const FlavorResource& parts(FrId id) const { return frs_[id]; }
  size_t fr_count() const { return frs_.size(); }
  std::string text(FrId id) const;  // "flavor/resource"

  ResourceList list(const ResourceAmounts& amounts);
  ResourceAmounts amounts(const ResourceList& list) const;
  // Inserts or adds, keeping name order.
  void add(ResourceList& list, ResourceId id, Amount amount) const;

 private:
  template <typename IdType>
  static IdType intern(Interner<IdType>& ids, IndexVec<IdType, Text>& texts,
                       std::string_view name) {
    IdType id = ids.intern(name);
    if (!texts.contains(id)) texts.push(Text(name));
    return id;
  }

  // Texts of ids live here, so that the address of their strings tells them apart.
  template <typename IdType>
  using ByText = std::unordered_map<const std::string*, IdType>;
  template <typename IdType>
  IdType of(ByText<IdType>& table, const Text& name, IdType (Names::*id)(std::string_view)) {
    auto [it, fresh] = table.try_emplace(&name.str());
    if (fresh) it->second = (this->*id)(name);
    return it->second;
  }

  ByText<FlavorId> flavors_by_text_;
  ByText<ResourceId> resources_by_text_;
  Interner<FlavorId> flavors_;
  Interner<ResourceId> resources_;
  IndexVec<FlavorId, Text> flavor_texts_;
  IndexVec<ResourceId, Text> resource_texts_;
  IndexVec<FrId, FlavorResource> frs_;
  std::unordered_map<uint64_t, FrId> fr_by_parts_;
};

}  // namespace kueue::engine
