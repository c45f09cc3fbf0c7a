#include "engine/quota/forest.h"

#include <algorithm>

#include "base/check.h"

namespace kueue::engine {
namespace {
constexpr Amount kZero{};
const QuotaCell kNoCell;
}  // namespace

QuotaId Forest::node(std::unordered_map<std::string, QuotaId>& table, const std::string& name,
                     bool queue) {
  auto [it, inserted] = table.try_emplace(name);
  if (inserted) {
    QuotaNode fresh;
    fresh.queue = queue;
    fresh.name = name;
    it->second = nodes_.push(std::move(fresh));
    nodes_[it->second].root = it->second;
    own_usage_.emplace_back();
    trees_.emplace_back();
    is_dirty_.push_back(false);
  }
  return it->second;
}

QuotaId Forest::find_queue(const std::string& name) const {
  auto it = queues_.find(name);
  return it == queues_.end() ? QuotaId() : it->second;
}

QuotaId Forest::find_cohort(const std::string& name) const {
  auto it = cohorts_.find(name);
  return it == cohorts_.end() ? QuotaId() : it->second;
}

void Forest::mark_dirty(QuotaId id) {
  if (is_dirty_[id.value]) return;
  is_dirty_[id.value] = true;
  dirty_.push_back(id);
}

void Forest::mark_reshaped(QuotaId id) {
  nodes_[id].reshaped = true;
  mark_dirty(id);
}

// Moves the node below the parent that its spec names. Both trees are rebuilt at settle().
void Forest::link(QuotaId id) {
  QuotaId parent = nodes_[id].parent_name.empty() ? QuotaId() : cohort_node(nodes_[id].parent_name);
  QuotaNode& n = nodes_[id];
  mark_reshaped(id);
  mark_reshaped(n.root);
  if (n.parent == parent) return;
  if (n.parent.valid()) {
    std::erase(nodes_[n.parent].children, id);
    mark_reshaped(n.parent);
  }
  n.parent = parent;
  if (!parent.valid()) return;
  QuotaNode& p = nodes_[parent];
  auto less = [&](QuotaId a, QuotaId b) {
    const QuotaNode& x = nodes_[a];
    const QuotaNode& y = nodes_[b];
    return x.queue != y.queue ? y.queue : x.name < y.name;
  };
  p.children.insert(std::lower_bound(p.children.begin(), p.children.end(), id, less), id);
  mark_reshaped(parent);
}

void Forest::set(QuotaId id, const std::string& parent, std::vector<QuotaSpec> quotas,
                 double weight) {
  QuotaNode& n = nodes_[id];
  n.exists = true;
  n.parent_name = parent;
  n.quotas = std::move(quotas);
  n.weight = weight;
  link(id);
}

void Forest::remove(QuotaId id) {
  QuotaNode& n = nodes_[id];
  n.exists = false;
  n.parent_name.clear();
  n.quotas.clear();
  n.weight = 1;
  link(id);
}

// One more than the highest cohort below, at least one when anything counts below.
int32_t Forest::height_of(QuotaId id) const {
  int32_t height = 0;
  for (QuotaId child : nodes_[id].children) {
    const QuotaNode& n = nodes_[child];
    if (!n.queue)
      height = std::max(height, n.height + 1);
    else if (n.active)
      height = std::max(height, 1);
  }
  return height;
}

void Forest::set_active(QuotaId queue, bool active) {
  if (nodes_[queue].active == active) return;
  nodes_[queue].active = active;
  size_t steps = 0;
  for (QuotaId id = nodes_[queue].parent; id.valid() && steps <= nodes_.size();
       id = nodes_[id].parent, ++steps)
    nodes_[id].height = height_of(id);
}

void Forest::settle() {
  while (!dirty_.empty()) {
    QuotaId id = dirty_.back();
    if (!is_dirty_[id.value]) {
      dirty_.pop_back();
      continue;
    }
    // The top of the tree, or the news that there is none: a walk longer than all nodes goes in
    // circles.
    QuotaId root = id;
    size_t steps = 0;
    while (nodes_[root].parent.valid() && steps <= nodes_.size()) {
      root = nodes_[root].parent;
      ++steps;
    }
    rebuild(root);
    dirty_.pop_back();
    is_dirty_[id.value] = false;
  }
}

// Rebuilds the component that hangs together with `root`; when parents go in circles, marks all of
// it.
void Forest::rebuild(QuotaId root) {
  std::vector<QuotaId> order{root};
  std::vector<bool> seen(nodes_.size(), false);
  seen[root.value] = true;
  bool cycle = nodes_[root].parent.valid();
  bool reshaped = false;  // else only usage of a new flavor or resource came in
  Tree& tree = trees_[root.value];
  tree.frs.clear();
  for (size_t i = 0; i < order.size(); ++i) {
    QuotaNode& n = nodes_[order[i]];
    n.root = root;
    n.in_cycle = cycle;
    reshaped = reshaped || n.reshaped;
    n.reshaped = false;
    n.depth = i == 0 ? 0 : nodes_[n.parent].depth + 1;
    is_dirty_[order[i].value] = false;
    for (const QuotaSpec& q : n.quotas) tree.frs.push_back(q.fr);
    for (const auto& [fr, amount] : own_usage_[order[i].value]) tree.frs.push_back(fr);
    for (QuotaId child : n.children) {
      if (seen[child.value]) continue;
      seen[child.value] = true;
      order.push_back(child);
    }
  }
  std::sort(tree.frs.begin(), tree.frs.end());
  tree.frs.erase(std::unique(tree.frs.begin(), tree.frs.end()), tree.frs.end());
  fill_quotas(order, tree);
  fill_usage(order, tree);
  fill_potential(order, tree);
  fill_borrowers(order);
  if (rebuilt && reshaped)
    for (QuotaId id : order)
      if (nodes_[id].queue) rebuilt(id);
}

void Forest::fill_quotas(const std::vector<QuotaId>& order, const Tree& tree) {
  for (QuotaId id : order) {
    QuotaNode& n = nodes_[id];
    n.cells.assign(tree.frs.size(), QuotaCell());
  }
  std::vector<std::optional<Amount>> lending;
  for (size_t i = order.size(); i-- > 0;) {
    QuotaNode& n = nodes_[order[i]];
    lending.assign(tree.frs.size(), std::nullopt);
    for (const QuotaSpec& q : n.quotas) {
      auto ix = static_cast<size_t>(index(order[i], q.fr));
      n.cells[ix].nominal = q.nominal;
      n.cells[ix].borrowing_limit = q.borrowing_limit;
      lending[ix] = q.lending_limit;
    }
    QuotaNode* parent = i == 0 ? nullptr : &nodes_[n.parent];
    for (size_t ix = 0; ix < n.cells.size(); ++ix) {
      QuotaCell& c = n.cells[ix];
      c.subtree += c.nominal;
      c.local = lending[ix] ? max(kZero, c.subtree - *lending[ix]) : kZero;
      if (parent != nullptr) parent->cells[ix].subtree += c.subtree - c.local;
    }
    n.height = n.queue || n.in_cycle ? 0 : height_of(order[i]);
  }
}

void Forest::fill_usage(const std::vector<QuotaId>& order, const Tree& tree) {
  for (size_t i = order.size(); i-- > 0;) {
    QuotaNode& n = nodes_[order[i]];
    if (n.queue)
      for (const auto& [fr, amount] : own_usage_[order[i].value])
        n.cells[static_cast<size_t>(index(order[i], fr))].usage += amount;
    if (i == 0) continue;
    QuotaNode& parent = nodes_[n.parent];
    for (size_t ix = 0; ix < tree.frs.size(); ++ix)
      parent.cells[ix].usage += max(kZero, n.cells[ix].usage - n.cells[ix].local);
  }
}

void Forest::fill_potential(const std::vector<QuotaId>& order, const Tree& tree) {
  for (size_t i = 0; i < order.size(); ++i) {
    QuotaNode& n = nodes_[order[i]];
    n.lendable.clear();
    for (size_t ix = 0; ix < tree.frs.size(); ++ix) {
      QuotaCell& c = n.cells[ix];
      c.potential = c.subtree;
      if (i > 0) {
        c.potential = c.local + nodes_[n.parent].cells[ix].potential;
        if (c.borrowing_limit) c.potential = min(c.subtree + *c.borrowing_limit, c.potential);
      }
      if (n.queue) continue;
      ResourceId resource = names_.parts(tree.frs[ix]).resource;
      auto it = std::find_if(n.lendable.begin(), n.lendable.end(),
                             [&](auto& e) { return e.first == resource; });
      double amount = static_cast<double>(c.potential.value());
      if (it == n.lendable.end())
        n.lendable.emplace_back(resource, amount);
      else
        it->second += amount;
    }
  }
}

void Forest::fill_borrowers(const std::vector<QuotaId>& order) {
  for (QuotaId id : order) {
    QuotaNode& n = nodes_[id];
    n.exceeded = 0;
    for (const QuotaCell& c : n.cells) n.exceeded += c.usage > c.subtree ? 1 : 0;
  }
  for (QuotaId id : order) {
    QuotaNode& n = nodes_[id];
    n.borrowers.clear();
    for (size_t i = 0; i < n.children.size(); ++i) {
      QuotaNode& child = nodes_[n.children[i]];
      child.position = static_cast<uint32_t>(i);
      if (child.exceeded > 0) n.borrowers.insert(child.position);
    }
  }
}

void Forest::set_usage(QuotaId id, size_t ix, Amount usage) {
  QuotaNode& n = nodes_[id];
  QuotaCell& c = n.cells[ix];
  bool was = c.usage > c.subtree, is = usage > c.subtree;
  c.usage = usage;
  if (was == is) return;
  n.exceeded += is ? 1 : -1;
  if (!n.parent.valid()) return;
  if (is && n.exceeded == 1) nodes_[n.parent].borrowers.insert(n.position);
  if (!is && n.exceeded == 0) nodes_[n.parent].borrowers.erase(n.position);
}

std::vector<QuotaId> Forest::used_nodes() const {
  std::vector<QuotaId> out;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const QuotaNode& n = nodes_[QuotaId(i)];
    if (n.exists || !n.children.empty()) out.push_back(QuotaId(i));
  }
  std::sort(out.begin(), out.end(), [&](QuotaId a, QuotaId b) {
    const QuotaNode& x = nodes_[a];
    const QuotaNode& y = nodes_[b];
    return x.queue != y.queue ? x.queue : x.name < y.name;
  });
  return out;
}

