#include "net/loop.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "net/testing.h"

namespace kueue::net {
namespace {

using testing::Flag;

TEST(Loop, TasksRunInOrderOnOneThread) {
  Loop loop;
  loop.start();
  std::vector<int> order;
  Flag done;
  for (int i = 0; i < 100; ++i) {
    loop.post([&, i] {
      EXPECT_TRUE(loop.in_loop());
      order.push_back(i);
      if (i == 99) done.raise();
    });
  }
  ASSERT_TRUE(done.wait());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  EXPECT_FALSE(loop.in_loop());
}

TEST(Loop, TimersFireInOrderAndCanBeCancelled) {
  Loop loop;
  std::vector<int> order;
  Flag done;
  loop.after(Duration::millis(20), [&] {
    order.push_back(2);
    done.raise();
  });
  loop.after(Duration::millis(5), [&] { order.push_back(1); });
  const auto id = loop.after(Duration::millis(10), [&] { order.push_back(9); });
  loop.cancel(id);
  loop.cancel(12345);
  loop.start();
  ASSERT_TRUE(done.wait());
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(Loop, CallWaitsAndWorksWithoutARunningLoop) {
  Loop loop;
  int value = 0;
  loop.call([&] { value = 1; });
  EXPECT_EQ(value, 1);
  loop.start();
  loop.call([&] {
    EXPECT_TRUE(loop.in_loop());
    value = 2;
  });
  EXPECT_EQ(value, 2);
  loop.stop();
  loop.call([&] { value = 3; });
  EXPECT_EQ(value, 3);
}

TEST(SignalWatch, ReportsSignals) {
  Loop loop;
  loop.start();
  Flag seen;
  int number = 0;
  auto watch = std::make_unique<SignalWatch>(loop, std::vector<int>{SIGUSR1}, [&](int s) {
    number = s;
    seen.raise();
  });
  loop.call([] {});
  raise(SIGUSR1);
  ASSERT_TRUE(seen.wait());
  EXPECT_EQ(number, SIGUSR1);
  loop.call([&] { watch.reset(); });
}

}  // namespace
}  // namespace kueue::net
