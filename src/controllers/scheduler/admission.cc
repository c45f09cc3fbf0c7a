#include "controllers/scheduler/admission.h"

#include <algorithm>

#include "bridge/quantities.h"
#include "bridge/to_engine.h"
#include "bridge/workload_status.h"
#include "controllers/journal/recorder.h"
#include "controllers/metrics/record.h"
#include "controllers/names.h"
#include "controllers/workload/conditions.h"
#include "controllers/workload/status_writer.h"

namespace kueue::controllers {
namespace {

constexpr Duration kUnknownOutcomeDelay = Duration::seconds(1);
constexpr int kMaxIdleShift = 4;  // 1 ms doubled up to about 10 ms

engine::Key engine_key(const api::meta::ObjectMeta& meta) { return {meta.namespace_, meta.name}; }
kube::ObjectKey object_key(const engine::Key& key) { return {key.namespace_, key.name}; }

const engine::Key& key_of(const engine::Command& command) {
  return std::visit([](const auto& c) -> const engine::Key& { return c.key; }, command);
}

std::string uid_of(const engine::Command& command) {
  return std::visit([](const auto& c) -> std::string { return c.uid.str(); }, command);
}

engine::Labels engine_labels(const schema::Map<std::string>& labels) {
  return {labels.begin(), labels.end()};
}

bool same_node(const engine::Node& a, const engine::Node& b) {
  return a.labels == b.labels && a.taints == b.taints && a.allocatable == b.allocatable &&
         a.ready == b.ready && a.unschedulable == b.unschedulable;
}

// Nothing but status or metadata: news of our own writes, which must not look like a reason to try
// again.
bool same_spec(const api::meta::ObjectMeta& a, const api::meta::ObjectMeta& b) {
  return a.generation.has_value() && a.generation == b.generation && a.uid == b.uid &&
         a.deletion_timestamp.has_value() == b.deletion_timestamp.has_value();
}

}  // namespace

Admission::Admission(Context& context)
    : context_(context),
      recorder_(context.recorder(std::string(kAdmissionManager))),
      strand_(*context.executor),
      state_(context.options->engine) {}

Admission::~Admission() { stop(); }

void Admission::attach() {
  Stores& stores = *context_.stores;
  auto feeder = [this](auto changed, auto deleted) {
    return [this, changed, deleted](const auto& old, const auto& now) {
      if (now != nullptr) {
        feed(changed(*now));
      } else {
        feed(deleted(*old));
      }
    };
  };
  // For kinds whose status is ours.
  auto spec_feeder = [&feeder](auto changed, auto deleted) {
    return [feed = feeder(changed, deleted)](const auto& old, const auto& now) {
      if (old == nullptr || now == nullptr || !same_spec(old->metadata, now->metadata))
        feed(old, now);
    };
  };
  stores.flavors.add_handler(feeder(
      [](const auto& o) -> engine::Event { return engine::FlavorChanged{bridge::to_engine(o)}; },
      [](const auto& o) -> engine::Event { return engine::FlavorDeleted{o.metadata.name}; }));
  stores.checks.add_handler(feeder(
      [](const auto& o) -> engine::Event { return engine::CheckChanged{bridge::to_engine(o)}; },
      [](const auto& o) -> engine::Event { return engine::CheckDeleted{o.metadata.name}; }));
  stores.topologies.add_handler(feeder(
      [](const auto& o) -> engine::Event { return engine::TopologyChanged{bridge::to_engine(o)}; },
      [](const auto& o) -> engine::Event { return engine::TopologyDeleted{o.metadata.name}; }));
  stores.nodes.add_handler([this](const auto& old, const auto& now) {
    if (now == nullptr) return feed(engine::NodeDeleted{old->metadata.name});
    const engine::Node node = bridge::to_engine(*now);
    // Most news of a Node are signs of life.
    if (old == nullptr || !same_node(bridge::to_engine(*old), node))
      feed(engine::NodeChanged{node});
  });
  stores.cohorts.add_handler(spec_feeder(
      [](const auto& o) -> engine::Event { return engine::CohortChanged{bridge::to_engine(o)}; },
      [](const auto& o) -> engine::Event { return engine::CohortDeleted{o.metadata.name}; }));
  stores.cluster_queues.add_handler(spec_feeder(
      [](const auto& o) -> engine::Event {
        return engine::ClusterQueueChanged{bridge::to_engine(o)};
      },
      [](const auto& o) -> engine::Event { return engine::ClusterQueueDeleted{o.metadata.name}; }));
  stores.local_queues.add_handler(spec_feeder(
      [](const auto& o) -> engine::Event {
        return engine::LocalQueueChanged{bridge::to_engine(o)};
      },
      [this](const auto& o) -> engine::Event {
        std::lock_guard lock(mutex_);
        sampled_.erase(engine_key(o.metadata));
        return engine::LocalQueueDeleted{engine_key(o.metadata)};
      }));
  stores.namespaces.add_handler(feeder(
      [](const auto& o) -> engine::Event {
        return engine::NamespaceChanged{o.metadata.name, engine_labels(o.metadata.labels)};
      },
      [](const auto& o) -> engine::Event { return engine::NamespaceDeleted{o.metadata.name}; }));
  stores.limit_ranges.add_handler([this](const auto& old, const auto& now) {
    refeed_namespace((now != nullptr ? now : old)->metadata.namespace_);
  });
  stores.workloads.add_handler([this](const auto& old, const auto& now) {
    sync_workload(engine_key((now != nullptr ? now : old)->metadata));
  });
}

void Admission::start() {
  {
    std::lock_guard lock(mutex_);
    if (running_) return;
    running_ = true;
    seed_consumed();
  }
  request_cycle();
}

// With the lock held. What LocalQueues had consumed when another manager, or this one before a
// restart, last wrote it down. The time in between does not count.
void Admission::seed_consumed() {
  if (!context_.options->engine.admission_fair_sharing.has_value() ||
      !context_.gates().on(Gate::kAdmissionFairSharing))
    return;
  for (const auto& queue : context_.stores->local_queues.list()) {
    const auto& fair = queue->status.fair_sharing;
    if (!fair.has_value() || !fair->admission_fair_sharing_status.has_value()) continue;
    engine::ConsumedUsage stored{engine_key(queue->metadata), {}, context_.now()};
    for (const auto& [resource, amount] : fair->admission_fair_sharing_status->consumed_resources)
      stored.consumed.emplace_back(resource, bridge::nanos_of(amount));
    const engine::AfsUsage known = state_.afs_usage(stored.local_queue);
    for (const auto& [resource, amount] : known.consumed) {
      auto same = std::find_if(stored.consumed.begin(), stored.consumed.end(),
                               [&](const auto& entry) { return entry.first == resource; });
      if (same == stored.consumed.end()) {
        stored.consumed.emplace_back(resource, amount);
      } else {
        same->second += amount;
      }
    }
    if (known.known) stored.last_update = known.last_update;
    state_.apply(stored);
  }
}

void Admission::set_consumed(const engine::ConsumedUsage& usage, bool sampled) {
  std::lock_guard lock(mutex_);
  state_.apply(usage);
  if (sampled) sampled_.insert(usage.local_queue);
}

Admission::Sample Admission::sample_usage(const engine::Key& local_queue) {
  Sample sample;
  sample.next = context_.options->engine.admission_fair_sharing->sampling_interval;
  Changes changes;
  {
    std::lock_guard lock(mutex_);
    const Instant now = context_.now();
    sample.usage = state_.afs_usage(local_queue);
    const Duration passed = now - sample.usage.last_update;
    if (!sampled_.insert(local_queue).second && sample.usage.known && passed < sample.next) {
      sample.next = sample.next - passed;
      return sample;
    }
    state_.apply(engine::SampleUsage{local_queue, now});
    sample.usage = state_.afs_usage(local_queue);
    sample.taken = sample.usage.known;
    changes = take_changes();
  }
  tell(changes);
  return sample;
}

void Admission::stop() {
  std::lock_guard lock(mutex_);
  running_ = false;
  *alive_ = false;
  if (timer_ != 0) context_.executor->cancel(timer_);
  timer_ = 0;
}

bool Admission::idle() const {
  std::lock_guard lock(mutex_);
  return !cycle_requested_ && slots_.empty() && assumed_.empty();
}

void Admission::feed(const engine::Event& event) {
  Changes changes;
  {
    std::lock_guard lock(mutex_);
    state_.apply(event);
    changes = take_changes();
  }
  tell(changes);
}

void Admission::sync_workload(const engine::Key& key) {
  Changes changes;
  {
    std::lock_guard lock(mutex_);
    if (assumed_.contains(key)) return;
    apply_newest(key);
    changes = take_changes();
  }
  tell(changes);
}

// With the lock held. Takes the object from the store rather than from the notice: whoever comes
// last applies the newest.
void Admission::apply_newest(const engine::Key& key) {
  WorkloadPointer now = context_.stores->workloads.get(object_key(key));
  auto known = known_.find(key);
  if (known != known_.end() && (now == nullptr || known->second.uid != now->metadata.uid)) {
    state_.apply(engine::WorkloadDeleted{key});
    known_.erase(known);
  }
  if (now == nullptr) return;
  known_[key] = {now->metadata.uid, now->metadata.generation.value_or(0)};
  state_.apply(engine::WorkloadChanged{convert(*now)});
  watch_termination(key, *now);
}

void Admission::refeed_namespace(const std::string& name) {
  std::vector<engine::Key> keys;
  {
    std::lock_guard lock(mutex_);
    keys = state_.workloads_in_namespace(name);
  }
  for (const engine::Key& key : keys) sync_workload(key);
}

std::shared_ptr<const engine::Workload> Admission::convert(
    const v1beta2::Workload& workload) const {
  bridge::Surroundings around;
  around.pool = &templates_;
  around.gates = &context_.options->gates;
  around.rules = &context_.options->requests;
  const auto ranges = context_.stores->limit_ranges.list(workload.metadata.namespace_);
  for (const auto& range : ranges) around.limit_ranges.push_back(range.get());
  around.overhead_of = [this](const std::string& name) {
    std::vector<std::pair<std::string, api::Quantity>> overhead;
    if (auto found = context_.stores->runtime_classes.get({"", name})) {
      if (found->overhead.has_value()) {
        for (const auto& [resource, quantity] : found->overhead->pod_fixed)
          overhead.emplace_back(resource, quantity);
      }
    }
    return overhead;
  };
  if (const auto& bound = context_.options->bounded_termination)
    around.given_up_since = Instant{context_.now().ns - bound->after.ns};
  return bridge::to_engine(workload, around);
}

// With the lock held. One that was told to go is looked at again when its time is over.
void Admission::watch_termination(const engine::Key& key, const v1beta2::Workload& workload) {
  const auto& bound = context_.options->bounded_termination;
  if (!bound.has_value() || !is_evicted(workload) || !has_reservation(workload)) return;
  const Duration left = transition_time(workload, kEvicted) + bound->after - context_.now();
  if (left.ns <= 0) return;
  context_.executor->run_after(left, [this, alive = alive_, key] {
    if (*alive) sync_workload(key);
  });
}

std::vector<std::string> Admission::required_checks(const v1beta2::Workload& workload) const {
  // Pods have no say in it, and their templates cost a look.
  v1beta2::Workload bare = workload;
  bare.spec.pod_sets.clear();
  const auto converted = convert(bare);
  std::lock_guard lock(mutex_);
  return state_.required_checks(*converted);
}

std::string Admission::misconfigured(const v1beta2::Workload& workload) const {
  return convert(workload)->misconfigured;
}

Admission::Look Admission::look(const engine::Key& key, const engine::TimeLeft& left) {
  constexpr size_t kMostBefore = 10;
  Look out;
  std::lock_guard lock(mutex_);
  out.why = engine::explain(state_, key);
  if (!out.why.known || state_.place(key) == engine::WorkloadPlace::kReserved) return out;
  const std::vector<engine::PendingWorkload> queue = state_.pending(out.why.cluster_queue);
  const auto found =
      std::find_if(queue.begin(), queue.end(), [&](const auto& one) { return one.key == key; });
  if (found != queue.end()) {
    out.position = *found;
    out.waiting = static_cast<int32_t>(queue.size());
    const auto place = static_cast<size_t>(found - queue.begin());
    for (size_t i = place - std::min(place, kMostBefore); i < place; ++i)
      out.before.push_back(queue[i].key);
  }
  out.start = engine::estimate_start(state_, key, context_.now(), left);
  return out;
}

Admission::Changes Admission::take_changes() {
  Changes changes;
  changes.cluster_queues = state_.take_changed_cluster_queues();
  changes.local_queues = state_.take_changed_local_queues();
  changes.work = running_ && state_.has_work();
  arm_wakeup();
  return changes;
}

void Admission::tell(const Changes& changes) {
  if (on_cluster_queue)
    for (const std::string& name : changes.cluster_queues) on_cluster_queue(name);
  if (on_local_queue)
    for (const engine::Key& key : changes.local_queues) on_local_queue(key);
  if (changes.work) request_cycle();
}

// With the lock held.
void Admission::arm_wakeup() {
  if (const Instant now = context_.now(); state_.now() - now > engine::kClockSetBack)
    state_.apply(engine::TimePassed{now});
  const std::optional<Instant> next = state_.next_wakeup();
  if (next == armed_for_) return;
  if (timer_ != 0) context_.executor->cancel(timer_);
  timer_ = 0;
  armed_for_ = next;
  if (!next.has_value() || !*alive_) return;
  timer_ = context_.executor->run_after(*next - context_.now(), [this, alive = alive_] {
    Changes changes;
    {
      std::lock_guard lock(mutex_);
      if (!*alive) return;
      armed_for_.reset();
      timer_ = 0;
      state_.apply(engine::TimePassed{context_.now()});
      changes = take_changes();
    }
    tell(changes);
  });
}

void Admission::request_cycle() {
  {
    std::lock_guard lock(mutex_);
    if (!running_ || cycle_requested_) return;
    cycle_requested_ = true;
  }
  strand_.run([this] { cycle(); });
}

void Admission::cycle() {
  engine::Plan plan;
  Changes changes;
  bool again = false;
  int delay_shift = 0;
  const Instant began = context_.now();
  {
    std::lock_guard lock(mutex_);
    cycle_requested_ = false;
    if (!running_ || !state_.has_work()) return;
    plan = engine::plan(state_, engine::CycleInput{.now = began, .explain = false});
    for (const engine::Command& command : plan.commands)
      if (const auto* admit = std::get_if<engine::Admit>(&command)) assumed_.insert(admit->key);
    changes = take_changes();
    again = std::exchange(changes.work, false);
    idle_cycles_ = plan.keep_going ? 0 : idle_cycles_ + 1;
    delay_shift = std::min(idle_cycles_ - 1, kMaxIdleShift);
  }
  record_cycle(plan, began);
  note_plan(*context_.journal, *context_.stores, plan, began);
  for (engine::Command& command : plan.commands) enqueue(std::move(command));
  tell(changes);
  if (!again) return;
  if (delay_shift < 0) {
    request_cycle();
  } else {
    context_.executor->run_after(Duration::millis(1 << delay_shift), [this, alive = alive_] {
      if (*alive) request_cycle();
    });
  }
}

void Admission::record_cycle(const engine::Plan& plan, Instant began) {
  if (plan.looked_at == 0) return;
  const bool success = std::any_of(
      plan.commands.begin(), plan.commands.end(),
      [](const engine::Command& c) { return std::holds_alternative<engine::Admit>(c); });
  metrics::Metrics& m = *context_.metrics;
  const std::string result = success ? "success" : "inadmissible";
  m.admission_attempts_total.add({result});
  m.admission_attempt_duration_seconds.observe({result}, (context_.now() - began).as_seconds());
  for (const auto& [queue, skips] : plan.why.preemption_skips)
    m.admission_cycle_preemption_skips.set({queue}, skips);
  for (const auto& [queue, outcome] : plan.why.recomputations)
    m.preemption_target_recomputations_total.add({queue, engine::recompute_result_text(outcome)});
}

void Admission::enqueue(engine::Command command) {
  const engine::Key key = key_of(command);
  {
    std::lock_guard lock(mutex_);
    Slot& slot = slots_[key];
    // A refusal that nobody has seen yet is replaced by what was decided since.
    if (slot.waiting.size() > (slot.writing ? 1 : 0) &&
        std::holds_alternative<engine::SetPending>(slot.waiting.back()))
      slot.waiting.pop_back();
    slot.waiting.push_back(std::move(command));
    if (slot.running) return;
    slot.running = true;
  }
  context_.executor->run([this, alive = alive_, key] {
    if (*alive) write_next(key);
  });
}

void Admission::write_next(const engine::Key& key) {
  std::optional<engine::Command> command;
  bool unsure = false;
  {
    std::lock_guard lock(mutex_);
    Slot& slot = slots_[key];
    slot.writing = true;
    command = slot.waiting.front();
    unsure = slot.unsure;
  }
  const Outcome outcome = unsure && !look_again(key) ? Outcome{.settled = false} : write(*command);
  bool more = false;
  {
    std::lock_guard lock(mutex_);
    Slot& slot = slots_[key];
    slot.writing = false;
    slot.unsure = !outcome.settled;
    if (outcome.settled) {
      slot.waiting.pop_front();
      more = !slot.waiting.empty();
      if (!more) slots_.erase(key);
    }
  }
  if (outcome.settled) finish_write(key, *command, outcome);
  if (outcome.settled && outcome.failed)
    note_failed_write(*context_.journal, *context_.stores, *command, context_.now());
  auto next = [this, alive = alive_, key] {
    if (*alive) write_next(key);
  };
  if (!outcome.settled) {
    context_.executor->run_after(kUnknownOutcomeDelay, next);
  } else if (more) {
    context_.executor->run(next);
  }
}

// A write whose answer was lost may have been done: before it is tried again, and could be refused,
// the object is read. False while that fails.
bool Admission::look_again(const engine::Key& key) {
  const auto newest = newest_workload(context_, object_key(key), /*live=*/true);
  return newest.ok() || newest.error().code == ErrorCode::kNotFound;
}

void Admission::finish_write(const engine::Key& key, const engine::Command& command,
                             const Outcome& outcome) {
  Changes changes;
  {
    std::lock_guard lock(mutex_);
    // Gone from the server, and the watch has not told of it: until it does there is nothing to
    // decide, and what would be decided would fail in the same way.
    const WorkloadPointer known = context_.stores->workloads.get(object_key(key));
    const bool gone =
        outcome.not_found && known != nullptr && known->metadata.uid == uid_of(command);
    if (std::holds_alternative<engine::Admit>(command)) {
      assumed_.erase(key);
      if (outcome.failed) state_.apply(engine::AdmissionFailed{key, outcome.not_found});
    } else if (std::holds_alternative<engine::Evict>(command) && outcome.failed && !gone) {
      state_.apply(engine::EvictionFailed{key});
    }
    if (!assumed_.contains(key) && !gone) apply_newest(key);
    changes = take_changes();
  }
  tell(changes);
}

Admission::Outcome Admission::write(const engine::Command& command) {
  if (const auto* admit = std::get_if<engine::Admit>(&command)) return write_admit(*admit);
  if (const auto* evict = std::get_if<engine::Evict>(&command)) return write_evict(*evict);
  return write_pending(std::get<engine::SetPending>(command));
}

// The outcome of a write that ended in an error: known to have failed, or not known.
Admission::Outcome Admission::outcome_of(const Error& error) const {
  switch (error.code) {
    case ErrorCode::kTimeout:
    case ErrorCode::kUnavailable:
    case ErrorCode::kInternal:
    case ErrorCode::kCanceled:
      return {.settled = false};
    default:
      if (context_.log) context_.log("admission: write refused: " + error.message);
      return {.failed = true};
  }
}

Admission::Outcome Admission::write_admit(const engine::Admit& command) {
  const bridge::StatusContext status{context_.now(), &context_.options->gates};
  int64_t generation = 0;
  {
    std::lock_guard lock(mutex_);
    auto known = known_.find(command.key);
    if (known != known_.end()) generation = known->second.generation;
  }
  v1beta2::Workload before;
  bool wrote = false;
  bool moved_on = false;
  auto written = edit_status(
      context_, object_key(command.key), command.uid.str(), [&](v1beta2::Workload& workload) {
        // The charge is for the spec that was looked at.
        if (workload.metadata.generation.value_or(0) != generation ||
            is_true(workload, kFinished) || !is_active(workload)) {
          moved_on = true;
          return StatusEdit::kObsolete;
        }
        if (has_reservation(workload) && !command.second_pass) {
          // An earlier try of ours whose answer was lost, or somebody else's.
          moved_on = workload.status.admission->cluster_queue != command.admission->cluster_queue;
          return moved_on ? StatusEdit::kObsolete : StatusEdit::kUnchanged;
        }
        before = workload;
        wrote = true;
        bridge::apply_admit(workload, command, status);
        // They tell what a waiting workload asks for; now the admission does. As Kueue's merge
        // patches leave them in place, so do ours.
        if (!context_.gates().on(Gate::kWorkloadRequestUseMergePatch))
          workload.status.resource_requests.clear();
        return StatusEdit::kWrite;
      });
  if (!written.ok()) return outcome_of(written.error());
  if (*written == nullptr) return {.failed = true, .not_found = !moved_on};
  if (wrote) report_admitted(before, **written, command);
  return {};
}

void Admission::report_admitted(const v1beta2::Workload& before, const v1beta2::Workload& after,
                                const engine::Admit& command) {
  const bridge::StatusContext status{context_.now(), &context_.options->gates};
  send(after, bridge::admit_events(before, command, status));
  if (command.second_pass) return;
  record_quota_reserved(context_, before, command.admission->cluster_queue);
  if (command.admitted)
    record_admitted(context_, before, command.admission->cluster_queue, status.now);
}

Admission::Outcome Admission::write_evict(const engine::Evict& command) {
  const bridge::StatusContext status{context_.now(), &context_.options->gates};
  v1beta2::Workload before;
  bool wrote = false;
  bool moved_on = false;
  auto written = edit_status(
      context_, object_key(command.key), command.uid.str(), [&](v1beta2::Workload& workload) {
        moved_on = !has_reservation(workload) || is_true(workload, kFinished);
        if (moved_on) return StatusEdit::kObsolete;
        if (is_true(workload, kEvicted)) return StatusEdit::kUnchanged;
        before = workload;
        wrote = true;
        bridge::apply_evict(workload, command, status);
        return StatusEdit::kWrite;
      });
  if (!written.ok()) return outcome_of(written.error());
  if (*written == nullptr) return {.failed = true, .not_found = !moved_on};
  if (!wrote) return {};
  const char* reason = engine::evict_reason_text(command.reason);
  record_evicted(context_, before, command.cluster_queue, reason, "");
  if (command.preempt_reason != engine::PreemptReason::kNone)
    record_preempted(context_, command.preemptor->cluster_queue,
                     engine::preempt_reason_text(command.preempt_reason));
  for (const bridge::WorkloadEvent& event : bridge::evict_events(command)) {
    if (event.about == command.key) {
      send(**written, {event});
    } else if (auto other = context_.stores->workloads.get(object_key(event.about))) {
      send(*other, {event});
    }
  }
  return {};
}

Admission::Outcome Admission::write_pending(const engine::SetPending& decided) {
  // Held back for others: it was not looked at, so there is nothing to say about its requests, and
  // no news.
  const bool held = decided.reason == engine::PendingReason::kWaitingForPodsReady;
  engine::SetPending command = decided;
  if (held) command.resource_requests.clear();
  const bridge::StatusContext status{context_.now(), &context_.options->gates};
  bool wrote = false;
  auto written = edit_status(
      context_, object_key(command.key), command.uid.str(), [&](v1beta2::Workload& workload) {
        if (is_true(workload, kFinished) ||
            (has_reservation(workload) && !command.second_pass_failed))
          return StatusEdit::kObsolete;
        if (!command.write || !bridge::apply_pending(workload, command, status))
          return StatusEdit::kUnchanged;
        wrote = true;
        return StatusEdit::kWrite;
      });
  if (!written.ok()) return outcome_of(written.error());
  if (*written == nullptr) return {.failed = true};
  if ((wrote && !held) || command.second_pass_failed)
    send(**written, bridge::pending_events(command, status));
  return {};
}

void Admission::send(const v1beta2::Workload& workload,
                     const std::vector<bridge::WorkloadEvent>& events) {
  for (const bridge::WorkloadEvent& event : events)
    recorder_.emit(reference_to(workload),
                   event.warning ? kube::EventType::kWarning : kube::EventType::kNormal,
                   event.reason, event.reason, event.message);
}

}  // namespace kueue::controllers
