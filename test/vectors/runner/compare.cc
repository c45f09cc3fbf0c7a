// Comparing what a step did with what the vector expects (vectors/README.md 4 and 6).
#include <algorithm>
#include <cmath>
#include <functional>

#include "bridge/quantities.h"
#include "json/json.h"
#include "replay.h"
#include "schema/codec.h"

namespace kueue::vectors {
namespace {

void sort_by_text(json::Array& list) {
  std::sort(list.begin(), list.end(), [](const json::Value& a, const json::Value& b) {
    return json::write_sorted(a) < json::write_sorted(b);
  });
}

json::Value status_json(const api::v1beta2::WorkloadStatus& status) {
  json::Value out = pruned(schema::encode(status));
  if (json::Value* conditions = out.find("conditions")) {
    std::sort(conditions->as_array().begin(), conditions->as_array().end(),
              [](const json::Value& a, const json::Value& b) {
                return a.get_string({"type"}) < b.get_string({"type"});
              });
  }
  return out;
}

// "*" in a message of the expectation stands for any text.
void apply_wildcards(json::Value& expected, const json::Value& actual) {
  json::Value* theirs = expected.find("conditions");
  const json::Value* ours = actual.find("conditions");
  if (theirs == nullptr || ours == nullptr) return;
  for (json::Value& t : theirs->as_array())
    for (const json::Value& o : ours->as_array()) {
      if (t.get_string({"type"}) != o.get_string({"type"})) continue;
      if (t.get_string({"message"}) == "*") t["message"] = *o.find("message");
      // Some failures name no reason in the reference, and the API would refuse that. Ours always
      // name one.
      if (t.get_string({"reason"}).empty()) t["reason"] = *o.find("reason");
    }
}

json::Value keys_json(const std::vector<engine::Key>& keys) {
  json::Array out;
  for (const engine::Key& key : keys) out.emplace_back(key.text());
  return out;
}

json::Value by_queue_json(
    const std::vector<std::pair<std::string, std::vector<engine::Key>>>& lists) {
  json::Value out = json::Value::object();
  for (const auto& [queue, keys] : lists) out[queue] = keys_json(keys);
  return out;
}

void differ(Differences& out, int64_t step, const std::string& what, const json::Value& expected,
            const json::Value& actual) {
  vectors::differ(out, "step " + std::to_string(step) + " " + what, expected, actual);
}

}  // namespace

void CycleReplay::compare(const json::Value& expected, Differences& out) {
  compare_cycle(expected, out);
  compare_statuses(expected, out);
  compare_queues(expected, out);
  compare_usage(expected, out);
  compare_afs(expected, out);
}

json::Value CycleReplay::events_json() const {
  json::Array list;
  for (const json::Value& e : log_.events) list.push_back(e);
  sort_by_text(list);
  return list;
}

void CycleReplay::compare_statuses(const json::Value& expected, Differences& out) {
  std::map<std::string, json::Value> theirs, ours;
  if (const json::Value* list = expected.find("workloads")) {
    for (const json::Value& entry : list->as_array()) {
      Result<api::v1beta2::WorkloadStatus> status =
          schema::decode<api::v1beta2::WorkloadStatus>(*entry.find("status"));
      theirs[std::string(entry.get_string({"ref"}))] =
          status.ok() ? status_json(*status) : json::Value(status.error().message);
    }
  }
  for (const auto& [key, w] : workloads_) {
    auto it = before_.find(key);
    if (step_ < 0 ||
        (it != before_.end() && it->second == w.status && !theirs.contains(key.text())))
      continue;
    ours[key.text()] = status_json(w.status);
  }
  for (auto& [ref, status] : theirs) {
    auto it = ours.find(ref);
    json::Value actual = it == ours.end() ? json::Value("unchanged") : it->second;
    apply_wildcards(status, actual);
    if (!(status == actual)) differ(out, step_, "status of " + ref, status, actual);
  }
  for (const auto& [ref, status] : ours)
    if (!theirs.contains(ref)) differ(out, step_, "status of " + ref, "unchanged", status);
  json::Array events;
  if (const json::Value* list = expected.find("events")) {
    for (json::Value e : list->as_array()) {
      if (e.find("message") == nullptr) e["message"] = "";
      events.push_back(std::move(e));
    }
  }
  json::Value actual = events_json();
  for (json::Value& e : events)
    if (e.get_string({"reason"}).empty())
      for (const json::Value& o : actual.as_array())
        if (o.get_string({"ref"}) == e.get_string({"ref"}) &&
            o.get_string({"message"}) == e.get_string({"message"}))
          e["reason"] = *o.find("reason");
  for (json::Value& e : events)
    if (e.get_string({"message"}) == "*")
      for (const json::Value& o : actual.as_array())
        if (o.get_string({"ref"}) == e.get_string({"ref"}) &&
            o.get_string({"reason"}) == e.get_string({"reason"}))
          e["message"] = *o.find("message");
  sort_by_text(events);
  if (!(json::Value(events) == actual)) differ(out, step_, "events", events, actual);
}

// The reference shows what its snapshot holds, and that leaves inactive ClusterQueues out.
void CycleReplay::drop_inactive(json::Value& by_queue, const std::string& prefix) const {
  for (const auto& [name, member] : json::Object(by_queue.as_object()))
    if (name.starts_with(prefix) && name.find("cohort/") != 0 &&
        !state_->cluster_queue_activity(name.substr(prefix.size())).active)
      by_queue.as_object().erase(name);
}

void CycleReplay::compare_queues(const json::Value& expected, Differences& out) {
  json::Value sticky = json::Value::object();
  for (const auto& [queue, key] : state_->sticky_by_queue()) sticky[queue] = key.text();
  json::Value actual = pruned(
      json::Value::object({{"active", by_queue_json(state_->active_by_queue())},
                           {"inadmissible", by_queue_json(state_->inadmissible_by_queue())},
                           {"sticky", sticky},
                           {"secondPass", keys_json(state_->second_pass_ready())},
                           {"secondPassWaiting", keys_json(state_->second_pass_waiting())}}));
  if (const json::Value* queues = expected.find("queues")) last_queues_ = pruned(*queues);
  if (last_queues_.is_null()) last_queues_ = json::Value::object();
  if (!(last_queues_ == actual)) differ(out, step_, "queues", last_queues_, actual);
  json::Value reserved = pruned(by_queue_json(state_->reserved_by_queue()));
  drop_inactive(reserved, "");
  if (const json::Value* r = expected.find("reserved")) last_reserved_ = pruned(*r);
  if (last_reserved_.is_null()) last_reserved_ = json::Value::object();
  if (!(last_reserved_ == reserved)) differ(out, step_, "reserved", last_reserved_, reserved);
}

void CycleReplay::compare_usage(const json::Value& expected, Differences& out) {
  json::Value actual = json::Value::object();
  for (const auto& [node, entries] : state_->tree_usage())
    for (const auto& [fr, amount] : entries) actual[node][fr] = amount.value();
  drop_inactive(actual, "clusterQueue/");
  if (const json::Value* usage = expected.find("usage")) last_usage_ = pruned(*usage);
  if (last_usage_.is_null()) last_usage_ = json::Value::object();
  if (!(last_usage_ == actual)) differ(out, step_, "usage", last_usage_, actual);
}

void CycleReplay::compare_cycle(const json::Value& expected, Differences& out) {
  if (const json::Value* speed = expected.find("speed"); speed != nullptr && log_.keep_going) {
    const char* actual = *log_.keep_going ? "keepGoing" : "slowDown";
    if (speed->as_string() != actual) differ(out, step_, "speed", *speed, actual);
  }
  std::map<std::string, const json::Value*> theirs;
  if (const json::Value* list = expected.find("decisions"))
    for (const json::Value& d : list->as_array())
      theirs[std::string(d.get_string({"workload"}))] = &d;
  for (const engine::Decision& d : log_.decisions) {
    auto it = theirs.find(d.key.text());
    if (it == theirs.end()) {
      differ(out, step_, "decision about " + d.key.text(), nullptr, d.message);
      continue;
    }
    json::Array targets;
    for (const engine::Target& t : d.targets)
      targets.push_back(pruned(json::Value::object(
          {{"workload", t.key.text()}, {"reason", engine::preempt_reason_text(t.reason)}})));
    json::Value ours =
        json::Value::object({{"mode", d.nominated ? engine::fit_mode_text(d.mode) : ""},
                             {"status", engine::entry_status_text(d.status)},
                             {"requeueReason", engine::requeue_reason_text(d.requeue)},
                             {"borrow", d.borrow},
                             {"targets", targets}});
    json::Value wanted = json::Value::object();
    for (const char* field : {"mode", "status", "requeueReason", "borrow", "targets"})
      if (const json::Value* v = it->second->find(field)) wanted[field] = *v;
    if (d.status == engine::EntryStatus::kAssumed) {
      ours.erase_path({"requeueReason"});
      wanted.erase_path({"requeueReason"});
    }
    if (!(pruned(wanted) == pruned(ours)))
      differ(out, step_, "decision about " + d.key.text(), pruned(wanted), pruned(ours));
    theirs.erase(it);
  }
  for (const auto& [ref, d] : theirs) differ(out, step_, "decision about " + ref, *d, nullptr);
  json::Value skips = json::Value::object(), recomputations = json::Value::object();
  for (const auto& [queue, count] : log_.skips) skips[queue] = count;
  for (const auto& [queue, result] : log_.recomputations) {
    std::string name = queue + "/" + engine::recompute_result_text(result);
    recomputations[name] = recomputations[name].int_or(0) + 1;
  }
  const json::Value* metrics = expected.find("metrics");
  auto wanted = [&](const char* name) {
    const json::Value* v = metrics == nullptr ? nullptr : metrics->find(name);
    return v == nullptr ? json::Value::object() : pruned(*v);
  };
  if (log_.keep_going && !(wanted("preemptionSkips") == skips))
    differ(out, step_, "skips", wanted("preemptionSkips"), skips);
  if (log_.keep_going && !(wanted("targetRecomputations") == recomputations))
    differ(out, step_, "recomputations", wanted("targetRecomputations"), recomputations);
}

void CycleReplay::compare_afs(const json::Value& expected, Differences& out) {
  if (!state_->settings().admission_fair_sharing) return;
  if (const json::Value* afs = expected.find("afs")) last_afs_ = *afs;
  if (last_afs_.is_null()) return;
  auto resources = [](const json::Value* given) {
    json::Value v = json::Value::object();
    if (given != nullptr)
      for (const auto& [name, quantity] : given->as_object())
        if (!api::Quantity::from_json(quantity)->is_zero())
          v[name] = api::Quantity::from_json(quantity)->to_string();
    return v;
  };
  auto nanos = [](const std::vector<std::pair<std::string, engine::Nanos>>& list) {
    json::Value v = json::Value::object();
    for (const auto& [name, amount] : list)
      if (amount != 0) v[name] = quantity_of_nanos(amount).to_string();
    return v;
  };
  for (const auto& [ref, account] : last_afs_.as_object()) {
    size_t slash = ref.find('/');
    engine::AfsUsage usage = state_->afs_usage({ref.substr(0, slash), ref.substr(slash + 1)});
    json::Value theirs = json::Value::object(
        {{"consumed", resources(account.find("consumed"))},
         {"lastUpdate", format_time(*parse_time(account.get_string({"lastUpdate"})))}});
    json::Value penalties = json::Value::object();
    if (const json::Value* list = account.find("penalties"))
      for (const auto& [wl, penalty] : list->as_object()) penalties[wl] = resources(&penalty);
    theirs["penalties"] = penalties;
    json::Value ours = json::Value::object(
        {{"consumed", nanos(usage.consumed)}, {"lastUpdate", format_time(usage.last_update)}});
    json::Value own_penalties = json::Value::object();
    for (const auto& [key, penalty] : usage.penalties) own_penalties[key.text()] = nanos(penalty);
    ours["penalties"] = own_penalties;
    // By value: canonical texts of equal amounts may carry another suffix. What was consumed is a
    // product with a power of a half, whose last bit depends on the math library.
    auto close = [](const api::Quantity& p, const api::Quantity& q) {
      double a = p.as_double(), b = q.as_double();
      return std::abs(a - b) <= 1e-14 * std::abs(a);
    };
    auto same = [&](const json::Value& a, const json::Value& b) {
      std::function<bool(const json::Value&, const json::Value&, bool)> equal =
          [&](const json::Value& x, const json::Value& y, bool product) {
            if (x.is_string() && y.is_string()) {
              if (x == y) return true;
              auto p = api::Quantity::parse(x.as_string()), q = api::Quantity::parse(y.as_string());
              return p.ok() && q.ok() && (*p == *q || (product && close(*p, *q)));
            }
            if (!x.is_object() || !y.is_object() || x.as_object().size() != y.as_object().size())
              return false;
            for (const auto& [name, member] : x.as_object())
              if (y.find(name) == nullptr ||
                  !equal(member, *y.find(name), product || name == "consumed"))
                return false;
            return true;
          };
      return equal(a, b, false);
    };
    if (!same(theirs, ours)) differ(out, step_, "afs of " + ref, theirs, ours);
  }
}

}  // namespace kueue::vectors
