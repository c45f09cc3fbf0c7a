// Explanations of waiting workloads.
#include "engine/explain/why.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/testing/case_script.h"
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

Why why_of(const std::string& world, const std::string& name) {
  const std::vector<testing::CaseLine> lines = testing::parse_case(world);
  std::vector<std::string> errors;
  testing::CaseScript script;
  State state(testing::settings_of(lines, errors));
  state.apply(TimePassed{script.now()});
  state.apply(NamespaceChanged{"ns", {}});
  std::string said;
  for (const testing::CaseLine& line : lines) {
    for (const Event& event : script.events(line)) state.apply(event);
    if (line.verb != "cycle") continue;
    for (const Command& command : plan(state, {.now = script.now()}).commands)
      if (const auto* p = std::get_if<SetPending>(&command); p != nullptr && p->key.name == name)
        said = p->message;
  }
  const Why why = explain(state, {"ns", name});
  // The condition and the explanation are one value in two renderings.
  if (!said.empty()) EXPECT_EQ(why.message, said);
  state.check_invariants();
  return why;
}

TEST(WhyWorlds, ClosestDomainsOfEachLevel) {
  const Why why = why_of(
      "topology t levels=block,rack,host\nflavor f topology=t\nqueue q f/cpu=99\n"
      "node n1 block=b1 rack=r1 cpu=4\nnode n2 block=b1 rack=r2 cpu=3\n"
      "node n3 block=b2 rack=r3 cpu=5\npending w queue=q cpu=1 pods=6 required=rack\ncycle\n",
      "w");
  std::string text;
  for (const LevelLook& level : why.pod_sets.at(0).flavors.at(0).levels) {
    text += level.level + ":";
    for (const DomainLook& d : level.domains)
      text += " " + d.values.back() + "=" + std::to_string(d.pods);
    text += "\n";
  }
  EXPECT_EQ(text,
            "block: b1=7 b2=5\nrack: r3=5 r1=4 r2=3\nkubernetes.io/hostname: n3=5 n1=4 n2=3\n");
}

TEST(WhyWorlds, SmallestChangeFirst) {
  const Why why = why_of(
      "flavor f1\nflavor f2\nflavor f3 taint=k:v:NoSchedule\nflavor f4 taint=k:v:NoSchedule\n"
      "queue q f1/cpu=12 f1/memory=9 f2/cpu=12 f2/memory=9 f3/cpu=12 f3/memory=9 f4/cpu=12 "
      "f4/memory=9\n"
      "admitted a queue=q priority=5 flavor=f1 cpu=9 memory=2\nadmitted b queue=q priority=5 "
      "flavor=f2 cpu=3 memory=6\n"
      "admitted c queue=q priority=5 flavor=f4 cpu=7\n"
      "pending w queue=q cpu=10 memory=4\ncycle\n",
      "w");
  EXPECT_EQ(
      why.changes,
      (std::vector<std::string>{
          "tolerate {k v NoSchedule <nil>} in pod set main (flavor f3)",
          "free 1 of memory and 1m of cpu in flavor f2, or raise its nominal quota in q by as much",
          "tolerate {k v NoSchedule <nil>} in pod set main (flavor f4), and free 5m of cpu there",
          "free 7m of cpu in flavor f1, or raise its nominal quota in q by as much"}));
}

// More is charged than can be counted: what a removal would free cannot be told, so nobody is told
// to go in vain, and the what-if leaves all as it was.
TEST(WhyWorlds, RemovalFromACellBeyondCounting) {
  const Why why = why_of(
      "flavor f\nqueue q within=LowerPriority f/cpu=10\n"
      "admitted a queue=q priority=-1 flavor=f cpu=6000000000000000000\n"
      "admitted b queue=q priority=-1 flavor=f cpu=6000000000000000000\n"
      "admitted c queue=q priority=-1 flavor=f cpu=3\npending w queue=q cpu=10\ncycle\n",
      "w");
  const FlavorLook& flavor = why.pod_sets.at(0).flavors.at(0);
  EXPECT_TRUE(flavor.preemption.victims.empty());
  EXPECT_EQ(flavor.preemption.why_not,
            "no workload that the policies allow to preempt would free enough");
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
