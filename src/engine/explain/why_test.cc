// Explanations of waiting workloads.
#include "engine/explain/why.h"

#include <gtest/gtest.h>

#include "engine/testing/one_queue.h"

namespace kueue::engine {
namespace {

std::shared_ptr<const Workload> workload(const std::string& name, int64_t cpu, int64_t priority) {
  auto w = testing::team_workload(name, cpu);
  w->priority = priority;
  return w;
}

class WhyTest : public ::testing::Test {
 protected:
  void load(WithinClusterQueue within) {
    ClusterQueue queue = testing::team_queue();
    queue.preemption.within = within;
    testing::make_team(state_, queue);
    state_.apply(WorkloadChanged{workload("running", 3000, 0)});
    plan(state_, {.now = Instant{1}});
    state_.apply(WorkloadChanged{workload("waiting", 2000, 10)});
  }
  State state_{Settings()};
};

TEST_F(WhyTest, SaysWhoHoldsTheQuotaAndWhatWouldHelp) {
  load(WithinClusterQueue::kNever);
  Why why = explain(state_, {"ns", "waiting"});
  ASSERT_TRUE(why.known);
  ASSERT_EQ(why.pod_sets.size(), 1u);
  ASSERT_EQ(why.pod_sets[0].flavors.size(), 1u);
  const FlavorLook& flavor = why.pod_sets[0].flavors[0];
  ASSERT_TRUE(flavor.first);
  EXPECT_EQ(flavor.first->kind, ReasonKind::kWaitingForQuota);
  ASSERT_EQ(flavor.quota.size(), 1u);
  EXPECT_EQ(flavor.quota[0].missing, Amount(1000));
  ASSERT_EQ(flavor.quota[0].holders.size(), 1u);
  EXPECT_EQ(flavor.quota[0].holders[0].cluster_queue, "team");
  EXPECT_EQ(flavor.quota[0].holders[0].used, Amount(3000));
  EXPECT_EQ(flavor.preemption.why_not, "the preemption policies of the ClusterQueue are Never");
  ASSERT_EQ(why.changes.size(), 1u);
  EXPECT_EQ(why.changes[0],
            "free 1 of cpu in flavor default, or raise its nominal quota in team by as much");
}

TEST_F(WhyTest, NamesPossibleVictims) {
  load(WithinClusterQueue::kLowerPriority);
  Why why = explain(state_, {"ns", "waiting"});
  const FlavorLook& flavor = why.pod_sets.at(0).flavors.at(0);
  ASSERT_EQ(flavor.preemption.victims.size(), 1u);
  EXPECT_EQ(flavor.preemption.victims[0].key.name, "running");
}

TEST_F(WhyTest, ChangesNothing) {
  load(WithinClusterQueue::kLowerPriority);
  explain(state_, {"ns", "waiting"});
  state_.check_invariants();
  EXPECT_EQ(state_.place({"ns", "running"}), WorkloadPlace::kReserved);
  EXPECT_FALSE(explain(state_, {"ns", "absent"}).known);
}

}  // namespace
}  // namespace kueue::engine
