// Judges of cases about single workloads: what they request and use, their conditions, what changes
// in their status, and slices.
#include <algorithm>

#include "api/topology_assignment.h"
#include "bench.h"
#include "bridge/quantities.h"
#include "bridge/requests.h"
#include "bridge/workload_status.h"
#include "controllers/failure_recovery/failure_recovery.h"
#include "controllers/jobs/pod_set_info.h"
#include "controllers/metrics/record.h"
#include "controllers/workload/requeue_state.h"
#include "engine/queue/digest.h"
#include "engine/quota/reservations.h"
#include "engine/world.h"
#include "judge.h"
#include "schema/codec.h"
#include "told.h"

namespace kueue::vectors {
namespace {

namespace v1beta2 = api::v1beta2;

bridge::StatusContext context_of(const json::Value& test, const FeatureGates& gates) {
  const std::string now(test.get_string({"input", "args", "now"}, test.get_string({"clock"})));
  return {*parse_time(now), &gates};
}

// A change to the status of the Workload in argument `name`: its result and the object after it.
template <typename Change>
Judge changes(const char* name, Change change) {
  return [name, change](const json::Value& test) -> Differences {
    auto w = schema::decode<v1beta2::Workload>(argument(test, name));
    if (!w.ok()) return {"the workload does not decode"};
    const FeatureGates gates = gates_of(test);
    const bool changed = change(*w, test, context_of(test, gates));
    Differences out;
    if (const json::Value& wanted = at(test, {"expect", "result"}); wanted.is_bool())
      differ(out, "changed", wanted, changed);
    const json::Value& after = at(test, {"expect", "argsAfter", name});
    auto expected =
        schema::decode<v1beta2::Workload>(after.is_null() ? argument(test, name) : after);
    if (!expected.ok()) return {"the expected workload does not decode"};
    auto plain = [](v1beta2::Workload& workload) {
      std::sort(workload.status.conditions.begin(), workload.status.conditions.end(),
                [](const auto& a, const auto& b) { return a.type < b.type; });
      return pruned(schema::encode(workload.status));
    };
    differ(out, "status", plain(*expected), plain(*w));
    return out;
  };
}

bool reserve_quota(v1beta2::Workload& w, const json::Value& test,
                   const bridge::StatusContext& context) {
  auto admission = schema::decode<v1beta2::Admission>(argument(test, "admission"));
  if (!admission.ok()) return false;
  v1beta2::Workload source;
  source.status.admission = *admission;
  engine::Admit command;
  command.admission = std::make_shared<const engine::Admission>(
      *bridge::to_engine(source, {.gates = context.gates})->admission);
  bridge::apply_admit(w, command, context);
  return true;
}

bool propagate(v1beta2::Workload& w, const json::Value& test,
               const bridge::StatusContext& context) {
  engine::SetPending command;
  command.write = true;
  for (const json::Value& set : items(at(test, {"input", "args", "info", "totalRequests"}))) {
    engine::ResourceAmounts amounts;
    if (const json::Value& requests = at(set, {"requests"}); requests.is_object())
      for (const auto& [name, amount] : requests.as_object())
        amounts.emplace_back(name, amount.int_or(0));
    command.resource_requests.emplace_back(set.get_string({"name"}), std::move(amounts));
  }
  const auto before = w.status.resource_requests;
  bridge::apply_pending(w, command, context);
  w.status.conditions.clear();  // not what this is about
  return before != w.status.resource_requests;
}

// --- requests and usage
Differences adjusted(const json::Value& test) {
  Told told(test);
  auto w = schema::decode<v1beta2::Workload>(argument(test, "wl"));
  const json::Value& after = at(test, {"expect", "argsAfter", "wl"});
  auto expected = schema::decode<v1beta2::Workload>(after.is_null() ? argument(test, "wl") : after);
  if (!w.ok() || !expected.ok()) return {"the workload does not decode"};
  for (v1beta2::PodSet& set : w->spec.pod_sets)
    set.template_.edit().spec = told.adjusted(set.template_.open()->spec);
  Differences out;
  differ(out, "spec", pruned(schema::encode(expected->spec)), pruned(schema::encode(w->spec)));
  return out;
}

json::Value by_fr(const engine::World& world, const engine::Usage& usage) {
  json::Value out = json::Value::object();
  for (const auto& [fr, amount] : usage)
    if (!amount.is_zero()) out[world.names.text(fr)] = amount.value();
  return out;
}
// Kueue's totals per pod set, summed up by flavor.
json::Value by_fr(const json::Value& totals) {
  std::map<std::string, int64_t> sum;
  for (const json::Value& set : items(totals)) {
    const json::Value& requests = at(set, {"requests"});
    if (!requests.is_object()) continue;
    for (const auto& [resource, amount] : requests.as_object())
      if (std::string_view flavor = set.get_string({"flavors", resource}); !flavor.empty())
        sum[std::string(flavor) + "/" + resource] += amount.int_or(0);
  }
  json::Value out = json::Value::object();
  for (const auto& [fr, amount] : sum)
    if (amount != 0) out[fr] = amount;
  return out;
}

void compare_places(engine::World& world, const engine::Workload& w, const json::Value& totals,
                    Differences& out) {
  json::Array theirs, ours;
  for (const json::Value& set : items(totals))
    for (const json::Value& domain : items(at(set, {"topologyRequest", "domainRequests"})))
      theirs.push_back(domain);
  for (const engine::PlacedPods& placed :
       engine::admission_places(world, world.find(w.key), *w.admission)) {
    json::Value requests = json::Value::object();
    for (const auto& [name, amount] : world.names.amounts(placed.per_pod)) requests[name] = amount;
    json::Array values;
    for (const std::string& value : placed.values) values.emplace_back(value);
    ours.push_back(json::Value::object({{"count", int64_t{placed.count}},
                                        {"singlePodRequests", requests},
                                        {"values", json::Value(std::move(values))}}));
  }
  differ(out, "places", json::Value(std::move(theirs)), json::Value(std::move(ours)));
}

// The totals of one pod set after another: of a pending workload what it asks for, of one with a
// reservation what it is charged.
Differences totals(const json::Value& test, const json::Value& object, const json::Value& info) {
  Told told(test);
  auto w = told.workload(object);
  if (!w) return {"the workload does not decode"};
  told.tell(object);
  engine::World& world = told.state().world();
  const json::Value& wanted = at(info, {"totalRequests"});
  Differences out;
  if (w->reserved()) {
    differ(out, "usage", by_fr(wanted),
           by_fr(world, engine::admission_usage(world, *w, *w->admission)));
    compare_places(world, *w, wanted, out);
    return out;
  }
  json::Array theirs, ours;
  for (const json::Value& set : items(wanted))
    theirs.push_back(json::Value::object({{"name", at(set, {"name"})},
                                          {"count", at(set, {"count"})},
                                          {"requests", at(set, {"requests"})}}));
  const auto requests = told.state().resource_requests(w->key);
  for (const engine::PodSet& set : w->pod_sets) {
    json::Value amounts = json::Value::object();
    for (const auto& [name, list] : requests)
      if (name == set.name)
        for (const auto& [resource, amount] : list) amounts[resource] = amount;
    ours.push_back(json::Value::object({{"name", set.name.str()},
                                        {"count", int64_t{engine::effective_count(world, *w, set)}},
                                        {"requests", amounts}}));
  }
  differ(out, "requests", pruned(json::Value(std::move(theirs))),
         pruned(json::Value(std::move(ours))));
  return out;
}

Differences infos(const json::Value& test) {
  Differences out;
  for (const json::Value& step : steps_of(test)) {
    const bool made = step.get_string({"call"}) == "workload.NewInfo";
    const json::Value& object = at(step, {"args", made ? "w" : "wl"});
    const json::Value& info =
        made ? at(step, {"expect", "result"}) : at(step, {"expect", "receiverAfter"});
    if (!object.is_object() || !info.is_object()) continue;
    Differences more = totals(test, object, info);
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

Differences resource_usage(const json::Value& test) {
  Told told(test);
  engine::World& world = told.state().world();
  engine::Workload w;
  engine::Admission admission;
  for (const json::Value& total : items(at(test, {"input", "receiver", "totalRequests"}))) {
    engine::PodSet set;
    set.name = "s" + std::to_string(w.pod_sets.size());
    set.count = 1;
    set.pod = std::make_shared<engine::PodTemplate>();
    engine::PodSetAssignment& assigned = admission.pod_sets.emplace_back();
    assigned.name = set.name;
    assigned.count = 1;
    if (const json::Value& flavors = at(total, {"flavors"}); flavors.is_object())
      for (const auto& [resource, flavor] : flavors.as_object())
        assigned.flavors.emplace_back(resource, flavor.as_string());
    if (const json::Value& requests = at(total, {"requests"}); requests.is_object())
      for (const auto& [resource, amount] : requests.as_object())
        assigned.usage.emplace_back(resource, amount.int_or(0));
    std::sort(assigned.usage.begin(), assigned.usage.end());
    w.pod_sets.push_back(std::move(set));
  }
  return compared(at(test, {"expect", "result", "assigned"}),
                  by_fr(world, engine::admission_usage(world, w, admission)));
}

Differences required_checks(const json::Value& test) {
  Told told(test);
  told.tell(argument(test, "cq"));
  auto w = told.workload(argument(test, "wl"));
  if (!w) return {"the workload does not decode"};
  engine::Workload queued = *w;
  queued.queue_name = "lq";
  engine::LocalQueue local;
  local.key = {w->key.namespace_, "lq"};
  local.cluster_queue = test.get_string({"input", "args", "cq", "metadata", "name"});
  told.state().apply(engine::LocalQueueChanged{local});
  json::Array ours;
  for (const std::string& check : told.state().required_checks(queued)) ours.emplace_back(check);
  return compared_result(test, json::Value(std::move(ours)));
}

Differences pending_flavors(const json::Value& test) {
  Told told(test);
  engine::ScanProgress scan;
  for (const json::Value& set : items(at(test, {"input", "receiver", "lastTriedFlavorIdx"}))) {
    auto& tried = scan.tried.emplace_back();
    for (const auto& [resource, index] : set.as_object())
      tried.emplace_back(told.state().world().names.resource(resource),
                         static_cast<int32_t>(index.int_or(0)));
  }
  return compared_result(test, scan.has_untried());
}

// --- times and reclaimable pods
Differences retry(const json::Value& test) {
  auto w = schema::decode<v1beta2::Workload>(argument(test, "wl"));
  if (!w.ok()) return {"the workload does not decode"};
  const std::optional<Instant> until = controllers::retry_time(*w);
  return compared_result(test, until ? json::Value(format_time(*until)) : json::Value());
}

std::vector<v1beta2::ReclaimablePod> reclaimable(const json::Value& list) {
  auto decoded = schema::decode<std::vector<v1beta2::ReclaimablePod>>(
      list.is_array() ? list : json::Value(json::Array()));
  return decoded.ok() ? *decoded : std::vector<v1beta2::ReclaimablePod>();
}

Differences limited(const json::Value& test) {
  auto w = schema::decode<v1beta2::Workload>(argument(test, "wl"));
  if (!w.ok()) return {"the workload does not decode"};
  return compared_result(test, schema::encode(controllers::jobs::limited_to_pod_sets(
                                   *w, reclaimable(argument(test, "reclaimablePods")))));
}

Differences equal_reclaimable(const json::Value& test) {
  return compared_result(test,
                         controllers::jobs::same_reclaimable(reclaimable(argument(test, "a")),
                                                             reclaimable(argument(test, "b"))));
}

Differences concerned(const json::Value& test) {
  auto pod = schema::decode<api::core::Pod>(at(test, {"input", "args", "e", "object"}));
  return compared_result(test, pod.ok() && controllers::FailureRecovery::concerns(*pod));
}

Differences execution(const json::Value& test) {
  auto w = schema::decode<v1beta2::Workload>(argument(test, "wl"));
  if (!w.ok()) return {"the workload does not decode"};
  const std::optional<Duration> took = controllers::execution_time(*w);
  return compared_result(test, took ? json::Value(format_duration(*took)) : json::Value());
}

Differences eviction_latency(const json::Value& test) {
  auto before = schema::decode<v1beta2::Workload>(argument(test, "oldWl"));
  auto after = schema::decode<v1beta2::Workload>(argument(test, "newWl"));
  auto now = parse_time(test.get_string({"input", "args", "now"}));
  if (!before.ok() || !after.ok() || !now.ok()) return {"the case does not decode"};
  const auto released = controllers::released_quota(*before, *after, *now);
  json::Value ours = json::Value::object({{"result3", released.has_value()}});
  if (released) {
    ours["result0"] = released->cluster_queue;
    ours["result1"] = released->reason;
    ours["result2"] = format_duration(released->took);
  }
  json::Value theirs = at(test, {"expect"});
  theirs.erase_path({"raw"});
  if (!released && theirs.get_string({"result2"}) == "0s") theirs.erase_path({"result2"});
  return compared(theirs, ours);
}

// An elastic workload that holds quota: only when it asks for less, others are tried again.
Differences scaled_down(const json::Value& test) {
  Told told(test);
  auto tell = [&](const json::Value& counts) {
    auto w = std::make_shared<engine::Workload>();
    w->key = {"ns", "w"};
    w->queue_name = "lq";
    w->elastic = true;
    w->conditions.push_back({engine::ConditionType::kQuotaReserved,
                             engine::ConditionStatus::kTrue,
                             "QuotaReserved",
                             "",
                             {}});
    w->conditions.push_back(
        {engine::ConditionType::kAdmitted, engine::ConditionStatus::kTrue, "Admitted", "", {}});
    w->admission.emplace();
    w->admission->cluster_queue = "cq";
    for (const auto& [name, count] : members(counts)) {
      engine::PodSet set;
      set.name = name;
      set.count = static_cast<int32_t>(count.int_or(0));
      set.pod = std::make_shared<engine::PodTemplate>();
      w->pod_sets.push_back(std::move(set));
    }
    told.state().apply(engine::WorkloadChanged{w});
  };
  engine::ClusterQueue queue;
  queue.name = "cq";
  told.state().apply(engine::ClusterQueueChanged{queue});
  engine::LocalQueue local;
  local.key = {"ns", "lq"};
  local.cluster_queue = "cq";
  told.state().apply(engine::LocalQueueChanged{local});
  tell(argument(test, "oldCounts"));
  told.state().apply(engine::FlushRetries{});
  tell(argument(test, "newCounts"));
  return compared_result(test, !told.state().world().retries.empty());
}

// --- places of an assignment
std::vector<api::TopologyDomain> domains_of(const json::Value& assignment) {
  auto packed = schema::decode<v1beta2::TopologyAssignment>(assignment);
  if (!packed.ok()) return {};
  auto domains = api::unpack_topology(*packed);
  return domains.ok() ? *domains : std::vector<api::TopologyDomain>();
}

Differences pod_counts(const json::Value& test) {
  json::Array counts;
  for (const api::TopologyDomain& domain : domains_of(argument(test, "ta")))
    counts.emplace_back(int64_t{domain.count});
  const json::Value& seen = at(test, {"expect", "observed", "got"});
  return compared(seen.is_null() ? at(test, {"expect", "result"}) : seen,
                  json::Value(std::move(counts)));
}

Differences lowest_values(const json::Value& test) {
  json::Array values;
  for (const api::TopologyDomain& domain : domains_of(argument(test, "ta")))
    values.emplace_back(domain.values.back());
  const json::Value& seen = at(test, {"expect", "observed", "got"});
  return compared(seen.is_null() ? at(test, {"expect", "result"}) : seen,
                  json::Value(std::move(values)));
}

}  // namespace

void add_workload_judges(Judges& judges) {
  judges.add("function workload.SetRequeueState",
             changes("wl", [](v1beta2::Workload& w, const json::Value& test, const auto&) {
               return controllers::requeue_not_before(
                   w, *parse_time(test.get_string({"input", "args", "waitUntil"})),
                   test.get_bool({"input", "args", "incrementCount"}));
             }));
  judges.add("function workload.SetConditionAndUpdate",
             changes("wl", [](v1beta2::Workload& w, const json::Value& test, const auto& context) {
               return bridge::set_condition(
                   w, test.get_string({"input", "args", "conditionType"}),
                   test.get_string({"input", "args", "conditionStatus"}) == "True",
                   test.get_string({"input", "args", "reason"}),
                   test.get_string({"input", "args", "message"}), context);
             }));
  judges.add("function workload.SyncAdmittedCondition",
             changes("w", [](v1beta2::Workload& w, const json::Value&, const auto& context) {
               return bridge::sync_admitted(w, context);
             }));
  judges.add("function workload.SetQuotaReservation", changes("w", reserve_quota));
  judges.add("function workload.PropagateResourceRequests", changes("w", propagate));
  judges.add("function workload.AdjustResources", adjusted);
  judges.add("function workload.NewInfo", infos);
  judges.add("function workload/update-with-rebuild", infos);
  judges.add("function workload.Info.ResourceUsage", resource_usage);
  judges.add("function workload.AdmissionChecksForWorkload", required_checks);
  judges.add("function workload.AssignmentClusterQueueState.PendingFlavors", pending_flavors);
  judges.add("function workload.GetMaxRetryTime", retry);
  judges.add("function workload.LimitReclaimablePodsToPodSetSizes", limited);
  judges.add("function workload.ReclaimablePodsAreEqual", equal_reclaimable);
  judges.add("function failurerecovery.TerminatingPodReconciler.Create", concerned);
  judges.add("function workload.TotalExecutionTime", execution);
  judges.add("function workload.EvictionPendingLatency", eviction_latency);
  judges.add("function workloadslicing.ScaledDown", scaled_down);
  judges.add("function tas.PodCounts", pod_counts);
  judges.add("function tas.LowestLevelValues", lowest_values);
}

}  // namespace kueue::vectors
