// The quota forest: ClusterQueues and Cohorts as trees, with nominal quotas, borrowing and lending
// limits and usage per flavor and resource. Spec: behaviour.md section 7. Structure changes are
// collected and take effect at settle(); usage changes cost the depth of the tree. A journal makes
// what-if changes revertible (overlay.h).
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fetch_ahead.h"
#include "engine/model/objects.h"
#include "engine/names.h"

namespace kueue::engine {

struct QuotaSpec {
  FrId fr;
  Amount nominal;
  std::optional<Amount> borrowing_limit;
  std::optional<Amount> lending_limit;
};

struct QuotaCell {
  Amount nominal;
  Amount subtree;    // S: own quota and what the children lend
  Amount local;      // L: the part of S that is never lent
  Amount potential;  // the most that could ever be available
  Amount usage;      // U
  std::optional<Amount> borrowing_limit;
};

// What each admission reads stands first: it is one line of the caches.
struct alignas(64) QuotaNode {
  bool queue = false;     // ClusterQueue, else Cohort
  bool active = true;     // a ClusterQueue that admits: others do not count for heights
  bool exists = false;    // the object exists (a cohort that is only referenced does not)
  bool reshaped = false;  // quotas or place in the tree changed since settle()

  // Derived by settle():
  bool in_cycle = false;
  QuotaId parent;
  QuotaId root;
  uint32_t position = 0;  // among the children of its parent
  int32_t height = 0;     // 0 for ClusterQueues
  int32_t depth = 0;
  // Follow each change of usage: in how many cells the node uses more than its own quota, and
  // which children do in any (`borrowers`).
  int32_t exceeded = 0;
  std::vector<QuotaCell> cells;   // by position in the tree's list of flavor-resources
  std::set<uint32_t> borrowers;   // positions
  std::vector<QuotaId> children;  // cohorts first, each kind by name
  std::vector<std::pair<ResourceId, double>>
      lendable;  // per resource: Σ potential of this node (fair sharing)

  // As given:
  std::string name;
  std::string parent_name;
  double weight = 1;
  std::vector<QuotaSpec> quotas;

  // Begins to fetch what each admission reads, cells aside.
  void fetch() const { fetch_ahead(this, &borrowers); }
};

class Forest {
 public:
  explicit Forest(const Names& names) : names_(names) {}

  // The node of that ClusterQueue / Cohort; made when absent.
  QuotaId queue_node(const std::string& name) { return node(queues_, name, true); }
  QuotaId cohort_node(const std::string& name) { return node(cohorts_, name, false); }
  QuotaId find_queue(const std::string& name) const;
  QuotaId find_cohort(const std::string& name) const;

  void set(QuotaId id, const std::string& parent, std::vector<QuotaSpec> quotas, double weight);
  // The object is gone. A cohort stays as an implicit one while something refers to it; usage of a
  // ClusterQueue is kept.
  void remove(QuotaId id);

  // Whether the ClusterQueue admits; heights of its cohorts follow.
  void set_active(QuotaId queue, bool active);

  // Rebuilds the trees whose structure changed; a no-op otherwise. Must be called before any of the
  // questions below. Calls `rebuilt` for each ClusterQueue node of trees whose shape or quota
  // changed, when set.
  void settle();
  std::function<void(QuotaId)> rebuilt;

  const QuotaNode& at(QuotaId id) const { return nodes_[id]; }
  bool has_parent(QuotaId id) const { return nodes_[id].parent.valid(); }
  // All nodes that are in use, by (kind, name).
  std::vector<QuotaId> used_nodes() const;
  // ClusterQueue nodes below (and including) the node, by name within each cohort, depth first.
  std::vector<QuotaId> queues_below(QuotaId id) const;
  // The flavor-resources of the node's tree, index-aligned with cells.
  const std::vector<FrId>& tree_frs(QuotaId id) const;

  Amount nominal(QuotaId id, FrId fr) const { return cell(id, fr).nominal; }
  Amount subtree_quota(QuotaId id, FrId fr) const { return cell(id, fr).subtree; }
  Amount usage(QuotaId id, FrId fr) const { return cell(id, fr).usage; }
  Amount potential_available(QuotaId id, FrId fr) const { return cell(id, fr).potential; }
  std::optional<Amount> borrowing_limit(QuotaId id, FrId fr) const {
    return cell(id, fr).borrowing_limit;
  }
  Amount local_available(QuotaId id, FrId fr) const;
  // What the node may use now; at least 0 for a ClusterQueue.
  Amount available(QuotaId id, FrId fr) const;
  bool borrowing_with(QuotaId id, FrId fr, Amount extra) const;
  struct Subtree {
    int32_t height = 0;
    bool below_root = false;  // there is quota outside of it that could be reclaimed
  };
  // The lowest subtree whose quota holds `amount` more in the ClusterQueue.
  Subtree lowest_subtree_that_fits(QuotaId queue, FrId fr, Amount amount) const;
  // "/root/…/queue".
  std::string path(QuotaId id) const;

  // Permanent change of a ClusterQueue's own usage.
  void add_usage(QuotaId queue, const Usage& usage);
  void remove_usage(QuotaId queue, const Usage& usage);
  // The same, when all of it is known: sums that were beyond counting cannot be taken down by
  // parts.
  void reset_usage(QuotaId queue, Usage usage);
  const Usage& own_usage(QuotaId queue) const { return own_usage_[queue.value]; }

  // What-if changes: between begin and the matching rollback only cells change and each change is
  // remembered.
  void what_if_add(QuotaId queue, const Usage& usage);
  void what_if_remove(QuotaId queue, const Usage& usage);
  size_t journal_mark() const { return journal_.size(); }
  void rollback(size_t mark);

 private:
  struct Undo {
    QuotaId node;
    uint32_t cell;
    Amount usage;
  };
  struct Tree {
    std::vector<FrId> frs;  // sorted by id
  };

  QuotaId node(std::unordered_map<std::string, QuotaId>& table, const std::string& name,
               bool queue);
  int32_t height_of(QuotaId id) const;
  void mark_dirty(QuotaId id);
  void mark_reshaped(QuotaId id);
  void link(QuotaId id);
  void rebuild(QuotaId root);
  void fill_quotas(const std::vector<QuotaId>& order, const Tree& tree);
  void fill_usage(const std::vector<QuotaId>& order, const Tree& tree);
  void fill_potential(const std::vector<QuotaId>& order, const Tree& tree);
  void fill_borrowers(const std::vector<QuotaId>& order);
  void set_usage(QuotaId id, size_t ix, Amount usage);
  int index(QuotaId id, FrId fr) const;
  const QuotaCell& cell(QuotaId id, FrId fr) const;
  Amount available_at(QuotaId id, size_t ix) const;
  void bubble_add(QuotaId id, size_t ix, Amount amount, bool record);
  void bubble_remove(QuotaId id, size_t ix, Amount amount, bool record);

  const Names& names_;
  IndexVec<QuotaId, QuotaNode> nodes_;
  std::vector<Usage> own_usage_;  // by node; the truth that cells are rebuilt from
  std::unordered_map<std::string, QuotaId> queues_;
  std::unordered_map<std::string, QuotaId> cohorts_;
  std::vector<Tree> trees_;  // by root node id
  std::vector<QuotaId> dirty_;
  std::vector<bool> is_dirty_;
  std::vector<Undo> journal_;
};

}  // namespace kueue::engine
