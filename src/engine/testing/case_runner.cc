#include "engine/testing/case_runner.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "engine/explain/quantity_text.h"
#include "engine/testing/case_words.h"

namespace kueue::engine::testing {
namespace {

std::string amounts_text(const ResourceAmounts& amounts) {
  std::string out;
  for (const auto& [resource, amount] : amounts)
    out += " " + resource + "=" + quantity_text(resource, Amount(amount));
  return out.empty() ? " nothing" : out;
}

std::string usage_text(const std::vector<FlavorUsage>& usage) {
  std::string out;
  for (const FlavorUsage& flavor : usage)
    for (const ResourceUsage& r : flavor.resources) {
      if (r.total.is_zero()) continue;
      out += " " + flavor.flavor + "/" + r.resource + "=" + quantity_text(r.resource, r.total);
      if (!r.borrowed.is_zero()) out += " (" + quantity_text(r.resource, r.borrowed) + " borrowed)";
    }
  return out.empty() ? " nothing" : out;
}

std::string keys_text(const std::vector<Key>& keys) {
  std::string out;
  for (const Key& key : keys) out += " " + key.name;
  return out.empty() ? " -" : out;
}

std::string names_text(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += " " + name;
  return out.empty() ? " -" : out;
}

std::string number_text(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string pod_set_text(const PodSetAssignment& ps, bool named) {
  std::string out = named ? " " + ps.name + " " : " ";
  out += std::to_string(ps.count.value_or(0)) + " pods";
  for (const auto& [resource, flavor] : ps.flavors) out += ", " + resource + " from " + flavor;
  if (ps.delayed == DelayedTopology::kPending) out += ", places later";
  if (!ps.topology) return out;
  out += ", on";
  for (const TopologyDomain& domain : ps.topology->domains) {
    out += " ";
    for (size_t i = 0; i < domain.values.size(); ++i) out += (i == 0 ? "" : "/") + domain.values[i];
    out += ":" + std::to_string(domain.count);
  }
  return out;
}

std::string admit_text(const Admit& a, bool details) {
  std::string out = "  admit " + a.key.name + ":";
  bool named = a.admission->pod_sets.size() > 1;
  for (size_t i = 0; i < a.admission->pod_sets.size(); ++i)
    out += (i == 0 ? "" : ";") + pod_set_text(a.admission->pod_sets[i], named);
  if (a.second_pass) out += " (second pass)";
  if (!a.admitted) out += " (reserved only)";
  if (a.replaced_slice) out += " (replaces " + a.replaced_slice->name + ")";
  if (!a.cluster_name.empty()) out += " (on cluster " + a.cluster_name + ")";
  out += "\n";
  if (!details) return out;
  for (const PodSetAssignment& ps : a.admission->pod_sets)
    out += "    charges" + (named ? " for " + ps.name : "") + amounts_text(ps.usage) + "\n";
  if (!a.flavors_considered.empty()) out += "    considered " + a.flavors_considered + "\n";
  return out;
}

std::string evict_text(const Evict& e, bool details) {
  std::string reason = e.reason == EvictReason::kPreempted ? preempt_reason_text(e.preempt_reason)
                                                           : evict_reason_text(e.reason);
  std::string out = "  evict " + e.key.name + " (" + reason + ")";
  if (e.preemptor) out += " for " + e.preemptor->key.name;
  out += "\n";
  if (!details) return out;
  out += "    " + e.message + "\n";
  if (!e.priorities.empty()) out += "    " + e.priorities + "\n";
  return out;
}

std::string pending_text(const SetPending& p, bool details) {
  if (p.second_pass_failed) return "  second pass of " + p.key.name + " failed\n";
  std::string out;
  if (p.blocked_on_gates) out += "  " + p.key.name + " is blocked on preemption gates\n";
  if (!p.write) out += "  " + p.key.name + ": no status\n";
  if (!details) return out;
  out += "  pending " + p.key.name + " requests";
  for (const auto& [name, amounts] : p.resource_requests)
    out += (p.resource_requests.size() > 1 ? " " + name + ":" : "") + amounts_text(amounts);
  return out + "\n";
}

std::string decision_text(const Decision& d) {
  std::string out = "  " + d.key.name + " in " + d.cluster_queue + ": " +
                    (d.nominated ? fit_mode_text(d.mode) : "rejected");
  if (*entry_status_text(d.status)) out += std::string(", ") + entry_status_text(d.status);
  if (d.borrow > 0) out += ", borrows at height " + std::to_string(d.borrow);
  if (!d.message.empty()) out += std::string("\n    ") + reason_text(d.pending) + ": " + d.message;
  return out + "\n";
}

std::string attempts_text(const Decision& d) {
  std::string out;
  for (const PodSetExplanation& ps : d.pod_sets)
    for (const FlavorAttempt& a : ps.flavors) {
      out += "    " + ps.pod_set + " in " + a.flavor + ": " + preempt_mode_text(a.mode);
      if (a.borrow > 0) out += ", borrows at height " + std::to_string(a.borrow);
      for (const Reason& reason : a.reasons) out += "; " + render(reason);
      out += "\n";
    }
  return out;
}

}  // namespace

std::string plan_text(const Plan& plan, bool details) {
  std::string out;
  for (const Decision& d : plan.why.decisions) {
    out += decision_text(d);
    if (details) out += attempts_text(d);
  }
  for (const Command& c : plan.commands) {
    if (const auto* a = std::get_if<Admit>(&c)) out += admit_text(*a, details);
    if (const auto* e = std::get_if<Evict>(&c)) out += evict_text(*e, details);
    if (const auto* p = std::get_if<SetPending>(&c)) out += pending_text(*p, details);
  }
  if (!details) return out;
  for (const auto& [queue, count] : plan.why.preemption_skips)
    out += "  skipped in " + queue + ": " + std::to_string(count) + "\n";
  for (const auto& [queue, result] : plan.why.recomputations)
    out += "  recomputed in " + queue + ": " + recompute_result_text(result) + "\n";
  return out;
}

std::string state_text(const State& state) {
  std::string out;
  auto lists = [&](const char* title, const auto& by_queue) {
    for (const auto& [queue, keys] : by_queue)
      out += std::string(title) + " " + queue + ":" + keys_text(keys) + "\n";
  };
  lists("active", state.active_by_queue());
  lists("inadmissible", state.inadmissible_by_queue());
  lists("reserved", state.reserved_by_queue());
  for (const auto& [queue, key] : state.sticky_by_queue())
    out += "sticky " + queue + ": " + key.name + "\n";
  for (const auto& [node, entries] : state.tree_usage()) {
    out += "usage " + node + ":";
    for (const auto& [fr, amount] : entries) out += " " + fr + "=" + std::to_string(amount.value());
    out += "\n";
  }
  out += "second pass ready:" + keys_text(state.second_pass_ready()) +
         " waiting:" + keys_text(state.second_pass_waiting()) + "\n";
  return out;
}

namespace {

class Runner {
 public:
  explicit Runner(const std::vector<CaseLine>& lines)
      : lines_(lines), state_(settings_of(lines, errors_)) {
    state_.apply(TimePassed{script_.now()});
    state_.apply(NamespaceChanged{"ns", {}});
  }

