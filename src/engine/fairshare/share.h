// Dominant resource share of a node of the quota forest (behaviour.md 9): how much more than its
// own quota it uses, in thousandths of what could be lent to it, divided by its weight.
#pragma once

#include "engine/quota/forest.h"

namespace kueue::engine {

struct Share {
  double ratio = 0;  // of the dominant resource, unweighted
  double weight = 1;
  bool borrowing = false;
  ResourceId dominant;

  bool infinite() const { return weight == 0 && ratio > 0; }
  double weighted() const { return weight == 0 ? 0 : ratio / weight; }
  // As the metrics show it: NaN when infinite.
  double exact_value() const;
  // As the status shows it: rounded up, the largest int64 when infinite.
  int64_t status_value() const;
};

// Negative when a < b, 0 when equal. Infinite ones are above all others; two of them compare by
// ratio.
int compare(const Share& a, const Share& b);

// Zero for a node without parent.
Share share_of(const Names& names, const Forest& forest, QuotaId node);

}  // namespace kueue::engine
