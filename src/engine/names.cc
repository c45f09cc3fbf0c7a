#include "engine/names.h"

#include <algorithm>

namespace kueue::engine {

Amount get(const ResourceList& list, ResourceId id) {
  for (const auto& [resource, amount] : list)
    if (resource == id) return amount;
  return Amount();
}

Amount get(const Usage& usage, FrId id) {
  for (const auto& [fr, amount] : usage)
    if (fr == id) return amount;
  return Amount();
}

void add(Usage& usage, FrId id, Amount amount) {
  for (auto& [fr, have] : usage) {
    if (fr != id) continue;
    have += amount;
    return;
  }
  usage.emplace_back(id, amount);
}

void add(Usage& usage, const Usage& other) {
  for (const auto& [fr, amount] : other) add(usage, fr, amount);
}

void subtract(Usage& usage, const Usage& other) {
  for (const auto& [fr, amount] : other) add(usage, fr, Amount() - amount);
  erase_if(usage, [](const auto& entry) { return entry.second.is_zero(); });
}

FrId Names::fr(FlavorId flavor, ResourceId resource) {
  uint64_t key = (uint64_t{flavor.value} << 32) | resource.value;
  auto [it, inserted] = fr_by_parts_.try_emplace(key);
  if (inserted) it->second = frs_.push({flavor, resource});
  return it->second;
}

std::string Names::text(FrId id) const {
  const FlavorResource& p = parts(id);
  return text(p.flavor) + "/" + text(p.resource);
}

ResourceList Names::list(const ResourceAmounts& amounts) {
  ResourceList out;
  out.reserve(amounts.size());
  for (const auto& [name, amount] : amounts) out.emplace_back(resource(name), Amount(amount));
  return out;
}

ResourceAmounts Names::amounts(const ResourceList& list) const {
  ResourceAmounts out;
  out.reserve(list.size());
  for (const auto& [id, amount] : list) out.emplace_back(text(id), amount.value());
  return out;
}

void Names::add(ResourceList& list, ResourceId id, Amount amount) const {
  auto it = std::find_if(list.begin(), list.end(), [&](const auto& e) { return e.first == id; });
  if (it != list.end()) {
    it->second += amount;
    return;
  }
  auto place = std::lower_bound(
      list.begin(), list.end(), text(id),
      [&](const auto& e, const std::string& name) { return text(e.first) < name; });
  list.insert(place, {id, amount});
}

}  // namespace kueue::engine