std::vector<QuotaId> Forest::queues_below(QuotaId id) const {
  std::vector<QuotaId> out;
  if (nodes_[id].in_cycle) return out;
  std::vector<QuotaId> stack{id};
  while (!stack.empty()) {
    QuotaId top = stack.back();
    stack.pop_back();
    const QuotaNode& n = nodes_[top];
    if (n.queue) out.push_back(top);
    for (size_t i = n.children.size(); i-- > 0;) stack.push_back(n.children[i]);
  }
  return out;
}

const std::vector<FrId>& Forest::tree_frs(QuotaId id) const {
  return trees_[nodes_[id].root.value].frs;
}

int Forest::index(QuotaId id, FrId fr) const {
  const std::vector<FrId>& frs = trees_[nodes_[id].root.value].frs;
  auto it = std::lower_bound(frs.begin(), frs.end(), fr);
  return it != frs.end() && *it == fr ? static_cast<int>(it - frs.begin()) : -1;
}

const QuotaCell& Forest::cell(QuotaId id, FrId fr) const {
  int ix = index(id, fr);
  const QuotaNode& n = nodes_[id];
  return ix < 0 || static_cast<size_t>(ix) >= n.cells.size() ? kNoCell
                                                             : n.cells[static_cast<size_t>(ix)];
}

