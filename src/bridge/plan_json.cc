// Plans as JSON and as text.
#include "bridge/snapshot_json.h"
#include "json/json.h"

namespace kueue::bridge {
namespace {

using namespace engine;

json::Value texts(const std::vector<std::string>& list) {
  json::Array out;
  for (const std::string& text : list) out.emplace_back(text);
  return json::Value(std::move(out));
}

json::Value amounts_json(const ResourceAmounts& amounts) {
  json::Value out = json::Value::object();
  for (const auto& [name, amount] : amounts) out[name] = amount;
  return out;
}

json::Value admission_json(const Admission& admission) {
  json::Array pod_sets;
  for (const PodSetAssignment& ps : admission.pod_sets) {
    json::Value one =
        json::Value::object({{"name", ps.name.str()}, {"usage", amounts_json(ps.usage)}});
    for (const auto& [resource, flavor] : ps.flavors) one["flavors"][resource] = flavor.str();
    if (ps.count) one["count"] = *ps.count;
    if (ps.delayed != DelayedTopology::kNone)
      one["delayedTopology"] = ps.delayed == DelayedTopology::kPending ? "Pending" : "Ready";
    if (ps.topology) {
      json::Array domains;
      for (const TopologyDomain& d : ps.topology->domains)
        domains.push_back(json::Value::object({{"values", texts(d.values)}, {"count", d.count}}));
      one["topology"] = json::Value::object(
          {{"levels", texts(ps.topology->levels)}, {"domains", std::move(domains)}});
    }
    pod_sets.push_back(std::move(one));
  }
  return json::Value::object(
      {{"clusterQueue", admission.cluster_queue.str()}, {"podSets", std::move(pod_sets)}});
}

json::Value command_json(const Admit& c) {
  json::Value out = json::Value::object({{"command", "Admit"},
                                         {"workload", c.key.text()},
                                         {"uid", c.uid.str()},
                                         {"admission", admission_json(*c.admission)},
                                         {"admitted", c.admitted},
                                         {"secondPass", c.second_pass}});
  if (!c.flavors_considered.empty()) out["flavorsConsidered"] = c.flavors_considered.str();
  if (c.replaced_slice) out["replacedSlice"] = c.replaced_slice->text();
  if (!c.cluster_name.empty()) out["clusterName"] = c.cluster_name.str();
  return out;
}

json::Value command_json(const Evict& c) {
  return json::Value::object(
      {{"command", "Evict"},
       {"workload", c.key.text()},
       {"uid", c.uid.str()},
       {"clusterQueue", c.cluster_queue.str()},
       {"reason", evict_reason_text(c.reason)},
       {"preemptReason", preempt_reason_text(c.preempt_reason)},
       {"message", c.message},
       {"priorities", c.priorities},
       {"preemptor", c.preemptor == nullptr ? "" : c.preemptor->key.text()}});
}

json::Value command_json(const SetPending& c) {
  json::Value out = json::Value::object({{"command", "SetPending"},
                                         {"workload", c.key.text()},
                                         {"uid", c.uid.str()},
                                         {"clusterQueue", c.cluster_queue.str()},
                                         {"reason", reason_text(c.reason)},
                                         {"message", c.message},
                                         {"write", c.write}});
  if (c.blocked_on_gates) out["blockedOnGates"] = true;
  if (c.second_pass_failed) out["secondPassFailed"] = true;
  for (const auto& [pod_set, amounts] : c.resource_requests)
    out["resourceRequests"][pod_set] = amounts_json(amounts);
  return out;
}

json::Value reasons_json(const SlimVector<Reason>& reasons) {
  json::Array out;
  for (const Reason& reason : reasons) out.emplace_back(render(reason));
  return json::Value(std::move(out));
}

json::Value decision_json(const Decision& d) {
  json::Value out = json::Value::object({{"workload", d.key.text()},
                                         {"clusterQueue", d.cluster_queue.str()},
                                         {"nominated", d.nominated},
                                         {"mode", d.nominated ? fit_mode_text(d.mode) : ""},
                                         {"borrow", d.borrow},
                                         {"status", entry_status_text(d.status)},
                                         {"requeueReason", requeue_reason_text(d.requeue)},
                                         {"reason", reason_text(d.pending)},
                                         {"message", d.message},
                                         {"isPreemptor", d.is_preemptor}});
  json::Array targets, pod_sets;
  for (const Target& t : d.targets)
    targets.push_back(json::Value::object(
        {{"workload", t.key.text()}, {"reason", preempt_reason_text(t.reason)}}));
  for (const PodSetExplanation& ps : d.pod_sets) {
    json::Array flavors;
    for (const FlavorAttempt& f : ps.flavors)
      flavors.push_back(json::Value::object({{"flavor", f.flavor.str()},
                                             {"mode", preempt_mode_text(f.mode)},
                                             {"borrow", f.borrow},
                                             {"reasons", reasons_json(f.reasons)}}));
    json::Value one = json::Value::object({{"podSet", ps.pod_set.str()},
                                           {"flavors", std::move(flavors)},
                                           {"reasons", reasons_json(ps.reasons)}});
    if (!ps.error.empty()) one["error"] = ps.error;
    pod_sets.push_back(std::move(one));
  }
  out["targets"] = std::move(targets);
  out["podSets"] = std::move(pod_sets);
  return out;
}

std::string summary(const Decision& d) {
  switch (d.status) {
    case EntryStatus::kAssumed:
      return "admitted";
    case EntryStatus::kEvicted:
      return "evicted";
    case EntryStatus::kPreemptionGated:
      return "waits for its preemption gate";
    case EntryStatus::kSkipped:
      return "skipped";
    case EntryStatus::kNominated:
    case EntryStatus::kNotNominated:
      return d.targets.empty() ? "waits" : "waits for preempted workloads";
  }
  return "";
}

}  // namespace

json::Value plan_json(const Plan& plan) {
  json::Array commands, decisions, recomputations;
  for (const Command& command : plan.commands)
    commands.push_back(std::visit([](const auto& c) { return command_json(c); }, command));
  for (const Decision& d : plan.why.decisions) decisions.push_back(decision_json(d));
  for (const auto& [queue, result] : plan.why.recomputations)
    recomputations.push_back(
        json::Value::object({{"clusterQueue", queue}, {"result", recompute_result_text(result)}}));
  json::Value skips = json::Value::object();
  for (const auto& [queue, count] : plan.why.preemption_skips) skips[queue] = count;
  return json::Value::object({{"commands", std::move(commands)},
                              {"decisions", std::move(decisions)},
                              {"preemptionSkips", std::move(skips)},
                              {"recomputations", std::move(recomputations)},
                              {"keepGoing", plan.keep_going}});
}

std::string plan_text(const Plan& plan) {
  std::string out = std::to_string(plan.why.decisions.size()) + " workloads looked at, " +
                    std::to_string(plan.commands.size()) + " commands\n";
  for (const Decision& d : plan.why.decisions) {
    out += "\n" + d.key.text() + " in " + d.cluster_queue + ": " + summary(d) + "\n";
    if (!d.message.empty())
      out += "  " + std::string(reason_text(d.pending)) + ": " + d.message + "\n";
    for (const Target& t : d.targets)
      out += "  takes the quota of " + t.key.text() + " (" + preempt_reason_text(t.reason) + ")\n";
    for (const PodSetExplanation& ps : d.pod_sets)
      for (const FlavorAttempt& f : ps.flavors) {
        out += "  pod set " + ps.pod_set + ", flavor " + f.flavor + ": " +
               preempt_mode_text(f.mode) +
               (f.borrow > 0 ? ", borrows at height " + std::to_string(f.borrow) : "") + "\n";
        for (const Reason& reason : f.reasons) out += "    " + render(reason) + "\n";
      }
    for (const Command& command : plan.commands)
      if (const auto* admit = std::get_if<Admit>(&command); admit != nullptr && admit->key == d.key)
        for (const PodSetAssignment& ps : admit->admission->pod_sets) {
          out += "  pod set " + ps.name + " gets";
          for (const auto& [resource, flavor] : ps.flavors) out += " " + resource + " of " + flavor;
          if (ps.topology)
            for (const TopologyDomain& domain : ps.topology->domains)
              out += ", " + std::to_string(domain.count) + " pods on " + domain.values.back();
          out += "\n";
        }
  }
  return out;
}

}  // namespace kueue::bridge
