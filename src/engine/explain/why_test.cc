// Explanations of waiting workloads.
#include "engine/explain/why.h"

#include <gtest/gtest.h>

#include <algorithm>

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
  ASSERT_EQ(why.changes.size(), 2u);
  EXPECT_EQ(why.changes[0],
            "free 1 of cpu in flavor default, or raise its nominal quota in team by as much");
  EXPECT_EQ(
      why.changes[1],
      "set preemption.withinClusterQueue of ClusterQueue team to LowerPriority: it could then "
      "preempt ns/running");
}

TEST_F(WhyTest, NamesPossibleVictims) {
  load(WithinClusterQueue::kLowerPriority);
  Why why = explain(state_, {"ns", "waiting"});
  const FlavorLook& flavor = why.pod_sets.at(0).flavors.at(0);
  ASSERT_EQ(flavor.preemption.victims.size(), 1u);
  EXPECT_EQ(flavor.preemption.victims[0].key.name, "running");
}

// Two queues of a cohort: "other" has borrowed what is team's.
TEST_F(WhyTest, NamesThePolicyThatWouldTakeQuotaBack) {
  ClusterQueue team = testing::team_queue();
  team.cohort = "c";
  testing::make_team(state_, team);
  ClusterQueue other = team;
  other.name = "other";
  other.groups[0].flavors[0].resources[0].nominal = Amount(2000);
  state_.apply(ClusterQueueChanged{other});
  state_.apply(LocalQueueChanged{{{"ns", "borrower"}, "other"}});
  auto big = workload("big", 5000, 5);
  auto moved = std::make_shared<Workload>(*big);
  moved->queue_name = "borrower";
  state_.apply(WorkloadChanged{moved});
  plan(state_, {.now = Instant{1}});
  state_.apply(WorkloadChanged{workload("high", 2000, 10)});
  state_.apply(WorkloadChanged{workload("low", 2000, 0)});
  const auto says = [&](const char* name, const std::string& text) {
    const Why why = explain(state_, {"ns", name});
    return std::find(why.changes.begin(), why.changes.end(), text) != why.changes.end();
  };
  EXPECT_TRUE(says("high",
                   "set preemption.reclaimWithinCohort of ClusterQueue team to LowerPriority: it "
                   "could then preempt ns/big"));
  EXPECT_TRUE(says("low",
                   "set preemption.reclaimWithinCohort of ClusterQueue team to Any: it could then "
                   "preempt ns/big"));
  state_.check_invariants();
}

// It would have to borrow itself: taking quota back is not enough.
TEST_F(WhyTest, NamesThePolicyThatPreemptsWhileBorrowing) {
  ClusterQueue team = testing::team_queue();
  team.cohort = "c";
  team.groups[0].flavors[0].resources[0].nominal = Amount(2000);
  testing::make_team(state_, team);
  for (const char* name : {"other", "idle"}) {
    ClusterQueue queue = team;
    queue.name = name;
    state_.apply(ClusterQueueChanged{queue});
  }
  state_.apply(LocalQueueChanged{{{"ns", "borrower"}, "other"}});
  auto big = std::make_shared<Workload>(*workload("big", 4000, 0));
  big->queue_name = "borrower";
  state_.apply(WorkloadChanged{big});
  plan(state_, {.now = Instant{1}});
  state_.apply(WorkloadChanged{workload("high", 3000, 10)});
  const std::string with_reclaim = " with reclaimWithinCohort LowerPriority";
  for (const bool reclaims : {false, true}) {
    team.preemption.reclaim =
        reclaims ? ReclaimWithinCohort::kLowerPriority : ReclaimWithinCohort::kNever;
    state_.apply(ClusterQueueChanged{team});
    const Why why = explain(state_, {"ns", "high"});
    EXPECT_EQ(why.changes.back(),
              "set preemption.borrowWithinCohort.policy of ClusterQueue team to LowerPriority" +
                  (reclaims ? "" : with_reclaim) + ": it could then preempt ns/big");
  }
}

TEST_F(WhyTest, SaysWhichQueueIsMissing) {
  testing::make_team(state_, testing::team_queue());
  const auto with_queue = [&](const char* queue) {
    auto w = std::make_shared<Workload>(*workload("w", 100, 0));
    w->queue_name = queue;
    state_.apply(WorkloadChanged{w});
    return explain(state_, {"ns", "w"});
  };
  Why why = with_queue("mian");
  EXPECT_EQ(why.message, "there is no LocalQueue mian in namespace ns");
  EXPECT_EQ(why.changes, (std::vector<std::string>{
                             "create LocalQueue mian in namespace ns, or name one that is there: "
                             "main"}));
  state_.apply(LocalQueueChanged{{{"ns", "astray"}, "nowhere"}});
  why = with_queue("astray");
  EXPECT_EQ(why.changes, std::vector<std::string>{"create ClusterQueue nowhere"});
  why = with_queue("");
  EXPECT_EQ(why.changes.size(), 1u);
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