Amount Forest::local_available(QuotaId id, FrId fr) const {
  const QuotaCell& c = cell(id, fr);
  return max(kZero, c.local - c.usage);
}

Amount Forest::available_at(QuotaId id, size_t ix) const {
  const QuotaNode& n = nodes_[id];
  const QuotaCell& c = n.cells[ix];
  if (!n.parent.valid()) return c.subtree - c.usage;
  Amount from_parent = available_at(n.parent, ix);
  if (c.borrowing_limit) {
    Amount bounded = (c.subtree - c.local) - max(kZero, c.usage - c.local) + *c.borrowing_limit;
    from_parent = min(bounded, from_parent);
  }
  return max(kZero, c.local - c.usage) + from_parent;
}

Amount Forest::available(QuotaId id, FrId fr) const {
  int ix = index(id, fr);
  if (ix < 0 || nodes_[id].in_cycle) return kZero;
  Amount a = available_at(id, static_cast<size_t>(ix));
  return nodes_[id].queue ? max(kZero, a) : a;
}

bool Forest::borrowing_with(QuotaId id, FrId fr, Amount extra) const {
  const QuotaCell& c = cell(id, fr);
  return c.subtree < c.usage + extra;
}

Forest::Subtree Forest::lowest_subtree_that_fits(QuotaId queue, FrId fr, Amount amount) const {
  bool parent = has_parent(queue);
  if (!parent || !borrowing_with(queue, fr, amount)) return {0, parent};
  Amount remaining = amount - local_available(queue, fr);
  QuotaId id = nodes_[queue].parent;
  for (;; id = nodes_[id].parent) {
    if (!borrowing_with(id, fr, remaining)) return {nodes_[id].height, has_parent(id)};
    if (!has_parent(id)) return {nodes_[id].height, false};
    remaining -= local_available(id, fr);
  }
}

