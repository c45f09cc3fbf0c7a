// The scheduling digest of a workload: equal digests mean equal outcome (behaviour.md 3, "Hash").
#include "engine/queue/digest.h"

#include <string_view>

namespace kueue::engine {
namespace {

class Mixer {
 public:
  void text(std::string_view s) {
    number(static_cast<int64_t>(s.size()));
    for (char c : s) byte(static_cast<unsigned char>(c));
  }
  void number(int64_t n) {
    auto u = static_cast<uint64_t>(n);
    for (int i = 0; i < 8; ++i) byte(static_cast<unsigned char>(u >> (8 * i)));
  }
  Digest done() const { return {a_ == 0 && b_ == 0 ? 1 : a_, b_}; }

 private:
  void byte(unsigned char c) {
    a_ = (a_ ^ c) * 0x100000001b3ull;
    b_ = (b_ + c + 1) * 0x9e3779b97f4a7c15ull;
    b_ ^= b_ >> 29;
  }
  uint64_t a_ = 0xcbf29ce484222325ull;
  uint64_t b_ = 0x243f6a8885a308d3ull;
};

void mix(Mixer& m, const TopologyRequest& t) {
  m.text(t.required.value_or("\x01"));
  m.text(t.preferred.value_or("\x01"));
  m.number(t.unconstrained ? (*t.unconstrained ? 1 : 0) : -1);
  m.text(t.pod_set_group);
  m.text(t.slice_topology.value_or("\x01"));
  m.number(t.slice_size.value_or(-1));
  for (const SliceConstraint& layer : t.slice_layers) {
    m.text(layer.topology);
    m.number(layer.size);
  }
}

}  // namespace

int32_t effective_count(const World& world, const Workload& w, const PodSet& ps) {
  if (!world.gate(Gate::kReclaimablePods)) return ps.count;
  for (const auto& [name, count] : w.reclaimable)
    if (name == ps.name) return ps.count - std::min(ps.count, count);
  return ps.count;
}

Digest scheduling_digest(const World& world, const Workload& w) {
  if (!world.gate(Gate::kSchedulingEquivalenceHashing)) return {};
  Mixer m;
  for (const PodSet& ps : w.pod_sets) {
    m.text(ps.name);
    m.text(ps.pod->shape);
    m.number(effective_count(world, w, ps));
    m.number(ps.min_count.value_or(-1));
    for (const auto& [resource, amount] : ps.pod->requests) {
      m.text(resource);
      m.number(amount);
    }
    if (ps.topology) mix(m, *ps.topology);
    m.number(-7);
  }
  m.number(w.effective_priority());
  if (world.gate(Gate::kConcurrentAdmission))
    for (const std::string& flavor : w.allowed_flavors) m.text(flavor);
  return m.done();
}

bool same_pod_sets(const Workload& a, const Workload& b) {
  if (a.pod_sets.size() != b.pod_sets.size()) return false;
  for (size_t i = 0; i < a.pod_sets.size(); ++i) {
    const PodSet& x = a.pod_sets[i];
    const PodSet& y = b.pod_sets[i];
    if (x.name != y.name || x.count != y.count || x.min_count != y.min_count ||
        x.topology != y.topology)
      return false;
    if (x.pod != y.pod && !(*x.pod == *y.pod)) return false;
  }
  return true;
}

bool digests_alike(const Workload& a, const Workload& b) {
  return a.effective_priority() == b.effective_priority() && a.reclaimable == b.reclaimable &&
         a.allowed_flavors == b.allowed_flavors &&
         std::equal(a.pod_sets.begin(), a.pod_sets.end(), b.pod_sets.begin(), b.pod_sets.end(),
                    [](const PodSet& x, const PodSet& y) {
                      return x.name == y.name && x.count == y.count && x.min_count == y.min_count &&
                             x.pod == y.pod && x.topology == y.topology;
                    });
}

}  // namespace kueue::engine
