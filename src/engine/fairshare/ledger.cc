#include "engine/fairshare/ledger.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "engine/fairshare/admission.h"
#include "engine/state_apply.h"

namespace kueue::engine {

double decay_rate(Duration elapsed, Duration half_life) {
  if (half_life.ns <= 0) return 0;
  return 1 - std::pow(0.5, elapsed.as_seconds() / half_life.as_seconds());
}

Nanos scale(Nanos amount, double factor) {
  if (factor <= 0 || amount == 0) return 0;
  char text[64];
  auto [end, error] =
      std::to_chars(text, text + sizeof text, factor, std::chars_format::scientific);
  if (error != std::errc()) return 0;
  // d.ddddde±xx -> mantissa * 10^-digits
  Nanos mantissa = 0;
  int digits = 0;
  bool fraction = false;
  const char* p = text;
  for (; p != end && *p != 'e'; ++p) {
    if (*p == '.') {
      fraction = true;
      continue;
    }
    mantissa = mantissa * 10 + (*p - '0');
    if (fraction) ++digits;
  }
  int exponent = 0;
  if (p != end) std::from_chars(p[1] == '+' ? p + 2 : p + 1, end, exponent);
  digits -= exponent;
  if (digits > 40) return 0;
  for (; digits < 9; ++digits) mantissa *= 10;
  constexpr Nanos kBillion = 1'000'000'000;
  Nanos sign = amount < 0 ? -1 : 1;
  Nanos whole = amount * sign / kBillion, rest = amount * sign % kBillion;
  Nanos product = whole * mantissa + rest * mantissa / kBillion;
  for (int i = 9; i < digits && product != 0; ++i) product /= 10;
  return sign * product;
}

void add(NanoList& list, ResourceId id, Nanos amount) {
  for (auto& [resource, have] : list) {
    if (resource != id) continue;
    have += amount;
    return;
  }
  list.emplace_back(id, amount);
}

LedgerAccount& Ledger::open(LocalId local, Instant now) {
  auto [it, inserted] = accounts_.try_emplace(local);
  if (inserted) it->second.last_update = now;
  return it->second;
}

LedgerAccount* Ledger::find(LocalId local) {
  auto it = accounts_.find(local);
  return it == accounts_.end() ? nullptr : &it->second;
}

const LedgerAccount* Ledger::find(LocalId local) const {
  auto it = accounts_.find(local);
  return it == accounts_.end() ? nullptr : &it->second;
}

namespace {

// From internal units: cpu counts in thousandths.
Nanos to_nanos(const World& world, ResourceId id, Amount amount) {
  return static_cast<Nanos>(amount.value()) *
         (world.names.text(id) == "cpu" ? 1'000'000 : 1'000'000'000);
}

double weight_of(const World& world, ResourceId id) {
  for (const auto& [name, weight] : world.settings.admission_fair_sharing->resource_weights)
    if (name == world.names.text(id)) return weight;
  return 1;
}

// consumed * (1 - rate) + admitted * rate, up to now.
void decay(World& world, LocalId local, LedgerAccount& account) {
  const AdmissionFairSharing& afs = *world.settings.admission_fair_sharing;
  // Usage sampled by a clock that was set back since does not grow by it.
  const Duration elapsed = std::max(Duration(), world.now - account.last_update);
  double rate = decay_rate(elapsed, afs.half_life);
  NanoList next;
  for (const auto& [resource, amount] : account.consumed)
    add(next, resource, scale(amount, 1 - rate));
  NanoList admitted;
  for (const auto& [fr, amount] : world.locals[local].admitted_usage) {
    ResourceId resource = world.names.parts(fr).resource;
    add(admitted, resource, to_nanos(world, resource, amount));
  }
  for (const auto& [resource, amount] : admitted) add(next, resource, scale(amount, rate));
  account.consumed = std::move(next);
  account.last_update = world.now;
}

}  // namespace

bool orders_by_usage(const World& world, QueueId queue) {
  return world.settings.admission_fair_sharing && world.gate(Gate::kAdmissionFairSharing) &&
         world.queues[queue].spec.usage_based_fairness;
}

namespace {

double usage_of(const World& world, LocalId local) {
  if (!world.settings.admission_fair_sharing) return 0;
  double weight = world.locals[local].exists ? world.locals[local].spec.fair_weight : 1;
  if (weight <= 0) return std::numeric_limits<double>::infinity();
  const LedgerAccount* account = world.ledger.find(local);
  if (account == nullptr) return 0;
  NanoList total = account->consumed;
  for (const auto& [id, penalty] : account->penalties)
    for (const auto& [resource, amount] : penalty) add(total, resource, amount);
  double value = 0;
  for (const auto& [resource, amount] : total)
    value += weight_of(world, resource) * static_cast<double>(amount) / 1e9;
  return value / weight;
}

}  // namespace

void refresh_local_usage(World& world, LocalId local) {
  ++world.news;
  const double value = usage_of(world, local);
  if (world.local_usage[local.value] == value) return;
  world.local_usage[local.value] = value;
  // It orders victims, too: a preemptor may now choose others.
  const QueueId queue = world.locals[local].queue;
  if (queue.valid())
    world.touch_tree(queue);
  else
    world.touch_all();  // its workloads may hold quota anywhere
}

void push_penalty(World& world, WorkloadId id, QueueId queue, const ResourceList& total) {
  const AdmissionFairSharing& afs = *world.settings.admission_fair_sharing;
  double rate = decay_rate(afs.sampling_interval, afs.half_life);
  LocalId local = world.record(id).local;
  NanoList penalty;
  for (const auto& [resource, amount] : total) {
    if (world.settings.ignore_undeclared && world.gate(Gate::kQuotaCheckStrategy) &&
        world.queues[queue].group_of(resource) == nullptr)
      continue;
    add(penalty, resource, scale(to_nanos(world, resource, amount), rate));
  }
  world.ledger.open(local, world.now).penalties[id] = std::move(penalty);
  refresh_local_usage(world, local);
}

void forget_penalty(World& world, WorkloadId id) {
  LocalId local = world.record(id).local;
  LedgerAccount* account = local.valid() ? world.ledger.find(local) : nullptr;
  if (account != nullptr && account->penalties.erase(id) > 0) refresh_local_usage(world, local);
}

void settle_penalty(World& world, WorkloadId id) {
  LocalId local = world.record(id).local;
  LedgerAccount* account = local.valid() ? world.ledger.find(local) : nullptr;
  if (account == nullptr) return;
  auto it = account->penalties.find(id);
  if (it == account->penalties.end()) return;
  NanoList penalty = std::move(it->second);
  account->penalties.erase(it);
  decay(world, local, *account);
  for (const auto& [resource, amount] : penalty) add(account->consumed, resource, amount);
  refresh_local_usage(world, local);
}

void apply_event(World& world, const ConsumedUsage& e) {
  LocalId local = ensure_local(world, e.local_queue.namespace_, e.local_queue.name);
  LedgerAccount& account = world.ledger.open(local, e.last_update);
  account.consumed.clear();
  for (const auto& [resource, amount] : e.consumed)
    add(account.consumed, world.names.resource(resource), amount);
  account.last_update = e.last_update;
  refresh_local_usage(world, local);
}

void apply_event(World& world, const SampleUsage& e) {
  LocalId local = world.find_local(e.local_queue);
  if (!local.valid() || !world.settings.admission_fair_sharing) return;
  world.now = std::max(world.now, e.now);
  LedgerAccount& account = world.ledger.open(local, world.now);
  if (world.settings.admission_fair_sharing->half_life.ns <= 0) {
    account.consumed.clear();  // no memory
    account.last_update = world.now;
  } else {
    decay(world, local, account);
  }
  refresh_local_usage(world, local);
}

}  // namespace kueue::engine
