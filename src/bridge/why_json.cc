// Explanations as JSON and as text.
#include "bridge/quantities.h"
#include "bridge/snapshot_json.h"

namespace kueue::bridge {
namespace {

using namespace engine;

std::string amount_text(const std::string& resource, Amount amount) {
  return amount.is_unlimited() ? "+Inf" : quantity_of(resource, amount.value()).to_string();
}

json::Value domains_json(const std::vector<DomainLook>& looks) {
  json::Array out;
  for (const DomainLook& d : looks) {
    json::Array values;
    for (const std::string& value : d.values) values.emplace_back(value);
    out.push_back(json::Value::object({{"values", std::move(values)}, {"pods", d.pods}}));
  }
  return out;
}

json::Value flavor_json(const FlavorLook& f) {
  json::Array quota, victims, levels;
  for (const QuotaLook& q : f.quota) {
    json::Array holders;
    for (const QuotaHolder& h : q.holders)
      holders.push_back(json::Value::object({{"clusterQueue", h.cluster_queue},
                                             {"used", amount_text(q.resource, h.used)},
                                             {"borrowed", amount_text(q.resource, h.borrowed)}}));
    quota.push_back(json::Value::object({{"resource", q.resource},
                                         {"requested", amount_text(q.resource, q.requested)},
                                         {"available", amount_text(q.resource, q.available)},
                                         {"capacity", amount_text(q.resource, q.capacity)},
                                         {"missing", amount_text(q.resource, q.missing)},
                                         {"holders", std::move(holders)}}));
  }
  for (const Target& t : f.preemption.victims)
    victims.push_back(json::Value::object(
        {{"workload", t.key.text()}, {"reason", preempt_reason_text(t.reason)}}));
  for (const LevelLook& level : f.levels)
    levels.push_back(
        json::Value::object({{"level", level.level}, {"domains", domains_json(level.domains)}}));
  json::Value out = json::Value::object({{"flavor", f.flavor},
                                         {"quota", std::move(quota)},
                                         {"victims", std::move(victims)},
                                         {"levels", std::move(levels)}});
  if (f.first) out["firstFailure"] = render(*f.first);
  if (!f.preemption.why_not.empty()) out["whyNoPreemption"] = f.preemption.why_not;
  return out;
}

void flavor_text(const PodSetLook& ps, const FlavorLook& f, std::string& out) {
  out += "  pod set " + ps.pod_set + ", flavor " + f.flavor + ": " +
         (f.first ? render(*f.first) : "fits") + "\n";
  for (const QuotaLook& q : f.quota) {
    out += "    " + q.resource + ": wants " + amount_text(q.resource, q.requested) + ", " +
           amount_text(q.resource, q.available) + " free of at most " +
           amount_text(q.resource, q.capacity) + "\n";
    for (const QuotaHolder& h : q.holders)
      out +=
          "      " + h.cluster_queue + " holds " + amount_text(q.resource, h.used) +
          (h.borrowed.is_zero() ? "" : ", " + amount_text(q.resource, h.borrowed) + " borrowed") +
          "\n";
  }
  for (const Target& t : f.preemption.victims)
    out += "    could take the quota of " + t.key.text() + " (" + preempt_reason_text(t.reason) +
           ")\n";
  if (!f.preemption.why_not.empty()) out += "    no preemption: " + f.preemption.why_not + "\n";
  for (const LevelLook& level : f.levels)
    for (const DomainLook& d : level.domains) {
      out += "    " + level.level + ": room for " + std::to_string(d.pods) + " pods in";
      for (const std::string& value : d.values) out += " " + value;
      out += "\n";
    }
}

}  // namespace

json::Value why_json(const Why& why) {
  json::Array pod_sets, changes;
  for (const PodSetLook& ps : why.pod_sets) {
    json::Array flavors;
    for (const FlavorLook& f : ps.flavors) flavors.push_back(flavor_json(f));
    pod_sets.push_back(json::Value::object(
        {{"podSet", ps.pod_set}, {"count", ps.count}, {"flavors", std::move(flavors)}}));
  }
  for (const std::string& change : why.changes) changes.emplace_back(change);
  return json::Value::object({{"workload", why.key.text()},
                              {"clusterQueue", why.cluster_queue},
                              {"standing", why.standing},
                              {"message", why.message},
                              {"podSets", std::move(pod_sets)},
                              {"changes", std::move(changes)}});
}

std::string why_text(const Why& why) {
  if (!why.known) return why.key.text() + " is not known\n";
  std::string out = why.key.text() + " " + why.standing + "\n";
  if (!why.message.empty()) out += "  " + why.message + "\n";
  for (const PodSetLook& ps : why.pod_sets)
    for (const FlavorLook& f : ps.flavors) flavor_text(ps, f, out);
  for (const std::string& change : why.changes) out += "  would help: " + change + "\n";
  return out;
}

}  // namespace kueue::bridge
