// Judges of cases about waiting workloads: queues are filled call by call, our engine by the same
// objects as events.
#include <algorithm>

#include "bridge/quantities.h"
#include "engine/queue/digest.h"
#include "engine/queue/queueing.h"
#include "engine/world.h"
#include "judge.h"
#include "replay.h"
#include "told.h"

namespace kueue::vectors {
namespace {

engine::RequeueReason requeue_reason(std::string_view text) {
  for (int i = 0; i <= static_cast<int>(engine::RequeueReason::kPreemptionNoCandidates); ++i)
    if (text == engine::requeue_reason_text(static_cast<engine::RequeueReason>(i)))
      return static_cast<engine::RequeueReason>(i);
  return engine::RequeueReason::kGeneric;
}
// "" = no rule named one: it will be looked at again.
engine::PendingReason pending_reason(std::string_view text) {
  for (int i = 1; i <= static_cast<int>(engine::PendingReason::kAdmissionGated); ++i)
    if (text == engine::reason_text(static_cast<engine::PendingReason>(i)))
      return static_cast<engine::PendingReason>(i);
  return engine::PendingReason::kPendingEvaluation;
}

engine::Settings settings_of(const json::Value& test) {
  engine::Settings settings;
  const json::Value& afs = at(test, {"input", "raw", "afsConfig"});
  if (!afs.is_object() && !test.get_bool({"featureGates", "AdmissionFairSharing"})) return settings;
  engine::AdmissionFairSharing& to = settings.admission_fair_sharing.emplace();
  to.half_life = *parse_duration(afs.get_string({"usageHalfLifeTime"}, "0s"));
  to.sampling_interval = *parse_duration(afs.get_string({"usageSamplingInterval"}, "0s"));
  return settings;
}

class QueueSteps {
 public:
  explicit QueueSteps(const json::Value& test) : test_(test), told_(test, settings_of(test)) {
    const json::Value& raw = at(test, {"input", "raw"});
    if (at(raw, {"cq"}).is_object()) tell(at(raw, {"cq"}));
    for (const json::Value& lq : items(at(raw, {"lqs"}))) {
      json::Value queue = lq;
      queue["spec"]["clusterQueue"] = raw.get_string({"cq", "metadata", "name"});
      tell(queue);
    }
    if (const json::Value& consumed = at(raw, {"initConsumedResources"}); consumed.is_object())
      for (const auto& [key, amounts] : consumed.as_object()) {
        engine::ConsumedUsage usage{
            vectors::key_of(key), {}, *parse_time(test.get_string({"clock"}))};
        for (const auto& [name, value] : amounts.as_object())
          usage.consumed.emplace_back(name, bridge::nanos_of(*api::Quantity::from_json(value)));
        told_.state().apply(usage);
      }
  }

  Differences run() {
    for (const json::Value& step : items(at(test_, {"steps"}))) look(step);
    if (const json::Value& order = at(test_, {"expect", "observed", "got"}); order.is_array()) {
      json::Array heads;
      while (heads.size() < order.as_array().size()) {
        const json::Array more = take();
        if (more.empty()) break;
        heads.insert(heads.end(), more.begin(), more.end());
      }
      differ(out_, "order", order, json::Value(std::move(heads)));
    }
    return out_;
  }

 private:
  engine::World& world() { return told_.state().world(); }

  static engine::Key key_of(const json::Value& object) {
    return {std::string(object.get_string({"metadata", "namespace"})),
            std::string(object.get_string({"metadata", "name"}))};
  }

  void tell(const json::Value& object) {
    json::Value told = object;
    // In these cases the scheduler takes only queues of such names for active.
    if (object.get_string({"metadata", "name"}).starts_with("pending-"))
      told["spec"]["stopPolicy"] = "Hold";
    told_.tell(told);
  }

  // A queue of its own for what names none.
  engine::WorkloadId push(const json::Value& object) {
    json::Value workload = object;
    if (workload.get_string({"spec", "queueName"}).empty()) {
      workload["spec"]["queueName"] = "lq";
      if (told_.object("ClusterQueue", "cq").is_null())
        told_.tell(json::Value::object(
            {{"kind", "ClusterQueue"},
             {"metadata", json::Value::object({{"name", "cq"}})},
             {"spec", json::Value::object({{"namespaceSelector", json::Value::object()}})}}));
      const json::Value meta = json::Value::object(
          {{"name", "lq"}, {"namespace", object.get_string({"metadata", "namespace"})}});
      told_.tell(json::Value::object({{"kind", "LocalQueue"},
                                      {"metadata", meta},
                                      {"spec", json::Value::object({{"clusterQueue", "cq"}})}}));
    }
    told_.tell(workload);
    return world().find(key_of(workload));
  }