std::string Forest::path(QuotaId id) const {
  std::string out;
  size_t steps = 0;
  for (; id.valid() && steps <= nodes_.size(); id = nodes_[id].parent, ++steps)
    out = "/" + nodes_[id].name + out;
  return out;
}

void Forest::bubble_add(QuotaId id, size_t ix, Amount amount, bool record) {
  while (id.valid()) {
    const QuotaCell& c = nodes_[id].cells[ix];
    Amount local = max(kZero, c.local - c.usage);
    if (record) journal_.push_back({id, static_cast<uint32_t>(ix), c.usage});
    set_usage(id, ix, c.usage + amount);
    if (amount <= local) return;
    amount -= local;
    id = nodes_[id].parent;
  }
}

void Forest::bubble_remove(QuotaId id, size_t ix, Amount amount, bool record) {
  while (id.valid()) {
    const QuotaCell& c = nodes_[id].cells[ix];
    if (!record && c.usage.is_unlimited()) return mark_dirty(id);  // more than can be counted
    Amount stored = c.usage - c.local;
    if (record) journal_.push_back({id, static_cast<uint32_t>(ix), c.usage});
    set_usage(id, ix, c.usage - amount);
    if (stored <= kZero) return;
    amount = min(amount, stored);
    id = nodes_[id].parent;
  }
}

void Forest::add_usage(QuotaId queue, const Usage& usage) {
  KUEUE_CHECK(journal_.empty(), "permanent usage change during a what-if");
  add(own_usage_[queue.value], usage);
  if (!dirty_.empty()) return mark_dirty(queue);
  for (const auto& [fr, amount] : usage) {
    int ix = index(queue, fr);
    if (ix < 0 || nodes_[queue].cells.empty()) {
      mark_dirty(queue);
      return;
    }
  }
  if (nodes_[queue].in_cycle) return mark_dirty(queue);
  for (const auto& [fr, amount] : usage)
    bubble_add(queue, static_cast<size_t>(index(queue, fr)), amount, false);
}

void Forest::remove_usage(QuotaId queue, const Usage& usage) {
  KUEUE_CHECK(journal_.empty(), "permanent usage change during a what-if");
  subtract(own_usage_[queue.value], usage);
  if (!dirty_.empty()) return mark_dirty(queue);
  if (nodes_[queue].in_cycle) return mark_dirty(queue);
  for (const auto& [fr, amount] : usage)
    if (int ix = index(queue, fr); ix >= 0)
      bubble_remove(queue, static_cast<size_t>(ix), amount, false);
}

void Forest::reset_usage(QuotaId queue, Usage usage) {
  KUEUE_CHECK(journal_.empty(), "permanent usage change during a what-if");
  own_usage_[queue.value] = std::move(usage);
  mark_dirty(queue);
}

void Forest::what_if_add(QuotaId queue, const Usage& usage) {
  for (const auto& [fr, amount] : usage)
    if (int ix = index(queue, fr); ix >= 0)
      bubble_add(queue, static_cast<size_t>(ix), amount, true);
}

void Forest::what_if_remove(QuotaId queue, const Usage& usage) {
  for (const auto& [fr, amount] : usage)
    if (int ix = index(queue, fr); ix >= 0)
      bubble_remove(queue, static_cast<size_t>(ix), amount, true);
}

void Forest::rollback(size_t mark) {
  while (journal_.size() > mark) {
    const Undo& undo = journal_.back();
    set_usage(undo.node, undo.cell, undo.usage);
    journal_.pop_back();
  }
}

}  // namespace kueue::engine
