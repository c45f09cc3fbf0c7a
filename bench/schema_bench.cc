// bench: schema json base
// What one write of a custom resource of about 3 KB costs in the schema algorithms.
#include <benchmark/benchmark.h>

#include "json/json.h"
#include "schema/crd.h"
#include "schema/defaults.h"
#include "schema/managed_fields.h"
#include "schema/merge.h"
#include "schema/prune.h"
#include "schema/validate.h"

namespace kueue::schema {
namespace {

constexpr std::string_view kSchema = R"({"type":"object","properties":{
  "spec":{"type":"object","properties":{
    "queueName":{"type":"string","maxLength":253,"pattern":"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
    "priority":{"type":"integer","format":"int32"},"active":{"type":"boolean","default":true},
    "podSets":{"type":"array","maxItems":8,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
      "items":{"type":"object","required":["name"],"properties":{
        "name":{"type":"string","default":"main","maxLength":63},"count":{"type":"integer","format":"int32","minimum":0},
        "template":{"type":"object","properties":{
          "metadata":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
          "spec":{"type":"object","properties":{
            "restartPolicy":{"type":"string"},"nodeSelector":{"type":"object","additionalProperties":{"type":"string"}},
            "containers":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
              "items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"image":{"type":"string"},
                "args":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"atomic"},
                "env":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
                  "items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"value":{"type":"string"}}}},
                "resources":{"type":"object","properties":{"requests":{"type":"object","additionalProperties":{"x-kubernetes-int-or-string":true}}}}}}}}}}}}}}}},
  "status":{"type":"object","properties":{
    "conditions":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["type"],
      "items":{"type":"object","required":["type","status"],"properties":{"type":{"type":"string"},"status":{"type":"string","enum":["True","False","Unknown"]},
        "reason":{"type":"string"},"message":{"type":"string","maxLength":32768},"lastTransitionTime":{"type":"string","format":"date-time"},
        "observedGeneration":{"type":"integer","format":"int64"}}}}}}}})";

json::Value parse(std::string_view text) {
  auto parsed = json::parse(text);
  KUEUE_CHECK(parsed.ok(), "a document of this file");
  return std::move(parsed).value();
}

const Type& metadata() {
  static constexpr Type kAny{.kind = Kind::kAny, .preserve_unknown = true};
  return kAny;
}

const Type& workload_type() {
  static const auto built =
      DynamicSchema::build(parse(kSchema), &metadata(), "kueue.x-k8s.io", "v1beta2", "Workload");
  return built->root();
}

json::Value workload() {
  json::Value out = parse(
      R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"job-sample-a1b2c","namespace":"default",
      "labels":{"kueue.x-k8s.io/job-uid":"9a1c7b6e-1111-2222-3333-444455556666"},"uid":"9a1c7b6e-0000-2222-3333-444455556666",
      "resourceVersion":"12345","finalizers":["kueue.x-k8s.io/resource-in-use"]},
      "spec":{"queueName":"user-queue","priority":0,"active":true,"podSets":[]},
      "status":{"conditions":[
      {"type":"QuotaReserved","status":"True","reason":"QuotaReserved","message":"Quota reserved in ClusterQueue cluster-queue","lastTransitionTime":"2026-03-01T12:00:00Z","observedGeneration":1},
      {"type":"Admitted","status":"True","reason":"Admitted","message":"The workload is admitted","lastTransitionTime":"2026-03-01T12:00:00Z","observedGeneration":1}]}})");
  for (const char* name : {"driver", "workers"}) {
    json::Value set = parse(
        R"({"name":"","count":3,"template":{"metadata":{"labels":{"app":"sample"}},"spec":{"restartPolicy":"Never","nodeSelector":{"type":"gpu"},
        "containers":[{"name":"main","image":"registry.example.com/team/image:v1.2.3","args":["--steps","1000","--out","/data"],
        "env":[{"name":"A","value":"1"},{"name":"B","value":"2"},{"name":"C","value":"3"}],
        "resources":{"requests":{"cpu":"1","memory":"200Mi","nvidia.com/gpu":"1"}}},
        {"name":"side","image":"registry.example.com/team/side:v1","args":["--serve"],"resources":{"requests":{"cpu":"100m","memory":"64Mi"}}}]}}})");
    set["name"] = name;
    out.find_path({"spec", "podSets"})->as_array().push_back(std::move(set));
  }
  return out;
}

WriteContext context(const Type& type, std::string_view manager, std::string_view subresource) {
  return {.type = type,
          .api_version = "kueue.x-k8s.io/v1beta2",
          .manager = manager,
          .subresource = subresource,
          .now = Instant{1'700'000'000'000'000'000}};
}

json::Value tracked_workload() {
  const Type& type = workload_type();
  json::Value created = track_update(nullptr, workload(), context(type, "kueue", ""));
  json::Value updated = created;
  updated.find_path({"status", "conditions"})->as_array()[0]["message"] = "other";
  return track_update(&created, updated, context(type, "kueue-admission", "status"));
}

void TrackStatusUpdate(benchmark::State& state) {
  const Type& type = workload_type();
  const json::Value before = tracked_workload();
  json::Value after = before;
  after.find_path({"status", "conditions"})->as_array()[1]["status"] = "False";
  for (auto _ : state) {
    json::Value copy = after;
    benchmark::DoNotOptimize(
        track_update(&before, std::move(copy), context(type, "kueue-admission", "status")));
  }
}
BENCHMARK(TrackStatusUpdate);

void TrackCreate(benchmark::State& state) {
  const Type& type = workload_type();
  const json::Value object = workload();
  for (auto _ : state)
    benchmark::DoNotOptimize(track_update(nullptr, object, context(type, "kueue", "")));
}
BENCHMARK(TrackCreate);

void CopyOnly(benchmark::State& state) {
  const json::Value object = tracked_workload();
  for (auto _ : state) {
    json::Value copy = object;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(CopyOnly);

void ApplyStatus(benchmark::State& state) {
  const Type& type = workload_type();
  const json::Value live = tracked_workload();
  json::Value config = parse(
      R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"job-sample-a1b2c"},
    "status":{"conditions":[{"type":"PodsReady","status":"True","reason":"PodsReady","message":"ready","lastTransitionTime":"2026-03-01T12:00:00Z"}]}})");
  for (auto _ : state)
    benchmark::DoNotOptimize(
        server_side_apply(&live, config, true, context(type, "kueue", "status")));
}
BENCHMARK(ApplyStatus);

void PruneDefaultValidate(benchmark::State& state) {
  const Type& type = workload_type();
  const json::Value object = tracked_workload();
  for (auto _ : state) {
    json::Value copy = object;
    benchmark::DoNotOptimize(prune(type, copy));
    drop_nulls(type, copy);
    apply_defaults(type, copy);
    benchmark::DoNotOptimize(validate(type, copy));
  }
}
BENCHMARK(PruneDefaultValidate);

void StrategicMergeLabel(benchmark::State& state) {
  const Type& type = workload_type();
  const json::Value object = tracked_workload();
  const json::Value patch = parse(R"({"metadata":{"labels":{"a":"b"}}})");
  for (auto _ : state) benchmark::DoNotOptimize(strategic_merge(type, object, patch));
}
BENCHMARK(StrategicMergeLabel);

}  // namespace
}  // namespace kueue::schema
