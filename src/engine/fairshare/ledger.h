// Ledger of admission fair sharing: per LocalQueue what it has consumed, decaying with time, and a
// penalty for each workload between being assumed and being admitted. Spec: behaviour.md
// section 11. Exact in billionths of the unit that Kubernetes shows (cores for cpu).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "engine/model/nanos.h"
#include "engine/names.h"
#include "engine/settings.h"

namespace kueue::engine {

using NanoList = std::vector<std::pair<ResourceId, Nanos>>;

struct LedgerAccount {
  NanoList consumed;
  Instant last_update;
  std::map<WorkloadId, NanoList> penalties;
};

// 1 - 0.5^(elapsed / half life); 0 when the half life is 0.
double decay_rate(Duration elapsed, Duration half_life);
// amount * factor, rounded towards zero, with the factor taken as the decimal number that prints
// shortest.
Nanos scale(Nanos amount, double factor);
void add(NanoList& list, ResourceId id, Nanos amount);

class Ledger {
 public:
  // Opened with `now` as its last update when it is new.
  LedgerAccount& open(LocalId local, Instant now);
  // nullptr when nothing was ever booked.
  LedgerAccount* find(LocalId local);
  const LedgerAccount* find(LocalId local) const;
  void drop(LocalId local) { accounts_.erase(local); }

 private:
  std::map<LocalId, LedgerAccount> accounts_;
};

}  // namespace kueue::engine
