// Loading and stepping; comparing is in compare.cc.
#include "replay.h"

#include <algorithm>

#include "base/check.h"
#include "bridge/quantities.h"
#include "bridge/snapshot_json.h"
#include "json/json.h"
#include "json/patch.h"
#include "schema/codec.h"

namespace kueue::vectors {
namespace {

template <typename T>
T decoded(const json::Value& object) {
  Result<T> result = schema::decode<T>(object);
  KUEUE_CHECK(result.ok(), "a vector holds an object that does not decode");
  return std::move(result).value();
}

std::string ref_of(const json::Value& object) {
  std::string ns(object.get_string({"metadata", "namespace"}));
  return std::string(object.get_string({"kind"})) + "/" + (ns.empty() ? "" : ns + "/") +
         std::string(object.get_string({"metadata", "name"}));
}

}  // namespace

engine::Key key_of(std::string_view ref) {
  if (ref.starts_with("Workload/")) ref.remove_prefix(9);
  const size_t slash = ref.find('/');
  if (slash == std::string_view::npos) return {"", std::string(ref)};
  return {ref.substr(0, slash), std::string(ref.substr(slash + 1))};
}

engine::Settings settings_of(const json::Value& vector, const FeatureGates& gates,
                             RequestRules& rules) {
  engine::Settings settings;
  settings.gates = gates;
  settings.retry_batch = Duration::seconds(3'000'000'000);  // only on request
  settings.pod_retry_batch = settings.retry_batch;
  const json::Value* config = vector.find("config");
  if (config == nullptr) return settings;
  if (const json::Value* fair = config->find("fairSharing")) {
    settings.fair_sharing.emplace();
    if (const json::Value* list = fair->find("preemptionStrategies"))
      for (const json::Value& s : list->as_array())
        settings.fair_sharing->strategies.push_back(
            s.as_string() == "LessThanInitialShare"
                ? engine::FairPreemptionStrategy::kLessThanInitialShare
                : engine::FairPreemptionStrategy::kLessThanOrEqualToFinalShare);
  }
  if (const json::Value* afs = config->find("admissionFairSharing")) {
    settings.admission_fair_sharing.emplace();
    settings.admission_fair_sharing->half_life =
        *parse_duration(afs->get_string({"usageHalfLifeTime"}, "0"));
    settings.admission_fair_sharing->sampling_interval =
        *parse_duration(afs->get_string({"usageSamplingInterval"}, "5m"));
    if (const json::Value* weights = afs->find("resourceWeights"))
      for (const auto& [name, weight] : weights->as_object())
        settings.admission_fair_sharing->resource_weights.emplace_back(name, weight.as_double());
  }
  settings.ignore_undeclared = config->get_string({"quotaCheckStrategy"}) == "IgnoreUndeclared";
  settings.requeue_by_creation = config->get_string({"requeuingTimestamp"}) == "Creation";
  settings.block_admission = config->get_bool({"waitForPodsReady", "blockAdmission"});
  if (const json::Value* list = config->find_path({"resources", "excludeResourcePrefixes"}))
    for (const json::Value& prefix : list->as_array())
      rules.exclude_prefixes.push_back(prefix.as_string());
  if (const json::Value* list = config->find_path({"resources", "transformations"})) {
    for (const json::Value& t : list->as_array()) {
      Transformation rule{std::string(t.get_string({"input"})),
                          t.get_string({"strategy"}) != "Replace",
                          std::string(t.get_string({"multiplyBy"})),
                          {}};
      if (const json::Value* outputs = t.find("outputs"))
        for (const auto& [resource, factor] : outputs->as_object())
          rule.outputs.push_back({resource, api::Quantity::from_json(factor)->to_string()});
      rules.transformations.push_back(std::move(rule));
    }
  }
  return settings;
}

std::optional<engine::Event> event_of(const json::Value& object) {
  std::string_view kind = object.get_string({"kind"});
  if (kind == "Namespace") {
    auto ns = decoded<api::core::Namespace>(object);
    return engine::NamespaceChanged{ns.metadata.name,
                                    {ns.metadata.labels.begin(), ns.metadata.labels.end()}};
  }
  if (kind == "Node") return engine::NodeChanged{to_engine(decoded<api::core::Node>(object))};
  if (kind == "Pod") return to_engine(decoded<api::core::Pod>(object));
  if (kind == "AdmissionCheck")
    return engine::CheckChanged{to_engine(decoded<api::v1beta2::AdmissionCheck>(object))};
  if (kind == "ResourceFlavor")
    return engine::FlavorChanged{to_engine(decoded<api::v1beta2::ResourceFlavor>(object))};
  if (kind == "Topology")
    return engine::TopologyChanged{to_engine(decoded<api::v1beta2::Topology>(object))};
  if (kind == "Cohort")
    return engine::CohortChanged{to_engine(decoded<api::v1beta2::Cohort>(object))};
  if (kind == "ClusterQueue")
    return engine::ClusterQueueChanged{to_engine(decoded<api::v1beta2::ClusterQueue>(object))};
  if (kind == "LocalQueue")
    return engine::LocalQueueChanged{to_engine(decoded<api::v1beta2::LocalQueue>(object))};
  return std::nullopt;
}

CycleReplay::CycleReplay(const json::Value& vector) : vector_(vector), gates_(gates_of(vector)) {
  state_ = std::make_unique<engine::State>(settings_of(vector, gates_, rules_));
  now_ = *parse_time(vector.get_string({"clock"}));
  if (const json::Value* faults = vector.find("faults"))
    for (const json::Value& fault : faults->as_array()) {
      fail_status_patches_ = true;
      fail_not_found_ = fault.get_string({"error"}) == "NotFound";
    }
}

void CycleReplay::tell(const json::Value& object) {
  others_[ref_of(object)] = object;
  if (auto event = event_of(object)) state_->apply(*event);
}

void CycleReplay::tell_workload(const engine::Key& key) {
  Surroundings around;
  around.pool = &pool_;
  around.gates = &gates_;
  around.rules = &rules_;
  state_->apply(engine::WorkloadChanged{to_engine(workloads_.at(key), around)});
  delivered_[key] = workloads_.at(key);
}

void CycleReplay::load() {
  state_->apply(engine::TimePassed{now_});
  const json::Array& objects = vector_.find("objects")->as_array();
  std::vector<const json::Value*> locals;
  for (const json::Value& object : objects) {
    std::string_view kind = object.get_string({"kind"});
    if (kind == "LocalQueue") {
      locals.push_back(&object);
    } else if (kind == "Workload") {
      auto w = decoded<api::v1beta2::Workload>(object);
      engine::Key key{w.metadata.namespace_, w.metadata.name};
      workloads_[key] = std::move(w);
    } else if (kind != "ClusterQueue") {
      tell(object);
    }
  }
  for (const json::Value& object : objects)
    if (object.get_string({"kind"}) == "ClusterQueue") tell(object);
  for (const auto& [key, w] : workloads_) tell_workload(key);
  for (const json::Value* local : locals) tell(*local);
  const json::Value* seed = vector_.find("seed");
  if (seed == nullptr) return;
  if (const json::Value* usage = seed->find("afsUsage")) {
    for (const auto& [ref, resources] : usage->as_object()) {
      engine::ConsumedUsage event{key_of(ref), {}, now_};
      for (const auto& [name, quantity] : resources.as_object())
        event.consumed.emplace_back(name, nanos_of(*api::Quantity::from_json(quantity)));
      state_->apply(event);
    }
  }
  if (const json::Value* list = seed->find("secondPass"))
    for (const json::Value& ref : list->as_array())
      state_->apply(engine::SecondPassReady{key_of(ref.as_string())});
}

Differences CycleReplay::run() {
  Differences out;
  load();
  const json::Array& expected = vector_.find("expect")->as_array();
  const json::Array& steps = vector_.find("steps")->as_array();
  compare(expected.front(), out);
  for (size_t i = 0; i < steps.size() && out.empty(); ++i) {
    step_ = static_cast<int64_t>(i);
    log_ = StepLog();
    before_.clear();
    for (const auto& [key, w] : workloads_) before_[key] = w.status;
    execute(steps[i]);
    if (!log_.replay.empty()) out.push_back("step " + std::to_string(i) + " dump: " + log_.replay);
    state_->check_invariants();
    if (i + 1 < expected.size()) compare(expected[i + 1], out);
  }
  return out;
}

void CycleReplay::execute(const json::Value& step) {
  std::string op(step.get_string({"op"}));
  std::string ref(step.get_string({"ref"}));
  if (op == "cycle") return cycle();
  if (op == "flushRequeues") return state_->apply(engine::FlushRetries{});
  if (op == "advance") {
    now_ = now_ + *parse_duration(step.get_string({"by"}));
    return state_->apply(engine::TimePassed{now_});
  }
  if (op == "create") {
    const json::Value& object = *step.find("object");
    if (object.get_string({"kind"}) != "Workload") return tell(object);
    auto w = decoded<api::v1beta2::Workload>(object);
    engine::Key key{w.metadata.namespace_, w.metadata.name};
    workloads_[key] = std::move(w);
    before_[key] = workloads_[key].status;
    return tell_workload(key);
  }
  if (op == "patch" || op == "apply") return patch(step);
  if (op == "delete") return remove(ref);
  if (op == "finish") finish(workload(ref), "Succeeded", "Job finished successfully", context());
  if (op == "evict") {
    std::string reason(step.get_string({"reason"}));
    evict(workload(ref), reason, "", "Evicted by the test", context());
    send({evicted_event(key_of(ref), reason, "", "Evicted by the test")});
  }
  if (op == "evictDone") evict_done(step);
  if (op == "setChecks") set_checks(step);
  if (op == "unhealthyNode")
    workload(ref).status.unhealthy_nodes.push_back({std::string(step.get_string({"node"}))});
  deliver();
}

api::v1beta2::Workload& CycleReplay::workload(const std::string& ref) {
  return workloads_[key_of(ref)];
}

void CycleReplay::deliver() {
  for (const auto& [key, w] : workloads_) {
    auto it = delivered_.find(key);
    if (it == delivered_.end() || !(it->second == w)) tell_workload(key);
  }
}

void CycleReplay::evict_done(const json::Value& step) {
  std::set<std::string> only;
  if (const json::Value* refs = step.find("refs"))
    for (const json::Value& ref : refs->as_array()) only.insert(key_of(ref.as_string()).text());
  for (auto& [key, w] : workloads_)
    if (only.empty() || only.contains(key.text())) finish_eviction(w, context());
}

void CycleReplay::set_checks(const json::Value& step) {
  api::v1beta2::Workload& w = workload(std::string(step.get_string({"ref"})));
  for (auto& check : w.status.admission_checks) {
    check.state = std::string(step.get_string({"state"}));
    check.last_transition_time = now_;
    check.message.clear();
  }
  if (step.get_string({"state"}) == "Ready") sync_admitted(w, context());
}

void CycleReplay::patch(const json::Value& step) {
  const json::Value& object = *step.find("object");
  std::string ref =
      step.find("ref") != nullptr ? std::string(step.get_string({"ref"})) : ref_of(object);
  if (ref.starts_with("Workload/")) {
    api::v1beta2::Workload& w = workload(ref);
    json::Value merged = json::apply_merge_patch(schema::encode(w), object);
    auto generation = w.metadata.generation;
    w = decoded<api::v1beta2::Workload>(merged);
    if (object.find("spec") != nullptr) w.metadata.generation = generation.value_or(0) + 1;
    return deliver();
  }
  json::Value next = object;
  if (step.get_string({"op"}) == "patch") next = json::apply_merge_patch(others_.at(ref), object);
  tell(next);
  deliver();
}

void CycleReplay::remove(const std::string& ref) {
  if (ref.starts_with("Workload/")) {
    engine::Key key = key_of(ref);
    workloads_.erase(key);
    delivered_.erase(key);
    return state_->apply(engine::WorkloadDeleted{key});
  }
  others_.erase(ref);
  if (ref.starts_with("Node/")) return state_->apply(engine::NodeDeleted{ref.substr(5)});
  if (ref.starts_with("Pod/")) {
    // The step retries all queues, also when the pod had ended before and used nothing.
    state_->apply(
        engine::ForeignPodChanged{{.key = key_of(ref.substr(4)), .node = "", .requests = {}}});
    return state_->apply(engine::ForeignPodDeleted{key_of(ref.substr(4))});
  }
  if (ref.starts_with("ClusterQueue/"))
    return state_->apply(engine::ClusterQueueDeleted{ref.substr(13)});
  if (ref.starts_with("Cohort/")) return state_->apply(engine::CohortDeleted{ref.substr(7)});
  if (ref.starts_with("LocalQueue/"))
    return state_->apply(engine::LocalQueueDeleted{key_of(ref.substr(11))});
  if (ref.starts_with("ResourceFlavor/"))
    return state_->apply(engine::FlavorDeleted{ref.substr(15)});
  KUEUE_CHECK(false, "unknown kind in a delete step");
}

void CycleReplay::send(const std::vector<WorkloadEvent>& events) {
  for (const WorkloadEvent& e : events)
    log_.events.push_back(json::Value::object({{"ref", e.about.text()},
                                               {"type", e.warning ? "Warning" : "Normal"},
                                               {"reason", e.reason},
                                               {"message", e.message}}));
}

void CycleReplay::write(const engine::Command& command) {
  if (const auto* admit = std::get_if<engine::Admit>(&command)) {
    api::v1beta2::Workload& w = workloads_.at(admit->key);
    if (fail_status_patches_)
      return state_->apply(engine::AdmissionFailed{admit->key, fail_not_found_});
    api::v1beta2::Workload before = w;
    apply_admit(w, *admit, context());
    send(admit_events(before, *admit, context()));
    if (admit->replaced_slice) {
      std::string text = replaced_slice_text(*admit, w);
      finish(workloads_.at(*admit->replaced_slice), "WorkloadSliceReplaced", text, context());
      send({{*admit->replaced_slice, false, "WorkloadSliceReplaced", text}});
    }
  } else if (const auto* evicted = std::get_if<engine::Evict>(&command)) {
    if (evicted->reason == engine::EvictReason::kPreempted)
      log_.preempted.push_back(evicted->key.text() + " " +
                               engine::preempt_reason_text(evicted->preempt_reason) + " " +
                               (evicted->preemptor ? evicted->preemptor->key.text() : "/"));
    if (fail_status_patches_) return state_->apply(engine::EvictionFailed{evicted->key});
    apply_evict(workloads_.at(evicted->key), *evicted, context());
    send(evict_events(*evicted));
  } else if (const auto* pending = std::get_if<engine::SetPending>(&command)) {
    if (!fail_status_patches_) apply_pending(workloads_.at(pending->key), *pending, context());
    send(pending_events(*pending, context()));
  }
}

// A state that was written down and read back must decide alike.
engine::Plan CycleReplay::plan_twice() {
  engine::CycleInput input{.now = now_, .every_head = true};
  std::string text = json::write(dump(engine::take_snapshot(*state_), input));
  Result<json::Value> document = json::parse(text);
  KUEUE_CHECK(document.ok(), "a dump is no JSON");
  Result<Dump> read = read_dump(*document);
  if (!read.ok()) log_.replay = "the dump does not read: " + read.error().message;
  engine::Plan plan = engine::plan(*state_, input);
  if (!read.ok()) return plan;
  std::unique_ptr<engine::State> copy = engine::restore(read->snapshot);
  copy->check_invariants();
  std::string again = json::write(dump(engine::take_snapshot(*copy), read->input));
  if (again != text) log_.replay = "a restored state differs from the one that was dumped";
  if (json::write(plan_json(engine::plan(*copy, read->input))) != json::write(plan_json(plan)))
    log_.replay = "a restored state decides otherwise";
  return plan;
}

void CycleReplay::cycle() {
  engine::Plan plan = plan_twice();
  for (const engine::Command& command : plan.commands) write(command);
  log_.keep_going = plan.keep_going;
  log_.decisions = std::move(plan.why.decisions);
  log_.skips = std::move(plan.why.preemption_skips);
  log_.recomputations = std::move(plan.why.recomputations);
}

}  // namespace kueue::vectors
