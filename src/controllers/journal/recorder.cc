#include "controllers/journal/recorder.h"

#include <algorithm>
#include <array>

#include "base/time.h"
#include "controllers/names.h"
#include "controllers/workload/conditions.h"

namespace kueue::controllers {
namespace {

using What = Journal::What;

std::string joined(std::string_view reason, std::string_view message) {
  std::string out(reason);
  if (!message.empty()) out += (out.empty() ? "" : ": ") + std::string(message);
  return out;
}

// Notes about the object that the store has under this name. It may leave while this is written:
// whoever sees it gone last cleans up.
void note(Journal& journal, Stores& stores, const engine::Key& key, What what, Instant now,
          std::string text, const engine::Key& other = {}) {
  const kube::ObjectKey name{key.namespace_, key.name};
  const WorkloadPointer object = stores.workloads.get(name);
  if (object == nullptr) return;
  journal.note(key, object->metadata.uid, what, now, std::move(text), other);
  if (stores.workloads.get(name) == nullptr) journal.forget(key);
}

std::string flavors_of(const engine::Admit& admit) {
  std::string out = "in ClusterQueue " + admit.admission->cluster_queue;
  for (const engine::PodSetAssignment& ps : admit.admission->pod_sets) {
    out += "; " + ps.name + ":";
    for (const auto& [resource, flavor] : ps.flavors) out += " " + resource + "=" + flavor;
    if (ps.count.has_value()) out += " for " + std::to_string(*ps.count) + " pods";
  }
  if (!admit.flavors_considered.empty()) out += "; flavors considered: " + admit.flavors_considered;
  if (admit.second_pass) out += "; second pass, the topology is new";
  return out;
}

std::string evict_text(const engine::Evict& evict) {
  return joined(evict.reason == engine::EvictReason::kPreempted
                    ? engine::preempt_reason_text(evict.preempt_reason)
                    : engine::evict_reason_text(evict.reason),
                evict.message);
}

void note_conditions(Journal& journal, const engine::Key& key, const v1beta2::Workload& old,
                     const v1beta2::Workload& now, Instant time) {
  struct Told {
    std::string_view type;
    What what;
  };
  constexpr std::array kTold = {
      Told{kQuotaReserved, What::kWaits},
      Told{kBlockedOnPreemptionGates, What::kWaits},
      Told{kEvicted, What::kEvicted},
      Told{kRequeued, What::kRequeued},
      Told{kAdmitted, What::kAdmitted},
      Told{kPodsReady, What::kPods},
      Told{kDeactivationTarget, What::kDeactivation},
      Told{kFinished, What::kFinished},
  };
  for (const Told& told : kTold) {
    const auto* after = find_condition(now, told.type);
    if (after == nullptr) continue;
    const auto* before = find_condition(old, told.type);
    if (before != nullptr && before->status == after->status && before->reason == after->reason &&
        before->message == after->message)
      continue;
    const bool on = after->status == "True";
    // Of these only one side is news: the other follows from another condition.
    const bool both = told.type == kRequeued || told.type == kPodsReady;
    const bool wanted = told.type == kQuotaReserved ? !on : on;
    if (!both && !wanted) continue;
    std::string text = joined(after->reason, after->message);
    if (both && told.type == kRequeued && !on) text = "not yet; " + text;
    journal.note(key, now.metadata.uid, told.what, time, std::move(text), {},
                 /*seen_again=*/false);
  }
}

void note_checks(Journal& journal, const engine::Key& key, const v1beta2::Workload& old,
                 const v1beta2::Workload& now, Instant time) {
  for (const v1beta2::AdmissionCheckState& check : now.status.admission_checks) {
    const auto& all = old.status.admission_checks;
    const auto before = std::find_if(all.begin(), all.end(),
                                     [&](const auto& each) { return each.name == check.name; });
    if (before != all.end() && before->state == check.state && before->message == check.message)
      continue;
    std::string text = check.name + " is " + check.state;
    if (check.state == "Retry" && check.requeue_after_seconds.has_value())
      text += " for " + std::to_string(*check.requeue_after_seconds) +
              " s, the quota stays reserved meanwhile";
    journal.note(key, now.metadata.uid, What::kCheck, time, joined(text, check.message), {},
                 /*seen_again=*/false);
  }
}

}  // namespace

void note_plan(Journal& journal, Stores& stores, const engine::Plan& plan, Instant now) {
  for (const engine::Decision& decision : plan.why.decisions) {
    if (decision.status == engine::EntryStatus::kAssumed || decision.message.empty()) continue;
    note(journal, stores, decision.key, What::kWaits, now,
         joined(engine::reason_text(decision.pending), decision.message));
  }
  for (const engine::Command& command : plan.commands) {
    if (const auto* admit = std::get_if<engine::Admit>(&command)) {
      note(journal, stores, admit->key, What::kQuotaReserved, now, flavors_of(*admit));
    } else if (const auto* evict = std::get_if<engine::Evict>(&command)) {
      const std::string text = evict_text(*evict);
      if (evict->preemptor == nullptr) {
        note(journal, stores, evict->key, What::kEvicted, now, text);
        continue;
      }
      note(journal, stores, evict->key, What::kPreempted, now, text, evict->preemptor->key);
      note(journal, stores, evict->preemptor->key, What::kPreempts, now,
           joined(engine::preempt_reason_text(evict->preempt_reason), evict->priorities),
           evict->key);
    }
  }
}

void note_failed_write(Journal& journal, Stores& stores, const engine::Command& command,
                       Instant now) {
  if (const auto* admit = std::get_if<engine::Admit>(&command)) {
    note(journal, stores, admit->key, What::kWriteFailed, now,
         "the reservation could not be written and was taken back");
  } else if (const auto* evict = std::get_if<engine::Evict>(&command)) {
    note(journal, stores, evict->key, What::kWriteFailed, now,
         "the eviction could not be written; it is decided again");
  }
}

void note_change(Journal& journal, const v1beta2::Workload* old, const v1beta2::Workload* now,
                 Instant time) {
  const api::meta::ObjectMeta& meta = (now != nullptr ? now : old)->metadata;
  const engine::Key key{meta.namespace_, meta.name};
  if (now == nullptr) return journal.forget(key);
  if (old == nullptr || old->metadata.uid != now->metadata.uid) return;
  const auto tell = [&](What what, std::string text) {
    journal.note(key, meta.uid, what, time, std::move(text), {}, /*seen_again=*/false);
  };
  if (old->spec.priority != now->spec.priority)
    tell(What::kChanged, "priority " + std::to_string(old->spec.priority.value_or(0)) + " -> " +
                             std::to_string(now->spec.priority.value_or(0)));
  if (old->spec.queue_name != now->spec.queue_name)
    tell(What::kChanged, "queue " + old->spec.queue_name + " -> " + now->spec.queue_name);
  if (is_active(*old) != is_active(*now))
    tell(What::kDeactivation, is_active(*now) ? "activated" : "deactivated");
  note_checks(journal, key, *old, *now, time);
  note_conditions(journal, key, *old, *now, time);
  const auto at = [](const v1beta2::Workload& w) {
    return w.status.requeue_state.has_value() ? w.status.requeue_state->requeue_at : std::nullopt;
  };
  if (at(*now).has_value() && at(*old) != at(*now)) {
    const auto count = now->status.requeue_state->count;
    tell(What::kBackoff, "queued again at " + format_time(*at(*now)) +
                             (count ? ", after " + std::to_string(*count) + " timeouts" : ""));
  }
}

}  // namespace kueue::controllers