  json::Array take() {
    json::Array out;
    for (engine::Head& head : engine::find_heads(world(), false)) {
      engine::take_head(world(), head);
      out.emplace_back(world().object(head.id).key.text());
    }
    return out;
  }

  void look(const json::Value& step) {
    for (const json::Value& object : items(at(step, {"objects"})))
      if (object.get_string({"kind"}) == "Workload") told_.tell(object);
    std::string_view call = step.get_string({"call"});
    call.remove_prefix(call.find('.') + 1);
    const json::Value& wanted = at(step, {"expect", "result"});
    if (call == "Manager.AddClusterQueue") {
      tell(at(step, {"args", "cq"}));
    } else if (call == "Manager.AddLocalQueue") {
      tell(at(step, {"args", "q"}));
    } else if (call == "Manager.AddOrUpdateWorkload") {
      told_.tell(at(step, {"args", "w"}));
    } else if (call == "ClusterQueue.PushOrUpdate") {
      push(at(step, {"args", "wInfo", "obj"}));
    } else if (call == "ClusterQueue.Pop") {
      const json::Array heads = take();
      differ(out_, "head", json::Array{key_of(at(wanted, {"obj"})).text()}, heads);
    } else if (call == "Manager.Heads") {
      heads(wanted);
    } else if (call == "ClusterQueue.RequeueIfNotPresent" ||
               call == "ClusterQueue.requeueIfNotPresent") {
      engine::WorkloadId id = push(at(step, {"args", "wInfo", "obj"}));
      if (world().record(id).place == engine::Place::kWaiting && call[13] == 'R') take();
      engine::requeue(world(), id, requeue_reason(step.get_string({"args", "reason"})),
                      pending_reason(step.get_string({"args", "quotaReservedReason"})));
    } else if (call == "Manager.RequeueWorkload") {
      const engine::Key key = key_of(at(step, {"args", "info", "obj"}));
      const engine::WorkloadPlace before = told_.state().place(key);
      engine::requeue(world(), world().find(key),
                      requeue_reason(step.get_string({"args", "reason"})),
                      pending_reason(step.get_string({"args", "quotaReservedReason"})));
      // It was there, or may not wait: nothing came into a queue.
      differ(out_, "requeued", wanted,
             before != engine::WorkloadPlace::kActive &&
                 told_.state().place(key) == engine::WorkloadPlace::kActive);
    } else if (call == "ClusterQueue.GetNoFitReason") {
      const auto reason =
          told_.state().bypass_reason(vectors::key_of(step.get_string({"args", "wl"})));
      differ(out_, "reason", at(step, {"expect"}),
             json::Value::object({{"result", reason ? engine::reason_text(*reason) : ""},
                                  {"result1", reason.has_value()}}));
    } else if (call == "ClusterQueue.pendingResources") {
      json::Value ours = json::Value::object();
      for (const auto& [name, amount] : told_.state().cluster_queue_status("cq").pending_requests)
        ours[name] = amount;
      differ(out_, "pending", wanted, ours);
    } else if (call != "NewInfo" && call != "Requests.ResourceValue") {
      out_.push_back("nobody judges " + std::string(call));
    }
  }

  void heads(const json::Value& wanted) {
    json::Value theirs = json::Value::object(), ours = json::Value::object();
    for (const json::Value& head : items(wanted))
      theirs[key_of(at(head, {"info", "obj"})).text()] =
          json::Value::object({{"clusterQueue", head.get_string({"info", "clusterQueue"})},
                               {"isPreemptor", head.get_bool({"isPreemptor"})}});
    for (engine::Head& head : engine::find_heads(world(), false)) {
      engine::take_head(world(), head);
      const engine::WorkloadRecord& r = world().record(head.id);
      ours[r.object->key.text()] =
          json::Value::object({{"clusterQueue", world().queues[r.queue].spec.name},
                               {"isPreemptor", head.is_preemptor}});
    }
    differ(out_, "heads", theirs, ours);
  }

