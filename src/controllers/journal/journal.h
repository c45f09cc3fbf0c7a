// Journal: for each Workload the decisions that concerned it, with cause and effect. Always on and
// kept in memory only: of one Workload the newest entries, of all together no more than a number of
// bytes; what is older goes first. Thread safe.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "engine/model/workload.h"

namespace kueue::controllers {

class Journal {
 public:
  enum class What : uint8_t {
    kWaits,          // it cannot be admitted now; the text says why
    kQuotaReserved,  // the text names flavors
    kAdmitted,
    kPreempts,      // `other` has to go for it
    kPreempted,     // it has to go for `other`
    kEvicted,       // for any reason
    kRequeued,      // may be queued again, or may not yet
    kBackoff,       // when it will be queued again
    kCheck,         // an admission check changed its state
    kPods,          // readiness of its Pods
    kDeactivation,  // on its way out, or woken again
    kChanged,       // priority, queue: what a user changed
    kWriteFailed,   // a decision that could not be written
    kFinished,
  };
  struct Limits {
    size_t bytes = 16u << 20;
    size_t entries_per_workload = 32;
    size_t text = 1024;  // longer ones are cut
  };
  struct Entry {
    What what = What::kWaits;
    Instant first;
    Instant last;
    uint32_t count = 1;  // equal ones
    std::string text;
    engine::Key other;  // the other Workload that takes part; empty = none
  };

  // From now on it hears of everything; a History says so. Once, before the first note().
  void begin(Instant now) { since_ = now; }
  Journal() : Journal(Limits{}) {}
  explicit Journal(const Limits& limits) : limits_(limits) {}

  // Adds an entry about the Workload of this uid, or counts up the last one when it says the same;
  // of reasons to wait also one of the last few.
  // A Workload of the same name and another uid is forgotten. With `seen_again` false an equal one
  // among the newest entries is left as it is: the same news through another channel.
  void note(const engine::Key& workload, std::string_view uid, What what, Instant now,
            std::string text, const engine::Key& other = {}, bool seen_again = true);
  void forget(const engine::Key& workload);

  struct History {
    std::vector<Entry> entries;  // oldest first
    uint64_t dropped = 0;        // older ones that are no longer there
    Instant since;               // of what was before nothing can be known: see begin()
  };
  History of(const engine::Key& workload, std::string_view uid) const;

  size_t bytes() const;  // as accounted for; never above the limit
  size_t workloads() const;

 private:
  struct Record;
  using Records = std::map<engine::Key, Record>;
  struct Item {
    Entry entry;
    Records::iterator owner;
  };
  using Items = std::list<Item>;
  struct Record {
    std::string uid;
    std::vector<Items::iterator> items;  // oldest first
    uint64_t dropped = 0;
  };

  static size_t cost(const Records::const_iterator& record);
  static size_t cost(const Entry& entry);
  void drop_oldest_of(Records::iterator record);
  void erase(Records::iterator record);

  const Limits limits_;
  Instant since_;
  mutable std::mutex mutex_;
  Records records_;
  Items items_;  // of all, by the time of the last news
  size_t bytes_ = 0;
};

std::string_view journal_word(Journal::What what);

}  // namespace kueue::controllers
