// Small worlds, all of them: up to three queues of one cohort, three workloads, two flavors, every
// preemption and fungibility policy. The engine and the naive engine agree in each. The ordinary
// run takes every n-th world, another n-th each for KUEUE_MODEL_SLICE; KUEUE_MODEL_EVERY=1 takes
// all.
#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "engine/testing/model_compare.h"

namespace kueue::engine {
namespace {

// One choice of each list, by a number in mixed radix.
class Odometer {
 public:
  explicit Odometer(size_t at) : left_(at) {}
  template <size_t N>
  const char* pick(const std::array<const char*, N>& choices) {
    const size_t digit = left_ % N;
    left_ /= N;
    size_ *= N;
    return choices[digit];
  }
  size_t size() const { return size_; }

 private:
  size_t left_;
  size_t size_ = 1;
};

// Setting up: who holds what already is part of the world.
std::vector<std::string> world(Odometer& o) {
  const std::string mode = o.pick(std::array{"", "fair", "fair initial"});
  const std::string within =
      o.pick(std::array{"Never", "LowerPriority", "LowerOrNewerEqualPriority"});
  const std::string reclaim = o.pick(std::array{"Never", "LowerPriority", "Any"});
  const std::string borrow = o.pick(std::array{"", " borrow=LowerPriority", " borrow=0"});
  const std::string fungibility =
      o.pick(std::array{"", " when-borrow=next", " when-preempt=stop",
                        " when-borrow=next when-preempt=stop prefer=preemption"});
  const std::string strategy = o.pick(std::array{"", " strategy=StrictFIFO"});
  const std::string quota = o.pick(
      std::array{" f/cpu=4", " f/cpu=2 g/cpu=4", " f/cpu=4,borrow:1 g/cpu=1", " f/cpu=4,lend:1"});
  const std::string tree = o.pick(std::array{"", "cohort c parent=r f/cpu=1"});
  const std::string others =
      o.pick(std::array{"queue b cohort=c f/cpu=2", "queue b cohort=r f/cpu=2"});
  const std::string first =
      o.pick(std::array{"queue=a at=2 priority=0 cpu=3", "queue=b at=1 priority=1 cpu=4"});
  const std::string second = o.pick(std::array{"queue=b at=2 priority=-1 cpu=3 flavor=f",
                                               "queue=a at=4 priority=0 cpu=4 flavor=f"});
  std::vector<std::string> lines;
  if (!mode.empty()) lines.push_back(mode);
  lines.insert(lines.end(), {"flavor f", "flavor g"});
  if (!tree.empty()) lines.push_back(tree);
  lines.push_back("queue a cohort=c within=" + within + " reclaim=" + reclaim + borrow +
                  fungibility + strategy + quota);
  lines.push_back(others);
  lines.push_back("queue d cohort=c reclaim=Any f/cpu=1 g/cpu=1");
  lines.push_back("admitted held " + second);
  lines.push_back("pending one " + first);
  lines.push_back("pending two queue=a at=3 priority=1 cpu=3");
  lines.insert(lines.end(), {"cycle every", "cycle every", "written", "cycle every", "evict held",
                             "release held", "retry", "cycle every", "cycle every", "finish one",
                             "retry", "cycle every"});
  return lines;
}

TEST(Model, AgreesOnSmallWorlds) {
  Odometer size(0);
  world(size);
  const size_t every = testing::number_from_environment("KUEUE_MODEL_EVERY", 23);
  const size_t slice = testing::number_from_environment("KUEUE_MODEL_SLICE", 0);
  size_t played = 0;
  for (size_t i = slice % every; i < size.size(); i += every) {
    Odometer o(i);
    const std::vector<std::string> lines = world(o);
    const testing::Comparison result = testing::compare_with_model(lines);
    ++played;
    if (result.difference.empty()) continue;
    std::ostringstream text;
    for (const std::string& line : lines) text << line << "\n";
    FAIL() << "world " << i << "\n" << text.str() << result.difference;
  }
  RecordProperty("worlds", static_cast<int>(size.size()));
  RecordProperty("played", static_cast<int>(played));
}

}  // namespace
}  // namespace kueue::engine
