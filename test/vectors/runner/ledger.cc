// Judges of cases about admission fair sharing: what LocalQueues have consumed, penalties, and the
// usage that orders them.
#include <cmath>

#include "bridge/quantities.h"
#include "engine/fairshare/admission.h"
#include "engine/world.h"
#include "judge.h"
#include "replay.h"
#include "told.h"

namespace kueue::vectors {
namespace {

using NanoAmounts = std::vector<std::pair<std::string, engine::Nanos>>;

NanoAmounts nanos(const json::Value& list) {
  NanoAmounts out;
  if (list.is_object())
    for (const auto& [name, value] : list.as_object())
      out.emplace_back(name, bridge::nanos_of(*api::Quantity::from_json(value)));
  return out;
}
// In one writing, without zeros.
json::Value quantities(const NanoAmounts& list) {
  json::Value out = json::Value::object();
  for (const auto& [name, amount] : list)
    if (amount != 0) out[name] = bridge::quantity_of_nanos(amount).to_string();
  return out;
}
json::Value quantities(const json::Value& list) { return quantities(nanos(list)); }

NanoAmounts sum_of(const engine::AfsUsage& usage) {
  std::map<std::string, engine::Nanos> sum;
  for (const auto& [key, penalty] : usage.penalties)
    for (const auto& [name, amount] : penalty) sum[name] += amount;
  return {sum.begin(), sum.end()};
}

engine::Settings settings_of(Duration half_life, Duration interval, const json::Value& weights) {
  engine::Settings settings;
  engine::AdmissionFairSharing& afs = settings.admission_fair_sharing.emplace();
  afs.half_life = half_life;
  afs.sampling_interval = interval;
  if (weights.is_object())
    for (const auto& [name, weight] : weights.as_object())
      afs.resource_weights.emplace_back(name, weight.as_double());
  return settings;
}

constexpr Duration kAtOnce{1};  // a half-life so short that a penalty is what was asked for

// An engine with one LocalQueue and workloads in it.
class Books {
 public:
  Books(const json::Value& test, const engine::Settings& settings, engine::Key local,
        double weight = 1)
      : told_(test, settings), local_(std::move(local)) {
    engine::ClusterQueue queue;
    queue.name = "cq";
    queue.usage_based_fairness = true;
    told_.state().apply(engine::ClusterQueueChanged{queue});
    engine::LocalQueue lq;
    lq.key = local_;
    lq.cluster_queue = "cq";
    lq.fair_weight = weight;
    told_.state().apply(engine::LocalQueueChanged{lq});
  }

  engine::WorkloadId workload(const std::string& name,
                              std::optional<engine::Admission> admission = {}) {
    auto w = std::make_shared<engine::Workload>();
    w->key = {local_.namespace_, name};
    w->queue_name = local_.name;
    if (admission) {
      w->conditions.push_back({engine::ConditionType::kQuotaReserved,
                               engine::ConditionStatus::kTrue,
                               "QuotaReserved",
                               "",
                               {}});
      w->conditions.push_back(
          {engine::ConditionType::kAdmitted, engine::ConditionStatus::kTrue, "Admitted", "", {}});
      engine::PodSet set;
      set.name = "main";
      set.count = 1;
      set.pod = std::make_shared<engine::PodTemplate>();
      w->pod_sets.push_back(set);
      w->admission = std::move(admission);
    }
    told_.state().apply(engine::WorkloadChanged{w});
    return world().find(w->key);
  }
  void penalize(const std::string& name, const json::Value& penalty) {
    engine::ResourceList list;
    if (penalty.is_object())
      for (const auto& [resource, value] : penalty.as_object())
        world().names.add(
            list, world().names.resource(resource),
            Amount(bridge::internal_amount(resource, *api::Quantity::from_json(value))));
    engine::push_penalty(world(), workload(name), world().find_queue("cq"), list);
  }
  engine::AfsUsage usage() { return told_.state().afs_usage(local_); }
  engine::State& state() { return told_.state(); }
  engine::World& world() { return told_.state().world(); }
  const engine::Key& local() const { return local_; }