  const json::Value& test_;
  Told told_;
  Differences out_;
};

Differences backoff(const json::Value& test) {
  Told told(test);
  auto w = told.workload(at(test, {"input", "args", "wInfo", "obj"}));
  if (!w) return {"the workload does not decode"};
  return compared_result(test, engine::backoff_expired(told.state().world(), *w));
}

// What waits, in order; told of in the opposite one.
Differences pending(const json::Value& test) {
  Told told(test);
  const std::string queue(test.get_string({"input", "args", "cqName"}));
  told.tell(json::Value::object({{"kind", "ClusterQueue"},
                                 {"metadata", json::Value::object({{"name", queue}})},
                                 {"spec", json::Value::object()}}));
  json::Array theirs, ours;
  const json::Array& infos = items(at(test, {"expect", "result"}));
  for (auto it = infos.rbegin(); it != infos.rend(); ++it) {
    const json::Value& w = at(*it, {"obj"});
    json::Value meta =
        json::Value::object({{"name", w.get_string({"spec", "queueName"})},
                             {"namespace", w.get_string({"metadata", "namespace"})}});
    told.tell(json::Value::object({{"kind", "LocalQueue"},
                                   {"metadata", std::move(meta)},
                                   {"spec", json::Value::object({{"clusterQueue", queue}})}}));
    told.tell(w);
  }
  for (const json::Value& info : infos)
    theirs.emplace_back(info.get_string({"obj", "metadata", "name"}));
  for (const engine::PendingWorkload& w : told.state().pending(queue))
    ours.emplace_back(w.key.name);
  return compared(std::move(theirs), std::move(ours));
}

// Whether hashes agree; their values are each program's own.
Differences hashes(const json::Value& test) {
  Told told(test);
  std::vector<std::string> theirs;
  std::vector<engine::Digest> ours;
  for (const json::Value& step : items(at(test, {"steps"}))) {
    const json::Value& info = step.get_string({"call"}) == "workload.NewInfo"
                                  ? at(step, {"expect", "result"})
                                  : at(step, {"expect", "receiverAfter"});
    if (!info.is_object()) continue;
    auto w = told.workload(at(info, {"obj"}));
    if (!w) return {"the workload does not decode"};
    // What the case says that the pods ask for counts: parts of it may come from elsewhere.
    engine::Workload asking = *w;
    const json::Array& totals = items(at(info, {"totalRequests"}));
    for (size_t i = 0; i < asking.pod_sets.size() && i < totals.size(); ++i) {
      engine::PodTemplate pod = *asking.pod_sets[i].pod;
      const int64_t count = std::max<int64_t>(1, totals[i].get_int({"count"}, 1));
      pod.requests.clear();
      for (const auto& [name, amount] : members(at(totals[i], {"requests"})))
        pod.requests.emplace_back(name, amount.int_or(0) / count);
      std::sort(pod.requests.begin(), pod.requests.end());
      asking.pod_sets[i].pod = std::make_shared<engine::PodTemplate>(std::move(pod));
    }
    theirs.emplace_back(info.get_string({"schedulingHash"}));
    ours.push_back(engine::scheduling_digest(told.state().world(), asking));
  }
  Differences out;
  for (size_t i = 0; i < ours.size(); ++i)
    for (size_t j = i + 1; j < ours.size(); ++j) {
      if ((theirs[i] == theirs[j]) == (ours[i] == ours[j])) continue;
      out.push_back("hash " + std::to_string(i) + " and " + std::to_string(j) +
                    (theirs[i] == theirs[j] ? ": equal expected" : ": not equal expected"));
    }
  return out;
}

}  // namespace

void add_queue_judges(Judges& judges) {
  const Judge steps = [](const json::Value& test) { return QueueSteps(test).run(); };
  for (const char* subject : {"fs-admission", "get-no-fit-reason", "heads", "pending-resources",
                              "heads-respect-local-queue-weight-for-preexisting-workloads",
                              "requeue-workload-strict-fifo"})
    judges.add("function queue/" + std::string(subject), steps);
  judges.add("function queue.ClusterQueue.backoffWaitingTimeExpired", backoff);
  judges.add("function queue.Manager.PendingWorkloadsInfo", pending);
  judges.add("function workload/scheduling-hash", hashes);
}

}  // namespace kueue::vectors
