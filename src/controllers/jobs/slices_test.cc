#include "controllers/jobs/slices.h"

#include <gtest/gtest.h>

namespace kueue::controllers::jobs {
namespace {

struct Slice {
  std::string name;
  int64_t made = 0;
  bool reserved = false;
  std::string replaces = {};
  bool evicted = false;
};

WorkloadPointer made(const Slice& slice) {
  auto out = std::make_shared<v1beta2::Workload>();
  out->metadata.namespace_ = "ns";
  out->metadata.name = slice.name;
  out->metadata.creation_timestamp = Instant{slice.made};
  if (!slice.replaces.empty())
    out->metadata.annotations["kueue.x-k8s.io/workload-slice-replacement-for"] =
        "ns/" + slice.replaces;
  auto condition = [&](const char* type) {
    api::meta::Condition& c = out->status.conditions.emplace_back();
    c.type = type;
    c.status = "True";
  };
  if (slice.reserved) {
    out->status.admission.emplace();
    condition("QuotaReserved");
  }
  if (slice.evicted) condition("Evicted");
  return out;
}

std::string names(const std::vector<WorkloadPointer>& list) {
  std::string out;
  for (const WorkloadPointer& w : list) out += (out.empty() ? "" : " ") + w->metadata.name;
  return out;
}

TEST(Slices, OneIsFollowedAndOthersEnd) {
  struct Case {
    std::vector<Slice> slices;
    std::string selected, held, replaced, out_of_sync;
  };
  const Case cases[] = {
      {{}, "", "", "", ""},
      {{{"a", 1}}, "a", "", "", ""},
      {{{"a", 1, true}}, "a", "", "", ""},
      // What waits to take over is followed, what it takes over from stays.
      {{{"a", 1, true}, {"b", 2, false, "a"}}, "b", "a", "", ""},
      {{{"b", 2, false, "a"}, {"a", 1, true}}, "b", "a", "", ""},
      {{{"a", 1, true}, {"b", 2, true, "a"}}, "b", "", "a", ""},
      // Made in the same second: the name must not decide who replaced whom.
      {{{"a", 1, true, "b"}, {"b", 1, true}}, "a", "", "b", ""},
      {{{"a", 1, true}, {"b", 2, false}}, "a", "", "", "b"},
      {{{"a", 1, true}, {"b", 2, true}}, "b", "", "", "a"},
      {{{"a", 1}, {"b", 2}}, "b", "", "", "a"},
      {{{"a", 1}, {"b", 2, false, "", true}}, "a", "", "", "b"},
      {{{"a", 1, false, "", true}, {"b", 2, false, "", true}}, "b", "", "", "a"},
      {{{"a", 1, true, "", true}, {"b", 2, false}}, "b", "", "", "a"},
      {{{"a", 1, true, "", true}}, "a", "", "", ""},
      {{{"a", 1, true, "", true}, {"b", 2, false, "a"}}, "b", "a", "", ""},
      {{{"a", 1, true}, {"b", 2, true, "a"}, {"c", 3, false, "b"}}, "c", "b", "a", ""},
      {{{"a", 1, true}, {"b", 2, false, "a"}, {"c", 3, false, "a"}}, "c", "a", "", "b"},
  };
  for (const Case& test : cases) {
    std::vector<WorkloadPointer> slices;
    for (const Slice& slice : test.slices) slices.push_back(made(slice));
    const std::string given = names(slices);
    const SliceChoice choice = choose_slice(slices);
    auto name = [](const WorkloadPointer& w) { return w == nullptr ? "" : w->metadata.name; };
    EXPECT_EQ(name(choice.selected), test.selected) << given;
    EXPECT_EQ(name(choice.held), test.held) << given;
    EXPECT_EQ(names(choice.replaced), test.replaced) << given;
    EXPECT_EQ(names(choice.out_of_sync), test.out_of_sync) << given;
  }
}

TEST(Slices, OnlyMorePodsThanHeldNeedANewOne) {
  using Counts = std::vector<std::pair<std::string, int32_t>>;
  auto sets = [](const Counts& counts) {
    std::vector<v1beta2::PodSet> out;
    for (const auto& [name, count] : counts) {
      v1beta2::PodSet& set = out.emplace_back();
      set.name = name;
      set.count = count;
    }
    return out;
  };
  struct Case {
    bool reserved;
    Counts had, wanted;
    SliceChange change;
  };
  const Case cases[] = {
      {true, {{"a", 2}, {"b", 1}}, {{"b", 1}, {"a", 2}}, SliceChange::kNone},
      {true, {{"a", 2}}, {{"a", 1}}, SliceChange::kInPlace},
      {false, {{"a", 2}}, {{"a", 3}}, SliceChange::kInPlace},
      {true, {{"a", 2}}, {{"a", 3}}, SliceChange::kReplace},
      {true, {{"a", 2}, {"b", 2}}, {{"a", 1}, {"b", 3}}, SliceChange::kReplace},
      {true, {{"a", 2}}, {{"b", 2}}, SliceChange::kOther},
      {true, {{"a", 2}}, {{"a", 2}, {"b", 1}}, SliceChange::kOther},
  };
  for (const Case& test : cases) {
    v1beta2::Workload slice = *made({"w", 1, test.reserved});
    slice.spec.pod_sets = sets(test.had);
    EXPECT_EQ(slice_change(slice, sets(test.wanted)), test.change) << &test - cases;
  }
}

}  // namespace
}  // namespace kueue::controllers::jobs
