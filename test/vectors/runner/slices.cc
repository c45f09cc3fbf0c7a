// Judges of cases about the slices of elastic jobs: which one is followed, which ones end, and what
// other counts of the job do to it.
#include "controllers/jobs/slices.h"

#include <algorithm>

#include "judge.h"
#include "schema/codec.h"

namespace kueue::vectors {
namespace {

using namespace controllers::jobs;
using controllers::WorkloadPointer;
namespace v1beta2 = api::v1beta2;

// Those of a list that have not finished.
Result<std::vector<WorkloadPointer>> unfinished_of(const json::Value& list) {
  std::vector<WorkloadPointer> out;
  for (const json::Value& item : items(list)) {
    KUEUE_ASSIGN(v1beta2::Workload workload, schema::decode<v1beta2::Workload>(item));
    const auto& conditions = workload.status.conditions;
    if (std::none_of(conditions.begin(), conditions.end(),
                     [](const auto& c) { return c.type == "Finished" && c.status == "True"; }))
      out.push_back(std::make_shared<const v1beta2::Workload>(std::move(workload)));
  }
  return out;
}

// Names with the reason they end for, sorted.
json::Value ended(const SliceChoice& choice) {
  json::Value out = json::Value::object();
  for (const auto& slice : choice.replaced) out[slice->metadata.name] = "WorkloadSliceReplaced";
  for (const auto& slice : choice.out_of_sync) out[slice->metadata.name] = "OutOfSync";
  return out;
}

json::Value ended(const json::Value& changed) {
  json::Value out = json::Value::object();
  for (const json::Value& workload : items(changed))
    for (const json::Value& condition : items(at(workload, {"status", "conditions"})))
      if (condition.get_string({"type"}) == "Finished")
        out[workload.get_string({"metadata", "name"})] = condition.get_string({"reason"});
  return out;
}

Differences chosen(const json::Value& test) {
  const json::Array steps = steps_of(test);
  const json::Value& step = steps.front();
  auto slices = unfinished_of(at(step, {"args", "workloads"}));
  if (!slices.ok()) return {slices.error().message};
  const SliceChoice choice = choose_slice(*std::move(slices));
  Differences out;
  differ(out, "selected", at(step, {"expect", "result", "metadata", "name"}),
         choice.selected == nullptr ? json::Value() : json::Value(choice.selected->metadata.name));
  differ(out, "ended", ended(at(step, {"expect", "changes", "changed"})), ended(choice));
  return out;
}

// The slice that goes on, with its counts, or null where a new one is needed; whether pod sets have
// the same names. What fails to be written in the case is at least wanted here.
Differences followed(const json::Value& test) {
  auto slices = unfinished_of(at(test, {"input", "objects"}));
  auto pod_sets = schema::decode<std::vector<v1beta2::PodSet>>(argument(test, "jobPodSets"));
  if (!slices.ok() || !pod_sets.ok()) return {"the case does not decode"};
  const SliceChoice choice = choose_slice(*std::move(slices));
  const SliceChange change =
      choice.selected == nullptr ? SliceChange::kNone : slice_change(*choice.selected, *pod_sets);
  const json::Value ends = ended(choice);
  Differences out;
  if (at(test, {"expect", "error"}).is_object()) {
    if (ends.as_object().empty() && change != SliceChange::kInPlace)
      out.push_back("nothing was to be written");
    return out;
  }
  differ(out, "compatible", at(test, {"expect", "result1"}), change != SliceChange::kOther);
  const json::Value& expected = at(test, {"expect", "result0"});
  const bool goes_on = choice.selected != nullptr && change != SliceChange::kReplace &&
                       change != SliceChange::kOther;
  differ(out, "slice", at(expected, {"metadata", "name"}),
         goes_on ? json::Value(choice.selected->metadata.name) : json::Value());
  const auto& counts = change == SliceChange::kInPlace ? *pod_sets
                       : goes_on                       ? choice.selected->spec.pod_sets
                                                       : std::vector<v1beta2::PodSet>{};
  json::Value wanted = json::Value::object(), seen = json::Value::object();
  for (const json::Value& set : items(at(expected, {"spec", "podSets"})))
    wanted[set.get_string({"name"})] = at(set, {"count"});
  for (const v1beta2::PodSet& set : counts) seen[set.name] = int64_t{set.count.value_or(1)};
  differ(out, "counts", wanted, seen);
  return out;
}

}  // namespace

void add_slice_judges(Judges& judges) {
  judges.add("function workloadslicing.normalizeActiveSlices", chosen);
  judges.add("function workloadslicing/normalize-active-slices", chosen);
  judges.add("function workloadslicing.EnsureWorkloadSlices", followed);
}

}  // namespace kueue::vectors
