#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "kube/controller.h"
#include "kube/executor.h"
#include "kube/work_queue.h"

namespace kueue::kube {
namespace {

ObjectKey key(std::string name) { return {"ns", std::move(name)}; }

TEST(VirtualExecutor, TimersInOrderOfTime) {
  VirtualExecutor executor;
  std::string log;
  executor.run_after(Duration::seconds(2), [&] { log += "b"; });
  executor.run_after(Duration::seconds(1), [&] { log += "a"; });
  Executor::TimerId never = executor.run_after(Duration::seconds(1), [&] { log += "x"; });
  EXPECT_TRUE(executor.cancel(never));
  EXPECT_FALSE(executor.cancel(never));
  executor.run([&] { log += "0"; });
  Instant start = executor.clock().now();
  executor.advance(Duration::millis(1500));
  EXPECT_EQ(log, "0a");
  EXPECT_EQ((executor.clock().now() - start).ns, Duration::millis(1500).ns);
  executor.advance(Duration::seconds(1));
  EXPECT_EQ(log, "0ab");
}

TEST(ThreadExecutor, RunsTasksAndTimers) {
  ThreadExecutor executor(2);
  std::promise<void> task, timer;
  executor.run([&] { task.set_value(); });
  executor.run_after(Duration::millis(1), [&] { timer.set_value(); });
  task.get_future().wait();
  timer.get_future().wait();
  executor.stop();
  executor.run([] { FAIL() << "after stop"; });
}

TEST(Strand, OneAtATimeInOrder) {
  ThreadExecutor executor(4);
  Strand strand(executor);
  std::atomic<int> inside = 0;
  std::vector<int> order;
  std::promise<void> done;
  for (int i = 0; i < 200; ++i)
    strand.run([&, i] {
      EXPECT_EQ(inside.fetch_add(1), 0);
      order.push_back(i);
      inside.fetch_sub(1);
      if (i == 199) done.set_value();
    });
  done.get_future().wait();
  executor.stop();
  ASSERT_EQ(order.size(), 200u);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(WorkQueue, AKeyIsThereOnceAndComesBackAfterItsWork) {
  VirtualExecutor executor;
  int wakes = 0;
  WorkQueue queue(executor, {}, [&] { ++wakes; });
  queue.add(key("a"));
  queue.add(key("a"));
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue.take(), key("a"));
  queue.add(key("a"));
  EXPECT_EQ(queue.take(), std::nullopt) << "in somebody's hands";
  queue.done(key("a"));
  EXPECT_EQ(queue.take(), key("a"));
  queue.done(key("a"));
  EXPECT_TRUE(queue.idle());
  EXPECT_EQ(wakes, 2);
}

TEST(WorkQueue, TheEarlierDelayWins) {
  VirtualExecutor executor;
  WorkQueue queue(executor, {}, [] {});
  queue.add_after(key("a"), Duration::seconds(5));
  queue.add_after(key("a"), Duration::seconds(1));
  queue.add_after(key("a"), Duration::seconds(9));
  executor.advance(Duration::seconds(1));
  EXPECT_EQ(queue.take(), key("a"));
  queue.done(key("a"));
  executor.advance(Duration::seconds(20));
  EXPECT_TRUE(queue.idle());
}

TEST(WorkQueue, FailuresGrowTheDelay) {
  VirtualExecutor executor;
  WorkQueue queue(executor, {Duration::millis(10), Duration::millis(25)}, [] {});
  for (int64_t expected_ms : {10, 20, 25, 25}) {
    queue.add_rate_limited(key("a"));
    executor.advance(Duration::millis(expected_ms) - Duration{1});
    EXPECT_EQ(queue.size(), 0u) << expected_ms;
    executor.advance(Duration{1});
    EXPECT_EQ(queue.take(), key("a")) << expected_ms;
    queue.done(key("a"));
  }
  EXPECT_EQ(queue.failures(key("a")), 4);
  queue.forget(key("a"));
  EXPECT_EQ(queue.failures(key("a")), 0);
}

TEST(Controller, RetriesErrorsAndRequeues) {
  VirtualExecutor executor;
  std::vector<std::string> seen;
  int failures = 2;
  ControllerOptions options;
  options.name = "test";
  Controller controller(executor, options, [&](const ObjectKey& k) -> Result<ReconcileResult> {
    seen.push_back(k.name);
    if (k.name == "bad" && failures-- > 0) return make_error(ErrorCode::kConflict, "later");
    if (k.name == "later" && seen.size() < 6) return ReconcileResult{Duration::seconds(1)};
    return ReconcileResult{};
  });
  controller.enqueue(key("good"));
  controller.enqueue(key("bad"));
  controller.start();
  executor.run_until_idle();
  EXPECT_EQ(seen, (std::vector<std::string>{"good", "bad"}));
  executor.advance(Duration::seconds(1));
  EXPECT_EQ(seen, (std::vector<std::string>{"good", "bad", "bad", "bad"}));
  controller.enqueue(key("later"));
  executor.advance(Duration::seconds(10));
  EXPECT_EQ(seen.size(), 6u);
  EXPECT_TRUE(controller.idle());
  controller.stop();
  controller.enqueue(key("good"));
  executor.advance(Duration::seconds(1));
  EXPECT_EQ(seen.size(), 6u);
}

TEST(Controller, KeysRunSideBySideButNeverTheSameOne) {
  ThreadExecutor executor(8);
  std::mutex mutex;
  std::map<std::string, int> working;
  std::atomic<int> count = 0, most = 0, now = 0;
  ControllerOptions options;
  options.name = "test";
  options.concurrency = 4;
  std::promise<void> done;
  Controller controller(executor, options, [&](const ObjectKey& k) -> Result<ReconcileResult> {
    {
      std::lock_guard lock(mutex);
      EXPECT_EQ(working[k.name]++, 0);
    }
    int here = ++now;
    int seen = most.load();
    while (here > seen && !most.compare_exchange_weak(seen, here)) {
    }
    std::this_thread::yield();
    --now;
    {
      std::lock_guard lock(mutex);
      --working[k.name];
    }
    if (++count == 400) done.set_value();
    if (count >= 400) return ReconcileResult{};
    return ReconcileResult{Duration{1}};
  });
  controller.start();
  for (int i = 0; i < 8; ++i) controller.enqueue(key(std::to_string(i)));
  done.get_future().wait();
  controller.stop();
  executor.stop();
  EXPECT_LE(most.load(), 4);
}

}  // namespace
}  // namespace kueue::kube
