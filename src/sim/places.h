// Places: what Nodes offer to topologies in a simulated world, and whether assignments of pods to
// them are right, by the rules of behaviour 13 as they are written down, slowly. A manager may
// decide by what it knows, so everything counts that was so since every manager knew everything.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster.h"
#include "sim/look.h"

namespace kueue::sim {

// "rack" -> the label of Nodes for it.
std::string label_of_level(std::string_view level);

class Places {
 public:
  explicit Places(Cluster& cluster) : cluster_(cluster) {}

  void changed(const Change& change);
  // Every manager knows every Node, flavor and topology, and has no decision under way.
  void known();

  // What is wrong with the places of a Workload that got its reservation now; "" = nothing.
  std::string judge(const json::Value& workload) const;
  // Whether so many pods of the Workload fit into the flavor's Nodes as all is now, if the flavor
  // suits it at all. Flavors without topology have room for whoever asks for none.
  bool fits(const json::Value& workload, const json::Value& queue, const std::string& flavor,
            int64_t pods) const;

 private:
  using Values = std::vector<std::string>;
  struct Machine {
    std::string name;
    std::map<std::string, std::string> labels;
    int64_t cpu = 0;  // millicores
    int64_t pods = 0;
    bool usable = false;  // ready, and open for new pods
    bool tainted = false;
  };
  // A flavor with its topology.
  struct Kind {
    std::string flavor;
    std::map<std::string, std::string> labels;
    Values levels;
  };
  struct Place {
    Values values;
    int64_t count = 0;
  };

  static Machine machine_of(const json::Value& node);
  std::vector<Kind> kinds_of(const std::string& flavor, bool only_now) const;
  std::vector<Machine> machines(bool only_now) const;
  // Values of the levels, nothing when the machine is not in this topology.
  static std::optional<Values> stand(const Machine& machine, const Kind& kind);
  static std::vector<Place> places_of(const json::Value& assignment);
  // Pods and cpu that reservations have there. In one cycle a flavor does not see what others over
  // the same hosts are given, as in Kueue: with `only_known` theirs count once all is known.
  std::pair<int64_t, int64_t> used(const Kind& kind, const Values& place, bool only_known) const;
  std::string judge_in(const Kind& kind, const json::Value& workload,
                       const json::Value& assigned) const;
  std::string judge_place(const Kind& kind, const Place& place,
                          const std::vector<const Machine*>& there) const;
  std::string judge_levels(const Kind& kind, const json::Value& request,
                           const std::vector<Place>& places,
                           const std::vector<std::vector<const Machine*>>& there) const;

  Cluster& cluster_;
  std::set<std::string> held_;  // uids of Workloads that had places when all was known
  // Of Nodes, flavors and topologies: what they were, by plural and name.
  std::map<std::pair<std::string, std::string>, std::vector<json::Value>> were_;
};

}  // namespace kueue::sim
