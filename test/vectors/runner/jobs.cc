// Judges of cases about the job framework and batch Jobs: pod sets and what a start puts into them,
// names, topology requests, priorities.
#include <algorithm>

#include "bench.h"
#include "bridge/to_engine.h"
#include "controllers/jobs/batch_job/batch_job.h"
#include "controllers/jobs/naming.h"
#include "controllers/jobs/pod_set_info.h"
#include "engine/queue/queueing.h"
#include "engine/world.h"
#include "judge.h"
#include "schema/codec.h"
#include "told.h"

namespace kueue::vectors {
namespace {

using namespace controllers::jobs;
namespace v1beta2 = api::v1beta2;

// A case with gates and clock of another one.
json::Value scene_of(const json::Value& test) {
  json::Value scene = json::Value::object(
      {{"clock", at(test, {"clock"})}, {"featureGates", at(test, {"featureGates"})}});
  if (!scene["featureGates"].is_object()) scene["featureGates"] = json::Value::object();
  return scene;
}

// Asks the job framework's view of a batch Job.
template <typename Ask>
void about_job(const json::Value& test, const json::Value& object, Ask ask) {
  json::Value job = object;
  if (job.get_string({"metadata", "name"}).empty()) job["metadata"]["name"] = "job";
  if (job.get_string({"metadata", "namespace"}).empty()) job["metadata"]["namespace"] = "ns";
  json::Value scene = scene_of(test);
  scene.at_path({"input", "objects"}) = json::Value::array({job});
  with_manager(scene, [&](controllers::Context&, JobKind& kind) {
    std::unique_ptr<Job> found = kind.get({std::string(job.get_string({"metadata", "namespace"})),
                                           std::string(job.get_string({"metadata", "name"}))});
    if (found != nullptr) ask(*found);
  });
}

Differences pod_sets(const json::Value& test) {
  Differences out = {"the job was not found"};
  about_job(test, at(test, {"input", "object"}), [&](const Job& job) {
    out.clear();
    Result<std::vector<v1beta2::PodSet>> sets = job.pod_sets();
    if (compared_error(test, sets.ok() ? Result<void>() : sets.error(), out)) return;
    differ(out, "pod sets", pruned(at(test, {"expect", "podSets"})), pruned(schema::encode(*sets)));
  });
  return out;
}

Differences pods_ready(const json::Value& test) {
  Differences out = {"the job was not found"};
  about_job(test, at(test, {"input", "receiver"}),
            [&](const Job& job) { out = compared_result(test, job.pods_ready()); });
  return out;
}

Differences reclaimable(const json::Value& test) {
  Differences out = {"the job was not found"};
  about_job(test, at(test, {"input", "receiver"}), [&](const Job& job) {
    out = compared_result(test, schema::encode(job.reclaimable_pods()));
  });
  return out;
}

Differences indexes(const json::Value& test) {
  return compared_result(test, ended_indexes(test.get_string({"input", "args", "completedIndexes"}),
                                             test.get_string({"input", "args", "failedIndexes"}),
                                             test.get_int({"input", "args", "completions"})));
}

// --- pod set infos
template <typename T>
T decoded_or_empty(const json::Value& value) {
  auto decoded = schema::decode<T>(value);
  return decoded.ok() ? std::move(*decoded) : T();
}

PodSetInfo info_of(const json::Value& given) {
  PodSetInfo info;
  info.name = given.get_string({"name"});
  info.count = static_cast<int32_t>(given.get_int({"count"}));
  auto map = [&](const char* name, schema::Map<std::string>& to) {
    if (const json::Value& from = at(given, {name}); from.is_object())
      for (const auto& [key, value] : from.as_object()) to[key] = value.as_string();
  };
  map("labels", info.labels);
  map("annotations", info.annotations);
  map("nodeSelector", info.node_selector);
  for (const json::Value& item : items(at(given, {"tolerations"})))
    info.tolerations.push_back(decoded_or_empty<api::core::Toleration>(item));
  for (const json::Value& item : items(at(given, {"schedulingGates"})))
    info.scheduling_gates.push_back({std::string(item.get_string({"name"}))});
  return info;
}

json::Value json_of(const schema::Map<std::string>& map) {
  json::Value out = json::Value::object();
  for (const auto& [key, value] : map) out[key] = value;
  return out;
}
json::Value json_of(const PodSetInfo& info) {
  return json::Value::object({{"name", info.name},
                              {"count", int64_t{info.count}},
                              {"labels", json_of(info.labels)},
                              {"annotations", json_of(info.annotations)},
                              {"nodeSelector", json_of(info.node_selector)},
                              {"tolerations", schema::encode(info.tolerations)},
                              {"schedulingGates", schema::encode(info.scheduling_gates)}});
}

// What every pod of a started job carries is added elsewhere in Kueue, by us with the rest.
void drop_marks(PodSetInfo& info) {
  for (const char* label : {"podset", "cluster-queue-name", "local-queue-name"})
    info.labels.erase("kueue.x-k8s.io/" + std::string(label));
  info.annotations.erase("kueue.x-k8s.io/workload");
}

Differences from_assignment(const json::Value& test) {
  v1beta2::Workload workload;
  workload.metadata.name = "w";
  v1beta2::PodSet set = decoded_or_empty<v1beta2::PodSet>(argument(test, "podSet"));
  v1beta2::PodSetAssignment assignment =
      decoded_or_empty<v1beta2::PodSetAssignment>(argument(test, "assignment"));
  set.name = assignment.name;
  workload.spec.pod_sets.push_back(std::move(set));
  workload.status.admission.emplace();
  workload.status.admission->cluster_queue = "cq";
  workload.status.admission->pod_set_assignments.push_back(std::move(assignment));
  Differences out;
  with_manager(test, [&](controllers::Context& context, JobKind&) {
    Result<std::vector<PodSetInfo>> infos = infos_of_admission(context, workload);
    if (compared_error_text(test, infos.ok() ? Result<void>() : infos.error(), out)) return;
    drop_marks(infos->front());
    differ(out, "info", pruned(at(test, {"expect", "result"})), pruned(json_of(infos->front())));
  });
  return out;
}

api::core::PodTemplateSpec template_of(const json::Value& args) {
  json::Value both =
      json::Value::object({{"metadata", at(args, {"meta"})}, {"spec", at(args, {"spec"})}});
  return decoded_or_empty<api::core::PodTemplateSpec>(both);
}
// The template that a call leaves.
json::Value template_after(const json::Value& step) {
  json::Value args = at(step, {"args"});
  if (const json::Value& after = at(step, {"expect", "argsAfter"}); after.is_object())
    for (const auto& [name, value] : after.as_object()) args[name] = value;
  return pruned(schema::encode(template_of(args)));
}

Differences merge_and_restore(const json::Value& test) {
  const FeatureGates gates = gates_of(test);
  Differences out;
  for (const json::Value& step : steps_of(test)) {
    const std::string_view call = step.get_string({"call"});
    api::core::PodTemplateSpec pod = template_of(at(step, {"args"}));
    const json::Value before = schema::encode(pod);
    if (call == "podset.Merge") {
      Result<void> merged = merge_info(pod, info_of(at(step, {"args", "info"})), gates);
      if (compared_error_text(step, merged, out)) continue;
      differ(out, "merged", template_after(step), pruned(schema::encode(pod)));
    } else if (call == "podset.RestorePodSpec") {
      restore_info(pod, info_of(at(step, {"args", "info"})), {});
      differ(out, "changed", at(step, {"expect", "result"}), !(schema::encode(pod) == before));
      differ(out, "restored", template_after(step), pruned(schema::encode(pod)));
    } else if (call == "podset.FromPodSet") {
      v1beta2::Workload workload;
      workload.spec.pod_sets.push_back(decoded_or_empty<v1beta2::PodSet>(at(step, {"args", "ps"})));
      differ(out, "info", pruned(at(step, {"expect", "result"})),
             pruned(json_of(infos_of_spec(workload).front())));
    } else {
      out.push_back("nobody judges " + std::string(call));
    }
  }
  return out;
}

// Starts a Job, then stops it step by step until nothing is left to write.
Differences start_and_stop(const json::Value& test) {
  Differences out;
  json::Value job;
  std::vector<PodSetInfo> original;
  for (const json::Value& step : items(at(test, {"steps"}))) {
    const std::string_view call = step.get_string({"call"});
    std::vector<PodSetInfo> infos;
    for (const json::Value& info : items(at(step, {"args", "podSetsInfo"})))
      infos.push_back(info_of(info));
    const json::Value& after = at(step, {"expect", "receiverAfter"});
    auto object = [](const json::Value& document) {
      json::Value plain = pruned(document);
      for (const char* name : {"namespace", "generation", "resourceVersion"})
        plain.erase_path({"metadata", name});
      plain.erase_path({"spec", "suspend"});
      return plain;
    };
    if (call == "job.Job.RunWithPodSetsInfo") {
      about_job(test, at(step, {"receiver"}), [&](const Job& found) {
        Result<json::Value> target = found.started(infos);
        if (compared_error_text(step, target.ok() ? Result<void>() : target.error(), out)) {
          job = found.document();
          return;
        }
        job = *target;
        differ(out, "started", object(after), object(job));
        if (job.get_bool({"spec", "suspend"})) out.push_back("it is still suspended");
      });
    } else if (call == "job.Job.RestorePodSetsInfo") {
      original = std::move(infos);
    } else if (call == "job.Job.Suspend") {
      for (int i = 0; i < 4; ++i) {
        StopStep stop;
        about_job(test, job, [&](const Job& found) { stop = found.stop(original); });
        if (stop.kind != StopStep::Kind::kWrite) break;
        job = stop.target;
      }
      differ(out, "stopped", object(after), object(job));
      if (!job.get_bool({"spec", "suspend"})) out.push_back("it is not suspended");
    } else {
      out.push_back("nobody judges " + std::string(call));
    }
  }
  return out;
}

Differences sanitized(const json::Value& test) {
  std::vector<v1beta2::PodSet> sets;
  for (const json::Value& set : items(argument(test, "podSets")))
    sets.push_back(decoded_or_empty<v1beta2::PodSet>(set));
  sanitize(sets);
  const json::Value& after = at(test, {"expect", "argsAfter", "podSets"});
  Differences out;
  differ(out, "pod sets", pruned(after.is_null() ? argument(test, "podSets") : after),
         pruned(schema::encode(sets)));
  return out;
}

Differences topology(const json::Value& test) {
  Differences out;
  for (const json::Value& step : items(at(test, {"steps"}))) {
    if (!step.get_string({"call"}).ends_with(".Build")) continue;
    const json::Value& given = at(step, {"receiver"});
    json::Value args = json::Value::object({{"meta", at(given, {"meta"})}});
    TopologyHints hints{.pod_index_label = given.get_string({"podIndexLabel"}),
                        .sub_group_index_label = given.get_string({"subGroupIndexLabel"})};
    if (const json::Value& count = at(given, {"subGroupCount"}); count.is_int())
      hints.sub_group_count = static_cast<int32_t>(count.as_int());
    auto request = topology_request(template_of(args), hints, gates_of(test));
    if (compared_error(step, request.ok() ? Result<void>() : request.error(), out)) {
      // What the JSON reader says is its own.
      const std::string wanted(step.get_string({"expect", "error", "text"}));
      const std::string stem = wanted.substr(0, wanted.find(": invalid character"));
      if (!request.ok() && !request.error().message.starts_with(stem))
        differ(out, "error", wanted, request.error().message);
      continue;
    }
    differ(out, "request", pruned(at(step, {"expect", "result"})),
           request->has_value() ? pruned(schema::encode(**request)) : json::Value());
  }
  return out;
}

Differences names(const json::Value& test) {
  const bool short_names = gates_of(test).on(Gate::kShortWorkloadNames);
  Differences out;
  for (const json::Value& step : steps_of(test)) {
    const std::string_view call = step.get_string({"call"});
    const json::Value& args = at(step, {"args"});
    const OwnerName owner{args.get_string({"ownerGVK", "kind"}),
                          args.get_string({"ownerGVK", "group"}), args.get_string({"ownerName"}),
                          args.get_string({"ownerUID"})};
    const std::string extra = at(args, {"generation"}).is_int()
                                  ? std::to_string(args.get_int({"generation"}))
                                  : std::string(args.get_string({"extra"}));
    const std::string ours = workload_name(owner, extra, short_names);
    const std::string wanted(step.get_string({"expect", "result"}));
    if (call.ends_with("GenerateWorkloadNamePrefix")) {
      if (!ours.starts_with(wanted + "-")) differ(out, "prefix", wanted, ours);
    } else {
      differ(out, "name", wanted, ours);
    }
  }
  return out;
}

// --- priorities: the Workload that a Job gets
Differences priority_of(const json::Value& test, json::Value job, const json::Value& value,
                        const json::Value& ref) {
  json::Value scene = scene_of(test);
  job["apiVersion"] = "batch/v1";
  job["kind"] = "Job";
  job.at_path({"metadata", "labels", "kueue.x-k8s.io/queue-name"}) = "lq";
  job["metadata"]["uid"] = "u";
  job["spec"]["suspend"] = true;
  json::Array objects = items(at(test, {"input", "objects"}));
  objects.push_back(job);
  const std::string ns(job.get_string({"metadata", "namespace"}));
  objects.push_back(json::Value::object({{"apiVersion", "v1"},
                                         {"kind", "Namespace"},
                                         {"metadata", json::Value::object({{"name", ns}})}}));
  scene.at_path({"input", "controller"}) = "jobs-job job reconciler";
  scene.at_path({"input", "request"}) =
      ns + "/" + std::string(job.get_string({"metadata", "name"}));
  scene.at_path({"input", "objects"}) = json::Value(std::move(objects));
  const Pass pass = run_pass(scene);
  Differences out;
  if (compared_error(test, pass.result, out)) {
    if (!pass.result.ok() &&
        !pass.result.error().message.ends_with(test.get_string({"expect", "error", "text"})))
      differ(out, "error", at(test, {"expect", "error", "text"}), pass.result.error().message);
  } else {
    const json::Value* workload = nullptr;
    for (const auto& [name, object] : pass.objects)
      if (name.starts_with("Workload/")) workload = &object;
    if (workload == nullptr) return {"no Workload"};
    differ(out, "priority", value, at(*workload, {"spec", "priority"}));
    differ(out, "class", ref, at(*workload, {"spec", "priorityClassRef"}));
  }
  for (const json::Value& event : items(at(test, {"expect", "events"}))) {
    const std::string text = std::string(event.get_string({"eventType"})) + " " +
                             std::string(event.get_string({"reason"})) + ": " +
                             std::string(event.get_string({"message"}));
    if (std::find(pass.events.begin(), pass.events.end(), text) == pass.events.end())
      out.push_back("no event " + text);
  }
  return out;
}

json::Value plain_job() {
  json::Value job;
  job["metadata"] = json::Value::object({{"name", "job"}, {"namespace", "ns"}});
  job.at_path({"spec", "template", "spec", "containers"}) = json::Value::array(
      {json::Value::object({{"name", "c"}, {"resources", json::Value::object()}})});
  return job;
}

Differences by_class(const json::Value& test) {
  json::Value job = plain_job();
  if (const json::Value& name = argument(test, "workloadPriorityClass"); name.is_string()) {
    job.at_path({"metadata", "labels", "kueue.x-k8s.io/priority-class"}) = name;
  } else {
    job.at_path({"spec", "template", "spec", "priorityClassName"}) =
        argument(test, "priorityClass");
  }
  return priority_of(test, std::move(job), at(test, {"expect", "result1"}),
                     at(test, {"expect", "result0"}));
}

Differences of_job(const json::Value& test) {
  json::Value job = argument(test, "obj");
  for (const json::Value& set : items(argument(test, "podSets")))
    if (std::string_view name = set.get_string({"template", "spec", "priorityClassName"});
        !name.empty())
      job.at_path({"spec", "template", "spec", "priorityClassName"}) = name;
  return priority_of(test, std::move(job), at(test, {"expect", "result1"}),
                     at(test, {"expect", "result0"}));
}

// --- evictions: by what follows from them
// The queue order follows the eviction when it timed out and the setting says so.
Differences evicted_by_timeout(const json::Value& test) {
  auto order = [&](bool by_creation) {
    engine::Settings settings;
    settings.requeue_by_creation = by_creation;
    Told told(test, settings);
    auto w = told.workload(argument(test, "w"));
    return w ? engine::queue_timestamp(told.state().world(), *w) : Instant();
  };
  Differences out;
  differ(out, "evicted by timeout", at(test, {"expect", "result1"}),
         !(order(true) == order(false)));
  return out;
}

// An inactive workload is evicted, unless it was already for that.
Differences evicted_by_deactivation(const json::Value& test) {
  json::Value workload = argument(test, "w");
  workload.at_path({"spec", "active"}) = false;
  json::Value scene = scene_of(test);
  const std::string ns(workload.get_string({"metadata", "namespace"}));
  scene.at_path({"input", "controller"}) = "core.WorkloadReconciler";
  scene.at_path({"input", "request"}) =
      ns + "/" + std::string(workload.get_string({"metadata", "name"}));
  scene.at_path({"input", "objects"}) = json::Value::array({workload});
  bool evicted_now = false;
  for (const auto& [name, object] : run_pass(scene).objects)
    evicted_now =
        evicted_now || !items(at(object, {"status", "schedulingStats", "evictions"})).empty();
  return compared_result(test, !evicted_now);
}

// --- pods beside those that topology places
std::optional<engine::ForeignPod> counted(const json::Value& object) {
  auto pod = schema::decode<api::core::Pod>(object);
  if (!pod.ok()) return std::nullopt;
  const engine::Event event = bridge::to_engine(*pod);
  const auto* changed = std::get_if<engine::ForeignPodChanged>(&event);
  return changed == nullptr ? std::nullopt : std::optional(changed->pod);
}

Differences foreign(const json::Value& test) {
  const json::Value& created = at(test, {"input", "args", "e", "object"});
  return compared_result(
      test, counted(created.is_object() ? created : argument(test, "pod")).has_value());
}

Differences placed_by_topology(const json::Value& test) {
  json::Value pod = argument(test, "pod");
  pod["spec"]["nodeName"] = "n";
  return compared_result(test, !counted(pod).has_value());
}

// Whether the engine takes note of the change.
Differences foreign_changed(const json::Value& test) {
  Told told(test);
  auto news_after = [&](const char* name) {
    auto pod = schema::decode<api::core::Pod>(at(test, {"input", "args", "e", name}));
    if (pod.ok()) told.state().apply(bridge::to_engine(*pod));
    return told.state().world().news;
  };
  const uint64_t before = news_after("objectOld");
  return compared_result(test, news_after("objectNew") != before);
}

}  // namespace

void add_job_judges(Judges& judges) {
  judges.add("podsets job.Job.PodSets", pod_sets);
  judges.add("function job.Job.PodsReady", pods_ready);
  judges.add("function job.Job.ReclaimablePods", reclaimable);
  judges.add("function job.terminalIndexesCount", indexes);
  judges.add("function jobs-job/pod-sets-info", start_and_stop);
  judges.add("function podset.FromAssignment", from_assignment);
  judges.add("function podset/merge-restore", merge_and_restore);
  judges.add("function jobframework.SanitizePodSets", sanitized);
  judges.add("function jobframework/pod-set-topology-request-builder", topology);
  judges.add("function jobframework/generate-workload-name-with-extra", names);
  judges.add("function jobframework/generate-workload-name-with-generation", names);
  judges.add("function jobframework.ExtractPriority", of_job);
  judges.add("function priority.GetPriorityFromPriorityClass", by_class);
  judges.add("function priority.GetPriorityFromWorkloadPriorityClass", by_class);
  judges.add("function evict.IsEvictedByPodsReadyTimeout", evicted_by_timeout);
  judges.add("function evict.IsEvictedByDeactivation", evicted_by_deactivation);
  judges.add("function tas.belongsToNonTASCache", foreign);
  judges.add("function tas.IsTAS", placed_by_topology);
  judges.add("function tas.PodUsageReconciler.Create", foreign);
  judges.add("function tas.PodUsageReconciler.Update", foreign_changed);
}

}  // namespace kueue::vectors
