// The fair-sharing tournament (behaviour.md 10): contenders meet at the cohorts where their paths
// to the root join, and the one whose side would have the smaller share goes up. Standings are
// kept: what an entry charges changes shares on its own path only, so that the next round costs the
// depth of the tree, each level the logarithm of its width.
#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "engine/cycle/entry.h"
#include "engine/fairshare/share.h"

namespace kueue::engine {

// The entries of one tree of the quota forest.
class FairTournament {
 public:
  FairTournament(Cycle& cycle, const std::vector<Entry*>& entries);
  // The next one, nullptr at the end. What the overlay shows may have changed since the last call
  // only by charges to the queue of the entry that it gave.
  Entry* next();

 private:
  // Who goes up from a node, and how it stands below the node's parent.
  struct Standing {
    Entry* entry = nullptr;
    QuotaId node;
    Share share;             // of the node, with the entry's usage added
    bool borrowing = false;  // the node, on the flavors and resources that the entry asks for
  };
  struct Before {
    const World* world;
    bool operator()(const Standing& a, const Standing& b) const;
  };
  using Field = std::set<Standing, Before>;  // best first

  Entry* champion(QuotaId node) const;
  Standing standing(Entry* entry, QuotaId node) const;
  // Brings the standings from the queue up to the root up to date.
  void refresh(QuotaId queue);

  Cycle& cycle_;
  const World& world_;
  QuotaId root_;
  std::unordered_map<uint32_t, std::vector<Entry*>> waiting_;  // by node of the queue
  std::unordered_map<uint32_t, Field> fields_;                 // by cohort: one standing per child
  std::unordered_map<uint32_t, Field::iterator> places_;       // by child
  QuotaId changed_;  // queue of the last winner; invalid = none
};

}  // namespace kueue::engine
