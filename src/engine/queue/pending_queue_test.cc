// PendingQueue against a plain list that does everything one by one.
#include "engine/queue/pending_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace kueue::engine {
namespace {

constexpr size_t kWorkloads = 40;

// A small generator of our own: the same numbers everywhere.
struct Random {
  uint64_t state;
  size_t below(size_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state >> 33) % n;
  }
};

class PendingQueueTest : public ::testing::TestWithParam<int> {
 protected:
  PendingQueueTest() {
    for (size_t i = 0; i < kWorkloads; ++i) {
      workloads_[i].uid = workloads_[i].key.name = "w" + std::to_string(i);
      queued_.emplace_back();
    }
    keys_.ensure(WorkloadId(kWorkloads - 1));
  }

  struct Where {
    LotKey lot;
    bool aside = false;
    bool seen = false;
  };

  void compare() {
    size_t active = 0, asides = 0;
    std::optional<size_t> first;
    auto usage = [&](size_t i) { return queue_.fair() ? usage_[queued_[i]->lot.local.value] : 0; };
    for (size_t i = 0; i < kWorkloads; ++i) {
      ASSERT_EQ(queue_.contains(WorkloadId(i)), queued_[i].has_value());
      if (!queued_[i]) continue;
      ASSERT_EQ(queue_.aside(WorkloadId(i)), queued_[i]->aside);
      ASSERT_EQ(queue_.seen(WorkloadId(i)), queued_[i]->seen) << i;
      ++(queued_[i]->aside ? asides : active);
      if (queued_[i]->aside) continue;
      if (!first || usage(i) < usage(*first) ||
          (usage(i) == usage(*first) && keys_.before(WorkloadId(i), WorkloadId(*first))))
        first = i;
    }
    queue_.check();
    ASSERT_EQ(queue_.active(), active);
    ASSERT_EQ(queue_.set_aside(), asides);
    ASSERT_EQ(queue_.members(false).size(), active);
    ASSERT_EQ(queue_.members(true).size(), asides);
    if (first) ASSERT_EQ(queue_.top(), WorkloadId(*first));
  }

  void toggle(size_t i, Random& random) {
    WorkloadId id(i);
    if (queued_[i]) {
      queue_.remove(id);
      queued_[i].reset();
      return;
    }
    keys_[id].priority = static_cast<int64_t>(random.below(4));
    keys_[id].seen = 0;
    Where where{{{1 + random.below(3), 0}, LocalId(random.below(2)), random.below(4) == 0},
                random.below(3) == 0,
                false};
    queue_.insert(id, where.lot, where.aside);
    queued_[i] = where;
  }

  void put_aside(const Digest& digest) {
    for (PendingQueue::LotId lot : queue_.lots_of(digest)) queue_.put_aside(lot);
    for (auto& q : queued_)
      if (q && q->lot.digest == digest) q->aside = true;
  }

  void bring_back() {
    for (PendingQueue::LotId lot : queue_.lots_with_aside()) {
      queue_.bring_back(lot, stamp_);
      stamp_ += 2;
    }
    for (auto& q : queued_)
      if (q && q->aside) q->aside = q->seen = false;
  }

  PendingKeys keys_{[this](WorkloadId id) -> const Workload& { return workloads_[id.value]; }};
  PendingQueue queue_{&keys_};
  std::vector<double> usage_{1, 1};
  Workload workloads_[kWorkloads];
  std::vector<std::optional<Where>> queued_;
  uint64_t stamp_ = 1;
};

TEST_P(PendingQueueTest, AgreesWithAPlainList) {
  Random random{static_cast<uint64_t>(GetParam())};
  for (int step = 0; step < 3000; ++step) {
    switch (random.below(12)) {
      case 0:
        put_aside({1 + random.below(3), 0});
        break;
      case 1:
        bring_back();
        break;
      case 2:
        queue_.set_fairness(random.below(2) == 0 ? nullptr : &usage_);
        break;
      case 3:
        usage_[random.below(2)] = static_cast<double>(random.below(3));
        break;
      case 4:
        if (!queue_.empty()) {  // a look at the head
          WorkloadId id = queue_.top();
          keys_[id].seen = stamp_++;
          queued_[id.value]->seen = true;
        }
        break;
      default:
        toggle(random.below(kWorkloads), random);
    }
    compare();
    if (HasFatalFailure()) FAIL() << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PendingQueueTest, ::testing::Range(1, 9));

}  // namespace
}  // namespace kueue::engine
