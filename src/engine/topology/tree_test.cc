// Topology trees follow single changes of nodes, foreign pods and placed pods.
#include "engine/topology/tree.h"

#include <gtest/gtest.h>

namespace kueue::engine {
namespace {

Node node(int i, int64_t cpu) {
  Node n;
  n.name = "node-" + std::to_string(i);
  n.labels = {{kHostLabel, n.name}, {"rack", "rack-" + std::to_string(i / 2)}};
  n.allocatable = {{"cpu", cpu}, {"pods", 10}};
  return n;
}

class TopologyTreeTest : public ::testing::TestWithParam<bool> {
 protected:
  TopologyTreeTest() : state_({}) {
    state_.apply(NamespaceChanged{"ns", {}});
    state_.apply(TopologyChanged{{"tree", {"rack", kHostLabel}}});
    // With two flavors, one host is in two trees.
    for (const char* name : {"a", "b"}) {
      Flavor f;
      f.name = name;
      f.topology = "tree";
      if (GetParam() || name[0] == 'a') state_.apply(FlavorChanged{f});
    }
    ClusterQueue q;
    q.name = "q";
    q.namespace_selector = LabelSelector();
    q.groups = {{{"cpu"}, {{"a", {{"cpu", Amount(1000), {}, {}}}}}}};
    state_.apply(ClusterQueueChanged{q});
    state_.apply(LocalQueueChanged{{{"ns", "q"}, "q", StopPolicy::kNone, 1, false}});
    for (int i = 0; i < 4; ++i) state_.apply(NodeChanged{node(i, 4)});
    cycle();
  }

  Plan cycle() {
    Plan p = plan(state_, {.now = Instant{} + Duration::seconds(1000)});
    state_.check_invariants();
    return p;
  }

  // Admits a job of `pods` pods of one cpu; the names of its nodes with their pods.
  std::string place(const std::string& name, int pods) {
    auto w = std::make_shared<Workload>();
    w->key = {"ns", name};
    w->uid = name;
    w->queue_name = "q";
    auto pod = std::make_shared<PodTemplate>();
    pod->requests = pod->raw_requests = {{"cpu", 1}};
    pod->shape = "one";
    PodSet ps;
    ps.name = "main";
    ps.count = pods;
    ps.pod = pod;
    ps.topology.emplace().preferred = "rack";
    w->pod_sets.push_back(ps);
    state_.apply(WorkloadChanged{w});
    std::string out;
    Plan p = cycle();
    for (const Decision& d : p.why.decisions)
      if (!d.message.empty()) out += d.message;
    for (const Command& c : p.commands)
      if (const auto* admit = std::get_if<Admit>(&c))
        for (const TopologyDomain& d : admit->admission->pod_sets[0].topology->domains)
          out += d.values.back() + ":" + std::to_string(d.count) + " ";
    return out;
  }

  State state_;
};

TEST_P(TopologyTreeTest, FollowsWhatPlacedPodsUse) {
  EXPECT_EQ(place("first", 8), "node-0:4 node-1:4 ");
  EXPECT_EQ(place("second", 3), "node-2:3 ");
  EXPECT_EQ(place("third", 4), "node-3:4 ");
  state_.apply(WorkloadDeleted{{"ns", "first"}});
  state_.check_invariants();
  EXPECT_EQ(place("fourth", 2), "node-0:2 ");
}

TEST_P(TopologyTreeTest, FollowsAmountsOfNodes) {
  EXPECT_EQ(place("first", 1), "node-0:1 ");
  state_.apply(NodeChanged{node(1, 9)});
  state_.check_invariants();
  EXPECT_FALSE(state_.world().topology.trees_stale);
  EXPECT_EQ(place("second", 9), "node-1:9 ");
  Node more = node(2, 4);
  more.allocatable.insert(more.allocatable.begin() + 1, {"gpu", 1});
  state_.apply(NodeChanged{more});  // a resource that no node had
  EXPECT_EQ(place("third", 8), "node-2:4 node-3:4 ");
}

TEST_P(TopologyTreeTest, FollowsForeignPods) {
  EXPECT_EQ(place("first", 1), "node-0:1 ");
  ForeignPod pod;
  pod.key = {"other", "pod"};
  pod.node = "node-0";
  pod.requests = {{"cpu", 3}};
  state_.apply(ForeignPodChanged{pod});
  state_.check_invariants();
  EXPECT_EQ(place("second", 1), "node-1:1 ");
  pod.node = "node-1";  // moves
  state_.apply(ForeignPodChanged{pod});
  state_.check_invariants();
  EXPECT_EQ(place("third", 3), "node-0:3 ");
  state_.apply(ForeignPodDeleted{pod.key});
  state_.check_invariants();
  EXPECT_FALSE(state_.world().topology.trees_stale);
  EXPECT_EQ(place("fourth", 3), "node-1:3 ");
}

TEST_P(TopologyTreeTest, FollowsTaintsAndPlacesOfNodes) {
  EXPECT_EQ(place("first", 1), "node-0:1 ");
  Node tainted = node(0, 4);
  tainted.taints = {{"broken", "", "NoSchedule"}};
  state_.apply(NodeChanged{tainted});
  EXPECT_EQ(place("second", 3), "node-1:3 ");
  Node moved = node(1, 4);
  moved.labels[1].second = "rack-1";
  state_.apply(NodeChanged{moved});
  EXPECT_EQ(place("third", 9), "node-1:1 node-2:4 node-3:4 ");
}

INSTANTIATE_TEST_SUITE_P(OneAndTwoFlavors, TopologyTreeTest, ::testing::Bool());

}  // namespace
}  // namespace kueue::engine