  CaseResult run() {
    for (const CaseLine& line : lines_) {
      if (CaseScript::is_event(line)) {
        for (const Event& event : script_.events(line)) state_.apply(event);
      } else {
        act(line);
      }
      state_.check_invariants();
    }
    errors_.insert(errors_.end(), script_.errors().begin(), script_.errors().end());
    return {std::move(out_), std::move(errors_)};
  }

 private:
  void act(const CaseLine& line) {
    static const std::set<std::string> kSettings = {"gate", "fair", "afs", "settings"};
    bool details =
        line.name() == "details" || (line.words.size() > 1 && line.words[1] == "details");
    if (line.verb == "cycle") return cycle(line.name() == "every", details);
    if (line.verb == "drain") {
      for (int i = 0; i < 50 && state_.has_work(); ++i) cycle(false, details);
      return;
    }
    if (line.verb == "show") return show(line);
    if (!kSettings.contains(line.verb)) errors_.push_back("unknown verb " + line.verb);
  }

  void cycle(bool every, bool details) {
    if (!every && !state_.has_work()) {
      out_ += "cycle: nothing to do\n";
      return;
    }
    out_ += "cycle\n";
    Plan p = plan(state_, {.now = script_.now(), .every_head = every});
    script_.remember(p);
    out_ += plan_text(p, details);
  }

