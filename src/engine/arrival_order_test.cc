// Lists arrive in any order after a restart: whatever comes first, the engine ends in the same
// state.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/engine.h"

namespace kueue::engine {
namespace {

std::shared_ptr<const Workload> workload(std::string name, int64_t cpu_milli, bool reserved) {
  auto pod = std::make_shared<PodTemplate>();
  pod->requests = {{"cpu", cpu_milli}};
  pod->raw_requests = pod->requests;
  auto w = std::make_shared<Workload>();
  w->key = {"ns", std::move(name)};
  w->uid = w->key.name;
  w->generation = 1;
  w->created = Instant{1};
  w->queue_name = "local";
  w->pod_sets = {{.name = "main", .count = 1, .min_count = {}, .pod = pod, .topology = {}}};
  if (reserved) {
    w->conditions = {
        {ConditionType::kQuotaReserved, ConditionStatus::kTrue, "QuotaReserved", "", Instant{2}},
        {ConditionType::kAdmitted, ConditionStatus::kTrue, "Admitted", "", Instant{2}}};
    PodSetAssignment assignment;
    assignment.name = "main";
    assignment.flavors = {{"cpu", "default"}};
    assignment.usage = {{"cpu", cpu_milli}};
    assignment.count = 1;
    w->admission = Admission{"cluster", {assignment}};
  }
  return w;
}

std::vector<Event> world() {
  ClusterQueue queue;
  queue.name = "cluster";
  queue.namespace_selector = LabelSelector();
  ResourceQuota quota{
      .resource = "cpu", .nominal = Amount(6000), .borrowing_limit = {}, .lending_limit = {}};
  queue.groups = {{{"cpu"}, {{"default", {quota}}}}};
  LocalQueue local;
  local.key = {"ns", "local"};
  local.cluster_queue = "cluster";
  return {
      ClusterQueueChanged{queue},
      LocalQueueChanged{local},
      FlavorChanged{Flavor{
          .name = "default", .node_labels = {}, .taints = {}, .tolerations = {}, .topology = ""}},
      NamespaceChanged{"ns", {}},
      WorkloadChanged{workload("held", 5000, true)},
      WorkloadChanged{workload("waits", 2000, false)}};
}

TEST(Clock, WhatWaitsForAWhileDoesNotWaitForAClockThatWasSetBack) {
  State state((Settings()));
  const Instant noon{Duration::seconds(12 * 3600).ns};
  state.apply(TimePassed{noon});
  for (const Event& event : world()) state.apply(event);
  plan(state, {.now = noon});  // what waits is set aside
  state.apply(WorkloadDeleted{workload("held", 5000, true)->key});
  ASSERT_TRUE(state.next_wakeup().has_value());
  const Duration wait = *state.next_wakeup() - noon;
  EXPECT_LE(wait.ns, Duration::seconds(1).ns);

  const Instant ten = noon - Duration::seconds(2 * 3600);
  state.apply(TimePassed{ten});
  EXPECT_EQ(state.now(), ten);
  ASSERT_TRUE(state.next_wakeup().has_value());
  EXPECT_EQ((*state.next_wakeup() - ten).ns, wait.ns);
  state.apply(TimePassed{*state.next_wakeup()});
  EXPECT_EQ(plan(state, {.now = state.now()}).commands.size(), 1u) << "it is admitted";

  const Instant late = state.now() - Duration::millis(100);  // a time taken before another's
  state.apply(TimePassed{late});
  EXPECT_GT(state.now(), late);
}

TEST(ArrivalOrder, AReservationCountsWhateverComesFirst) {
  std::vector<Event> events = world();
  std::vector<size_t> order(events.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  do {
    State state{Settings()};
    for (size_t i : order) state.apply(events[i]);
    state.check_invariants();
    Plan plan = engine::plan(state, CycleInput{Instant{1'000'000'000}});
    std::string text;
    for (size_t i : order) text += std::to_string(i);
    for (const Command& command : plan.commands)
      EXPECT_FALSE(std::holds_alternative<Admit>(command)) << "order " << text;
    EXPECT_EQ(state.cluster_queue_status("cluster").reserving, 1) << "order " << text;
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(ArrivalOrder, WithRoomTheWaitingOneIsAdmittedWhateverComesFirst) {
  std::vector<Event> events = world();
  events[4] = WorkloadChanged{workload("held", 4000, true)};
  std::vector<size_t> order(events.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  do {
    State state{Settings()};
    for (size_t i : order) state.apply(events[i]);
    state.apply(TimePassed{Instant{10'000'000'000}});
    Plan plan = engine::plan(state, CycleInput{Instant{10'000'000'000}});
    size_t admitted = 0;
    for (const Command& command : plan.commands) admitted += std::holds_alternative<Admit>(command);
    std::string text;
    for (size_t i : order) text += std::to_string(i);
    EXPECT_EQ(admitted, 1u) << "order " << text;
  } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace
}  // namespace kueue::engine