 private:
  Told told_;
  engine::Key local_;
};

json::Value entry_json(const engine::AfsUsage& usage) {
  json::Value records = json::Value::object();
  for (const auto& [key, penalty] : usage.penalties) records[key.name] = quantities(penalty);
  return json::Value::object({{"consumed", quantities(usage.consumed)},
                              {"lastUpdate", usage.known ? format_time(usage.last_update) : ""},
                              {"penaltyRecords", records},
                              {"pendingPenalty", quantities(sum_of(usage))}});
}
// Workloads by name: ours stand in the namespace of their LocalQueue.
json::Value entry_json(const json::Value& given) {
  json::Value records = json::Value::object();
  if (const json::Value& list = at(given, {"penaltyRecords"}); list.is_object())
    for (const auto& [key, penalty] : list.as_object())
      records[key_of(key).name] = quantities(penalty);
  return json::Value::object({{"consumed", quantities(at(given, {"consumed"}))},
                              {"lastUpdate", given.get_string({"lastUpdate"})},
                              {"penaltyRecords", records},
                              {"pendingPenalty", quantities(at(given, {"pendingPenalty"}))}});
}

Differences bookkeeping(const json::Value& test) {
  const json::Array& steps = items(at(test, {"steps"}));
  if (steps.empty()) return {"no steps"};
  Books books(test, settings_of(kAtOnce, Duration::seconds(300), {}),
              key_of(steps[0].get_string({"args", "lqKey"})));
  engine::AfsUsage kept;  // as it was looked at last
  Differences out;
  for (const json::Value& step : steps) {
    const std::string_view call = step.get_string({"call"});
    const std::string name = key_of(step.get_string({"args", "wlKey"})).name;
    const json::Value& wanted = at(step, {"expect", "result"});
    auto check = [&](const json::Value& theirs, const json::Value& ours) {
      differ(out, std::string(call), pruned(theirs), pruned(ours));
    };
    if (call.ends_with(".PushPenalty")) {
      if (auto now = parse_time(step.get_string({"args", "now"})); now.ok())
        books.state().apply(engine::TimePassed{*now});
      books.penalize(name, at(step, {"args", "penalty"}));
    } else if (call.ends_with(".SubPenalty")) {
      NanoAmounts removed;
      for (const auto& [key, penalty] : books.usage().penalties)
        if (key.name == name) removed = penalty;
      engine::forget_penalty(books.world(), books.workload(name));
      for (const auto& [key, penalty] : books.usage().penalties)
        if (key.name == name) out.push_back("the penalty is still there");
      check(quantities(wanted), quantities(removed));
    } else if (call.ends_with("Ledger.Get")) {
      kept = books.usage();
      check(at(step, {"expect", "result1"}), kept.known);
      check(entry_json(wanted), entry_json(kept));
    } else if (call.ends_with(".HasPendingPenalty")) {
      check(wanted, !sum_of(books.usage()).empty());
    } else if (call.ends_with(".PeekPenalty")) {
      check(quantities(wanted), quantities(sum_of(books.usage())));
    } else if (call.ends_with("Entry.PendingPenalty")) {
      check(quantities(wanted), quantities(sum_of(kept)));
    } else if (call.ends_with("Entry.HasPenaltyRecord")) {
      bool has = false;
      for (const auto& [key, penalty] : kept.penalties) has = has || key.name == name;
      check(wanted, has);
    } else {
      out.push_back("nobody judges " + std::string(call));
    }
  }
  return out;
}

// A sample after `elapsed`, while an admitted workload uses newUsage.
Differences decayed(const json::Value& step) {
  const json::Value& args = at(step, {"args"});
  auto seconds = [&](const char* name) {
    return Duration{static_cast<int64_t>(number(at(args, {name})) * 1e9)};
  };
  Books books(step, settings_of(seconds("halfLifeTime"), seconds("elapsed"), {}), {"ns", "lq"});
  const Instant start = *parse_time("2026-01-01T00:00:00Z");
  engine::Admission admission{"cq", {}};
  engine::PodSetAssignment& set = admission.pod_sets.emplace_back();
  set.name = "main";
  set.count = 1;
  if (const json::Value& usage = at(args, {"newUsage"}); usage.is_object())
    for (const auto& [name, value] : usage.as_object()) {
      set.flavors.emplace_back(name, "f");
      set.usage.emplace_back(name, bridge::internal_amount(name, *api::Quantity::from_json(value)));
    }
  books.workload("w", admission);
  books.state().apply(engine::ConsumedUsage{books.local(), nanos(at(args, {"oldUsage"})), start});
  books.state().apply(engine::SampleUsage{books.local(), start + seconds("elapsed")});
  Differences out;
  differ(out, "consumed", quantities(at(step, {"expect", "result"})),
         quantities(books.usage().consumed));
  return out;
}

Differences decayed_steps(const json::Value& test) {
  Differences out;
  for (const json::Value& step : steps_of(test)) {
    Differences more = decayed(step);
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

Differences entry_penalty(const json::Value& test) {
  const json::Value& afs = argument(test, "afs");
  Books books(test,
              settings_of(*parse_duration(afs.get_string({"usageHalfLifeTime"}, "0s")),
                          *parse_duration(afs.get_string({"usageSamplingInterval"}, "0s")), {}),
              {"ns", "lq"});
  books.penalize("w", argument(test, "totalRequests"));
  return compared(quantities(at(test, {"expect", "result"})), quantities(sum_of(books.usage())));
}

Differences compared_usage(const json::Value& wanted, double ours) {
  return compared(wanted, std::isinf(ours) ? json::Value("+Inf") : json::Value(ours));
}

Differences usage(const json::Value& test) {
  const double weight =
      argument(test, "lqWeight").is_number() ? argument(test, "lqWeight").as_double() : 1.0;
  Books books(test, settings_of(kAtOnce, Duration::seconds(300), argument(test, "resWeights")),
              {"ns", "lq"}, weight);
  books.state().apply(
      engine::ConsumedUsage{books.local(), nanos(argument(test, "consumed")), Instant()});
  books.penalize("w", argument(test, "penalty"));
  return compared_usage(at(test, {"expect", "result"}), books.usage().value);
}

}  // namespace

void add_ledger_judges(Judges& judges) {
  judges.add("function queue-afs", bookkeeping);
  judges.add("function admissionfairsharing.CalculateDecayedConsumed", decayed_steps);
  for (const char* subject : {"accumulates-sub-milli", "converges-to-usage"})
    judges.add(
        "function util-admissionfairsharing/calculate-decayed-consumed-" + std::string(subject),
        decayed_steps);
  judges.add("function admissionfairsharing.CalculateEntryPenalty", entry_penalty);
  judges.add("function admissionfairsharing.CalculateUsage", usage);
}

}  // namespace kueue::vectors