  void show(const CaseLine& line) {
    const std::string what = line.name();
    const std::string name = line.words.size() > 1 ? line.words[1] : "";
    out_ += line.text.substr(5) + ":";
    Key key{line.get("ns", "ns"), name};
    if (what == "queue") {
      ClusterQueueStatus s = state_.cluster_queue_status(name);
      out_ += " " + std::to_string(s.pending_active) + " active, " +
              std::to_string(s.pending_inadmissible) + " inadmissible, " +
              std::to_string(s.reserving) + " reserving, " + std::to_string(s.admitted) +
              " admitted\n  reserves" + usage_text(s.reservation) + "\n  uses" +
              usage_text(s.usage) + "\n";
    } else if (what == "local") {
      LocalQueueStatus s = state_.local_queue_status(key);
      out_ += " " + std::to_string(s.pending) + " pending, " + std::to_string(s.reserving) +
              " reserving, " + std::to_string(s.admitted) + " admitted\n  reserves" +
              usage_text(s.reservation) + "\n  uses" + usage_text(s.usage) + "\n";
    } else if (what == "share") {
      CohortStatus c = state_.cohort_status(name);
      out_ += " " +
              std::to_string(c.known ? c.weighted_share
                                     : state_.cluster_queue_status(name).weighted_share) +
              "\n";
    } else if (what == "activity") {
      QueueActivity a = state_.cluster_queue_activity(name);
      out_ += a.known ? std::string(a.active ? " active, " : " inactive, ") + a.reason + ": " +
                            a.message + "\n"
                      : " unknown\n";
    } else if (what == "order") {
      std::vector<Key> keys;
      for (const PendingWorkload& w : state_.pending(name)) keys.push_back(w.key);
      out_ += keys_text(keys) + "\n";
    } else if (what == "checks") {
      auto w = script_.workload(name);
      out_ += w ? names_text(state_.required_checks(*w)) + "\n" : " unknown\n";
    } else if (what == "place") {
      static const char* const kPlaces[] = {"nowhere", "active", "inadmissible", "reserved"};
      out_ += std::string(" ") + kPlaces[static_cast<size_t>(state_.place(key))];
      if (auto reason = state_.bypass_reason(key))
        out_ += std::string(", like another: ") + reason_text(*reason);
      out_ += "\n";
    } else if (what == "next") {
      auto next = state_.next_wakeup();
      out_ += next ? " " + number_text(static_cast<double>(next->ns) / 1e9) + "\n" : " never\n";
    } else if (what == "afs") {
      show_afs(key);
    } else if (what == "state") {
      out_ += "\n" + state_text(state_);
    } else {
      errors_.push_back("show what? " + what);
    }
  }

  void show_afs(const Key& key) {
    AfsUsage afs = state_.afs_usage(key);
    if (!afs.known) {
      out_ += " nothing\n";
      return;
    }
    auto list = [](const std::vector<std::pair<std::string, Nanos>>& amounts) {
      std::string text;
      for (const auto& [resource, amount] : amounts)
        text += " " + resource + "=" + number_text(static_cast<double>(amount) / 1e9);
      return text.empty() ? " nothing" : text;
    };
    out_ += " consumed" + list(afs.consumed);
    for (const auto& [workload, penalty] : afs.penalties)
      out_ += ", penalty of " + workload.name + list(penalty);
    out_ += "\n";
  }

  const std::vector<CaseLine>& lines_;
  std::vector<std::string> errors_;
  CaseScript script_;
  State state_;
  std::string out_;
};

}  // namespace

CaseResult run_case(const std::string& world) { return Runner(parse_case(world)).run(); }

}  // namespace kueue::engine::testing
