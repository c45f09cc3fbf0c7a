#include "kube/controller.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

#include "kube/executor.h"
#include "kube/work_queue.h"

namespace kueue::kube {
namespace {

TEST(VirtualExecutorContract, RunsInOrderUnderItsOwnTime) {
  VirtualExecutor executor;
  std::string log;
  executor.run([&] {
    log += "a";
    executor.run([&] { log += "c"; });
  });
  executor.run([&] { log += "b"; });
  executor.run_after(Duration::seconds(2), [&] { log += "2"; });
  executor.run_after(Duration::seconds(1), [&] {
    log += "1";
    executor.run_after(Duration::millis(500), [&] { log += "5"; });
  });
  auto dropped = executor.run_after(Duration::seconds(1), [&] { log += "x"; });
  executor.run_after({}, [&] { log += "0"; });
  EXPECT_TRUE(executor.cancel(dropped));
  EXPECT_FALSE(executor.cancel(dropped));
  Instant start = executor.clock().now();
  executor.run_until_idle();
  EXPECT_EQ(log, "ab0c");
  executor.advance(Duration::seconds(10));
  EXPECT_EQ(log, "ab0c152");
  EXPECT_EQ((executor.clock().now() - start).ns, Duration::seconds(10).ns);
  EXPECT_FALSE(executor.next_timer().has_value());
}

TEST(ThreadExecutorContract, TasksAndTimers) {
  ThreadExecutor executor(2);
  std::latch done(3);
  executor.run([&] { done.count_down(); });
  executor.run_after(Duration::millis(1), [&] { done.count_down(); });
  executor.run_after(Duration::millis(2), [&] { done.count_down(); });
  auto never = executor.run_after(Duration::seconds(3600), [] { FAIL(); });
  done.wait();
  EXPECT_TRUE(executor.cancel(never));
  executor.stop();
  executor.run([] { FAIL(); });
}

TEST(StrandContract, OneAtATimeInOrder) {
  ThreadExecutor executor(4);
  std::vector<int> order;
  std::atomic<int> inside{0};
  std::latch done(1);
  Strand strand(executor);
  for (int i = 0; i < 500; ++i) {
    strand.run([&, i] {
      EXPECT_EQ(inside.fetch_add(1), 0);
      order.push_back(i);
      inside.fetch_sub(1);
      if (i == 499) done.count_down();
    });
  }
  done.wait();
  ASSERT_EQ(order.size(), 500u);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(WorkQueueContract, OnceInQueueAndOnceInWork) {
  VirtualExecutor executor;
  int wakes = 0;
  WorkQueue queue(executor, {}, [&] { ++wakes; });
  queue.add({"a", "1"});
  queue.add({"a", "1"});
  queue.add({"a", "2"});
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(wakes, 2);
  ObjectKey first = *queue.take();
  EXPECT_EQ(first.name, "1");
  queue.add(first);  // while in work
  EXPECT_EQ(queue.take()->name, "2");
  EXPECT_FALSE(queue.take().has_value());
  queue.done({"a", "2"});
  queue.done(first);
  EXPECT_EQ(*queue.take(), first);
  queue.done(first);
  EXPECT_TRUE(queue.idle());
}

TEST(WorkQueueContract, DelaysAndRateLimit) {
  VirtualExecutor executor;
  WorkQueue queue(executor, {.base = Duration::millis(5), .max = Duration::millis(15)}, [] {});
  ObjectKey key{"", "x"};
  queue.add_after(key, Duration::seconds(10));
  queue.add_after(key, Duration::seconds(5));
  queue.add_after(key, Duration::seconds(20));  // the earlier one counts
  EXPECT_FALSE(queue.idle());
  executor.advance(Duration::seconds(5));
  EXPECT_EQ(queue.take(), key);
  queue.done(key);
  executor.advance(Duration::seconds(100));
  EXPECT_TRUE(queue.idle());
  for (int want : {5, 10, 15, 15}) {
    queue.add_rate_limited(key);
    executor.advance(Duration::millis(want) - Duration{1});
    EXPECT_EQ(queue.size(), 0u) << want;
    executor.advance(Duration{1});
    EXPECT_EQ(queue.take(), key);
    queue.done(key);
  }
  EXPECT_EQ(queue.failures(key), 4);
  queue.forget(key);
  EXPECT_EQ(queue.failures(key), 0);
  queue.add_after(key, Duration{INT64_MAX});
  queue.shut_down();
  queue.add(key);
  EXPECT_EQ(queue.size(), 0u);
}

TEST(ControllerContract, RetriesRequeuesAndStops) {
  VirtualExecutor executor;
  std::vector<std::string> log;
  int errors = 0;
  Controller controller(executor, {.name = "c", .on_error = [&](auto&, auto&, auto&) { ++errors; }},
                        [&](const ObjectKey& key) -> Result<ReconcileResult> {
                          log.push_back(key.name);
                          if (key.name == "bad" && log.size() < 4)
                            return make_error(ErrorCode::kConflict, "again");
                          if (key.name == "later" && log.size() < 7)
                            return ReconcileResult{Duration::seconds(60)};
                          return ReconcileResult{};
                        });
  controller.enqueue({"", "bad"});
  executor.run_until_idle();
  EXPECT_TRUE(log.empty());
  controller.start();
  executor.advance(Duration::seconds(1));
  EXPECT_EQ(log, (std::vector<std::string>{"bad", "bad", "bad", "bad"}));
  EXPECT_EQ(errors, 3);
  EXPECT_TRUE(controller.idle());
  controller.enqueue_after({"", "later"}, Duration::seconds(1));
  executor.advance(Duration::seconds(150));
  EXPECT_EQ(log.size(), 7u);
  EXPECT_TRUE(controller.idle());
  controller.enqueue({"", "x"});
  controller.stop();
  executor.run_until_idle();
  EXPECT_EQ(log.size(), 7u);
}

TEST(ControllerContract, ConcurrentKeysNeverTwiceAtATime) {
  ThreadExecutor executor(8);
  constexpr int kKeys = 20;
  std::atomic<int> in_work[kKeys] = {};
  std::atomic<int> total{0}, parallel{0}, most{0};
  Controller controller(executor, {.name = "c", .concurrency = 4},
                        [&](const ObjectKey& key) -> Result<ReconcileResult> {
                          auto i = static_cast<size_t>(std::stoi(key.name));
                          EXPECT_EQ(in_work[i].fetch_add(1), 0);
                          int now = parallel.fetch_add(1) + 1;
                          int before = most.load();
                          while (before < now && !most.compare_exchange_weak(before, now)) {
                          }
                          std::this_thread::yield();
                          parallel.fetch_sub(1);
                          in_work[i].fetch_sub(1);
                          total.fetch_add(1);
                          return ReconcileResult{};
                        });
  controller.start();
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < kKeys; ++i) controller.enqueue({"", std::to_string(i)});
  }
  while (!controller.idle()) std::this_thread::yield();
  controller.stop();
  EXPECT_GE(total.load(), kKeys);
  EXPECT_LE(most.load(), 4);
}

}  // namespace
}  // namespace kueue::kube
