// bench: api json webhooks schema base
// Conversion of Workloads between v1beta1 and v1beta2, as the webhook does it: from the text of a
// ConversionReview to the text of its answer. Two pod sets, about 3 KiB each.
#include <benchmark/benchmark.h>

#include "api/conversion.h"
#include "json/json.h"
#include "webhooks/handler.h"

namespace kueue {
namespace {

using json::Value;

Value pod_set(const std::string& name) {
  Value environment = Value::array();
  for (int i = 0; i < 16; ++i)
    environment.as_array().push_back(
        Value::object({{"name", "SETTING_" + std::to_string(i)},
                       {"value", "value of the setting number " + std::to_string(i)}}));
  Value container = Value::object(
      {{"name", "main"},
       {"image", "registry.example.com/team/training:2026-03-01"},
       {"env", std::move(environment)},
       {"resources", Value::object({{"requests", Value::object({{"cpu", "4"},
                                                                {"memory", "16Gi"},
                                                                {"nvidia.com/gpu", "1"}})}})}});
  return Value::object(
      {{"name", name},
       {"count", 8},
       {"template",
        Value::object({{"spec", Value::object({{"restartPolicy", "Never"},
                                               {"containers", Value::array({container})}})}})}});
}

Value workload() {
  Value assignments = Value::array();
  for (const char* name : {"driver", "workers"})
    assignments.as_array().push_back(
        Value::object({{"name", name},
                       {"count", 8},
                       {"flavors", Value::object({{"cpu", "spot"}, {"memory", "spot"}})},
                       {"resourceUsage", Value::object({{"cpu", "32"}, {"memory", "128Gi"}})}}));
  return Value::object(
      {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
       {"kind", "Workload"},
       {"metadata", Value::object({{"name", "job-training-1a2b3"},
                                   {"namespace", "research"},
                                   {"uid", "7f4f2f0e-9a55-4c43-9f14-4a9e56c8b9d2"}})},
       {"spec",
        Value::object({{"queueName", "main"},
                       {"priority", 100},
                       {"priorityClassRef", Value::object({{"group", "kueue.x-k8s.io"},
                                                           {"kind", "WorkloadPriorityClass"},
                                                           {"name", "high"}})},
                       {"podSets", Value::array({pod_set("driver"), pod_set("workers")})}})},
       {"status", Value::object({{"admission", Value::object({{"clusterQueue", "shared"},
                                                              {"podSetAssignments", assignments}})},
                                 {"accumulatedPastExecutionTimeSeconds", 7}})}});
}

void conversion(benchmark::State& state) {
  const std::string to = state.range(0) == 0 ? "v1beta1" : "v1beta2";
  Value object = workload();
  if (to == "v1beta2") object = api::convert_kueue(object, "v1beta1").value();
  for (auto _ : state) benchmark::DoNotOptimize(api::convert_kueue(object, to));
  state.SetItemsProcessed(state.iterations());
  state.SetLabel("to " + to + ", " + std::to_string(json::write(object).size()) + " bytes");
}
BENCHMARK(conversion)->Arg(0)->Arg(1);

// A review of as many objects as the API server sends for one page of a list.
void review(benchmark::State& state) {
  const int count = static_cast<int>(state.range(0));
  Value objects = Value::array();
  for (int i = 0; i < count; ++i) objects.as_array().push_back(workload());
  const std::string text = json::write(
      Value::object({{"apiVersion", "apiextensions.k8s.io/v1"},
                     {"kind", "ConversionReview"},
                     {"request", Value::object({{"uid", "u"},
                                                {"desiredAPIVersion", "kueue.x-k8s.io/v1beta1"},
                                                {"objects", std::move(objects)}})}}));
  for (auto _ : state) benchmark::DoNotOptimize(webhooks::convert_review(text).value());
  state.SetItemsProcessed(state.iterations() * count);
}
// Rates are per second of processor time, whatever number of threads spends it.
BENCHMARK(review)->Arg(1)->Arg(500)->MeasureProcessCPUTime();

}  // namespace
}  // namespace kueue
