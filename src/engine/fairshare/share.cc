#include "engine/fairshare/share.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kueue::engine {

int64_t Share::status_value() const {
  if (infinite()) return std::numeric_limits<int64_t>::max();
  double value = std::ceil(weighted());
  return value >= 9.2e18 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(value);
}

double Share::exact_value() const {
  return infinite() ? std::numeric_limits<double>::quiet_NaN() : weighted();
}

int compare(const Share& a, const Share& b) {
  auto order = [](double x, double y) { return x < y ? -1 : (x > y ? 1 : 0); };
  if (a.infinite() && b.infinite()) return order(a.ratio, b.ratio);
  if (a.infinite() || b.infinite()) return a.infinite() ? 1 : -1;
  return order(a.weighted(), b.weighted());
}

Share share_of(const Names& names, const Forest& forest, QuotaId id) {
  const QuotaNode& node = forest.at(id);
  Share share;
  share.weight = node.weight;
  if (!node.parent.valid()) return share;
  std::vector<std::pair<ResourceId, Amount>> over;
  const std::vector<FrId>& frs = forest.tree_frs(id);
  for (size_t ix = 0; ix < frs.size(); ++ix) {
    Amount extra = node.cells[ix].usage - node.cells[ix].subtree;
    if (extra <= Amount()) continue;
    share.borrowing = true;
    ResourceId resource = names.parts(frs[ix]).resource;
    auto it =
        std::find_if(over.begin(), over.end(), [&](const auto& e) { return e.first == resource; });
    if (it == over.end())
      over.emplace_back(resource, extra);
    else
      it->second += extra;
  }
  for (const auto& [resource, amount] : over) {
    double lendable = 0;
    for (const auto& [r, total] : forest.at(node.parent).lendable)
      if (r == resource) lendable = total;
    if (lendable <= 0) continue;
    double ratio = static_cast<double>(amount.value()) * 1000 / lendable;
    bool first_name = share.dominant.valid() && names.text(resource) < names.text(share.dominant);
    if (ratio > share.ratio || (ratio == share.ratio && first_name)) {
      share.ratio = ratio;
      share.dominant = resource;
    }
  }
  return share;
}

}  // namespace kueue::engine
