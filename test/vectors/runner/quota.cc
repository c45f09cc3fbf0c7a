// Judges of cases about the cache of quotas: caches are filled call by call, our engine by the same
// objects as events; questions go to the engine's own tables.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "bridge/quantities.h"
#include "engine/fairshare/share.h"
#include "engine/overlay.h"
#include "engine/world.h"
#include "json/json.h"
#include "replay.h"
#include "schema/codec.h"
#include "told.h"

namespace kueue::vectors {
namespace {

// "flavor/resource".
engine::FrId fr_of(engine::World& world, std::string_view text) {
  const size_t slash = text.find('/');
  return world.names.fr(world.names.flavor(text.substr(0, slash)),
                        world.names.resource(text.substr(slash + 1)));
}

engine::Usage usage_of(engine::World& world, const json::Value& by_fr) {
  engine::Usage usage;
  if (by_fr.is_object())
    for (const auto& [name, amount] : by_fr.as_object())
      engine::add(usage, fr_of(world, name), amount_of(amount));
  return usage;
}

// Kueue's share as a value: ours of the same numbers.
engine::Share share_of_json(engine::World& world, const json::Value& given) {
  engine::Share share;
  share.ratio = number(at(given, {"unweightedRatio"}));
  share.weight = number(at(given, {"fairWeight"}));
  share.borrowing = given.get_bool({"borrowing"});
  if (const std::string_view name = given.get_string({"dominantResource"}); !name.empty())
    share.dominant = world.names.resource(name);
  return share;
}

bool near(double a, double b) { return a == b || std::abs(a - b) <= 1e-9 * std::abs(a); }

class QuotaSteps {
 public:
  explicit QuotaSteps(const json::Value& test) : test_(test), told_(test) {}

  Differences run() {
    for (const json::Value& step : steps_of(test_)) {
      look(step);
      if (!out_.empty()) break;
    }
    return out_;
  }

 private:
  engine::World& world() { return told_.state().world(); }
  engine::Forest& forest() { return world().forest; }

  void differ_here(const json::Value& step, const json::Value& actual) {
    for (std::string& d : compared(at(step, {"expect", "result"}), actual))
      out_.push_back(std::string(step.get_string({"call"})) + " " + d);
  }
  void expect_cycle(const json::Value& step, bool cycle) {
    if (at(step, {"expect", "error"}).is_null() == cycle)
      out_.push_back(std::string(step.get_string({"call"})) + (cycle ? ": a cycle" : ": no cycle"));
  }

  void look(const json::Value& step) {
    std::string_view call = step.get_string({"call"});
    call.remove_prefix(call.find('.') + 1);
    const json::Value& args = at(step, {"args"});
    if (call == "Cache.AddOrUpdateCohort") {
      told_.tell(at(args, {"apiCohort"}));
      expect_cycle(
          step,
          told_.state()
              .cohort_status(std::string(at(args, {"apiCohort"}).get_string({"metadata", "name"})))
              .in_cycle);
    } else if (call == "Cache.AddClusterQueue" || call == "Cache.UpdateClusterQueue") {
      told_.tell(at(args, {"cq"}));
      forest().settle();
      expect_cycle(step, in_cycle(forest().find_queue(
                             std::string(at(args, {"cq"}).get_string({"metadata", "name"})))));
    } else if (call == "Cache.TerminateClusterQueue") {
      json::Value queue = told_.object("ClusterQueue", args.get_string({"name"}));
      queue["metadata"]["deletionTimestamp"] = test_.get_string({"clock"});
      told_.tell(queue);
    } else if (call == "Cache.AddOrUpdateResourceFlavor" || call == "Cache.AddOrUpdateTopology" ||
               call == "Cache.AddOrUpdateAdmissionCheck" || call == "Cache.AddOrUpdateWorkload" ||
               call == "Cache.AddLocalQueue") {
      for (const auto& [name, object] : args.as_object()) told_.tell(object);
    } else {
      ask(step, call, args);
    }
  }

  void ask(const json::Value& step, std::string_view call, const json::Value& args) {
    forest().settle();
    if (call == "Cache.Snapshot" || call == "Snapshot.AddWorkload" || call == "NewInfo") return;
    if (call == "ClusterQueueSnapshot.Available" || call == "potentialAvailable") {
      const bool now = call != "potentialAvailable";
      engine::QuotaId node = node_of(now ? at(step, {"receiver"}) : at(args, {"node"}));
      engine::FrId fr = fr_of(world(), args.get_string({"fr"}));
      differ_here(step, amount_json(now ? forest().available(node, fr)
                                        : forest().potential_available(node, fr)));
    } else if (call == "ClusterQueueSnapshot.AddUsage" ||
               call == "ClusterQueueSnapshot.RemoveUsage") {
      change_usage(call.ends_with("AddUsage"), at(args, {"usage", "quota", "assigned"}));
    } else if (call == "dominantResourceShare") {
      share(step, node_of(at(args, {"node"})), at(args, {"wlReq"}));
    } else if (call.starts_with("DRS.")) {
      ask_share(step, call, share_of_json(world(), at(step, {"receiver"})));
    } else if (call == "Cache.ancestors") {
      ancestors(step, forest().find_cohort(std::string(args.get_string({"cohortName"}))), false);
    } else if (call == "Cache.ClusterQueueAncestors") {
      ancestors(step, cohort_of(at(args, {"cqObj"})), true);
    } else if (call == "Cache.workloadAncestors") {
      const std::string queue(args.get_string({"wl", "status", "admission", "clusterQueue"}));
      engine::QuotaId node = forest().find_queue(queue);
      ancestors(step, node.valid() ? parent_of(node) : node, false);
    } else if (call == "cohort.getResourceNode") {
      some_cohort(step);
    } else {
      ask_status(step, call, args);
    }
  }

  void ask_status(const json::Value& step, std::string_view call, const json::Value& args) {
    const std::string name(args.get_string({"name"}));
    const engine::QueueActivity activity = told_.state().cluster_queue_activity(name);
    if (call == "Cache.ClusterQueueReadiness") {
      json::Value ours = json::Value::object({{"result0", activity.active ? "True" : "False"},
                                              {"result1", activity.reason},
                                              {"result2", activity.message}});
      differ(out_, "readiness", at(step, {"expect"}), ours);
    } else if (call == "Cache.ClusterQueueActive") {
      differ_here(step, activity.active);
    } else if (call == "Cache.ClusterQueueTerminating") {
      differ_here(step, activity.reason == "Terminating");
    } else if (call == "Cache.Usage") {
      const engine::ClusterQueueStatus s = told_.state().cluster_queue_status(
          std::string(args.get_string({"cqObj", "metadata", "name"})));
      // The share is only shown with fair sharing, which the case does not tell.
      const json::Value& share = at(step, {"expect", "result", "weightedShare"});
      differ_here(step,
                  json::Value::object(
                      {{"admittedResources", usage_json(s.usage, true)},
                       {"reservedResources", usage_json(s.reservation, true)},
                       {"admittedWorkloads", int64_t{s.admitted}},
                       {"reservingWorkloads", int64_t{s.reserving}},
                       {"weightedShare", number(share) == 0 ? int64_t{0} : s.weighted_share}}));
    } else if (call == "Cache.LocalQueueUsage") {
      const json::Value& meta = at(args, {"qObj", "metadata"});
      const engine::LocalQueueStatus s = told_.state().local_queue_status(
          {std::string(meta.get_string({"namespace"})), std::string(meta.get_string({"name"}))});
      differ_here(step,
                  json::Value::object({{"admittedResources", usage_json(s.usage, false)},
                                       {"reservedResources", usage_json(s.reservation, false)},
                                       {"admittedWorkloads", int64_t{s.admitted}},
                                       {"reservingWorkloads", int64_t{s.reserving}}}));
    } else {
      out_.push_back("nobody judges " + std::string(call));
    }
  }

  static json::Value usage_json(const std::vector<engine::FlavorUsage>& usage, bool borrowed) {
    json::Array flavors;
    for (const engine::FlavorUsage& flavor : usage) {
      json::Array resources;
      for (const engine::ResourceUsage& r : flavor.resources) {
        json::Value one = json::Value::object(
            {{"name", r.resource},
             {"total", bridge::quantity_of(r.resource, r.total.value()).to_string()}});
        if (borrowed)
          one["borrowed"] = bridge::quantity_of(r.resource, r.borrowed.value()).to_string();
        resources.push_back(std::move(one));
      }
      flavors.push_back(
          json::Value::object({{"name", flavor.flavor}, {"resources", std::move(resources)}}));
    }
    return json::Value(std::move(flavors));
  }

  bool in_cycle(engine::QuotaId node) { return node.valid() && forest().at(node).in_cycle; }
  engine::QuotaId parent_of(engine::QuotaId node) {
    if (forest().at(node).in_cycle || forest().at(node).parent.valid())
      return forest().at(node).in_cycle ? node : forest().at(node).parent;
    return {};
  }
  engine::QuotaId node_of(const json::Value& given) {
    const std::string name(given.get_string({"name"}));
    return given.find("clusterQueue") != nullptr ? forest().find_queue(name)
                                                 : forest().find_cohort(name);
  }
  engine::QuotaId cohort_of(const json::Value& queue) {
    return forest().find_cohort(std::string(queue.get_string({"spec", "cohortName"})));
  }

  // Upwards from the cohort, as its path says.
  void ancestors(const json::Value& step, engine::QuotaId node, bool without_root) {
    expect_cycle(step, in_cycle(node));
    json::Array names;
    if (node.valid() && !in_cycle(node)) {
      std::string path = forest().path(node);
      for (size_t slash; (slash = path.rfind('/')) != std::string::npos; path.resize(slash))
        names.emplace_back(path.substr(slash + 1));
      if (without_root) names.pop_back();
    }
    differ_here(step, json::Value(std::move(names)));
  }

  // Which ClusterQueue the change is about is not written down: one of those with such a usage,
  // each once.
  void change_usage(bool add, const json::Value& usage) {
    std::set<std::string>& done = add ? added_ : removed_;
    for (const auto& [name, of_queue] : members(at(test_, {"input", "raw", "usage"}))) {
      if (!(of_queue == usage) || !done.insert(name).second) continue;
      const engine::QuotaId node = forest().find_queue(name);
      const engine::Usage change = usage_of(world(), usage);
      if (add)
        forest().add_usage(node, change);
      else
        forest().remove_usage(node, change);
      return;
    }
    out_.push_back("no ClusterQueue has this usage");
  }

  void share(const json::Value& step, engine::QuotaId node, const json::Value& requested) {
    const engine::Usage more = usage_of(world(), requested);
    const size_t mark = forest().journal_mark();
    if (!more.empty() && forest().at(node).queue) forest().what_if_add(node, more);
    const engine::Share share = engine::share_of(world().names, forest(), node);
    const json::Value& wanted = at(step, {"expect", "result"});
    json::Array borrowed;
    if (forest().has_parent(node))
      for (engine::FrId fr : forest().tree_frs(node))
        if (forest().borrowing_with(node, fr, Amount()))
          borrowed.emplace_back(world().names.text(fr));
    forest().rollback(mark);
    const auto by_text = [](const json::Value& a, const json::Value& b) {
      return a.string_or("") < b.string_or("");
    };
    std::sort(borrowed.begin(), borrowed.end(), by_text);
    json::Value ours = json::Value::object(
        {{"borrowing", share.borrowing},
         {"dominantResource",
          share.dominant.valid() ? world().names.text(share.dominant).str() : std::string()},
         {"unweightedRatio", near(share.ratio, number(at(wanted, {"unweightedRatio"})))
                                 ? at(wanted, {"unweightedRatio"})
                                 : json::Value(share.ratio)},
         {"borrowedFRs", std::move(borrowed)}});
    // The weight of a root says nothing.
    if (forest().has_parent(node)) ours["fairWeight"] = share.weight;
    json::Value theirs = wanted;
    if (json::Value* list = theirs.find("borrowedFRs"); list != nullptr && list->is_array())
      std::sort(list->as_array().begin(), list->as_array().end(), by_text);
    if (!forest().has_parent(node)) theirs.erase_path({"fairWeight"});
    differ(out_, "share of " + forest().path(node), pruned(theirs), pruned(ours));
  }

  void ask_share(const json::Value& step, std::string_view call, const engine::Share& share) {
    if (call == "DRS.roundedWeightedShare") {
      differ_here(step, share.status_value());
    } else if (call == "DRS.IsBorrowing") {
      differ_here(step, share.borrowing);
    } else if (call == "DRS.IsBorrowingOn") {
      bool any = false;
      if (const json::Value& asked = at(step, {"args", "requestedFRs"}); asked.is_object())
        for (const auto& [name, amount] : asked.as_object())
          any = any ||
                forest().borrowing_with(forest().find_queue("cq"), fr_of(world(), name), Amount());
      differ_here(step, any);
    } else {
      out_.push_back("nobody judges " + std::string(call));
    }
  }

  // Which cohort is meant is not written down: some cohort has exactly these quotas.
  void some_cohort(const json::Value& step) {
    json::Array have;
    for (engine::QuotaId id : forest().used_nodes()) {
      const engine::QuotaNode& node = forest().at(id);
      if (node.queue) continue;
      json::Value quotas = json::Value::object(), subtree = json::Value::object(),
                  usage = json::Value::object();
      if (!node.in_cycle)
        for (size_t i = 0; i < node.cells.size(); ++i) {
          const std::string fr = world().names.text(forest().tree_frs(id)[i]);
          subtree[fr] = amount_json(node.cells[i].subtree);
          usage[fr] = amount_json(node.cells[i].usage);
        }
      for (const engine::QuotaSpec& spec : node.quotas)
        quotas[world().names.text(spec.fr)] =
            json::Value::object({{"nominal", amount_json(spec.nominal)}});
      have.push_back(pruned(
          json::Value::object({{"quotas", quotas}, {"subtreeQuota", subtree}, {"usage", usage}})));
      if (have.back() == pruned(at(step, {"expect", "result"}))) return;
    }
    differ(out_, "cohort", pruned(at(step, {"expect", "result"})), json::Value(std::move(have)));
  }

  const json::Value& test_;
  Told told_;
  std::set<std::string> added_, removed_;
  Differences out_;
};

// Passes over Cohorts: each brings the cache up to date with one of them; an error where the cache
// sees a cycle then.
Differences cohort_passes(const json::Value& test) {
  Told told(test);
  std::map<std::string, json::Value> stored;
  Differences out;
  for (const json::Value& step : items(at(test, {"steps"}))) {
    for (const json::Value& object : items(at(step, {"objects"})))
      stored[std::string(object.get_string({"metadata", "name"}))] = object;
    if (step.get_string({"call"}) != "core.CohortReconciler.Reconcile") continue;
    std::string name(step.get_string({"args", "req", "namespacedName"}));
    name.erase(0, name.find('/') + 1);
    if (!stored.contains(name)) return {"no Cohort " + name};
    told.tell(stored[name]);
    if (told.state().cohort_status(name).in_cycle == at(step, {"expect", "error"}).is_null())
      out.push_back("cycle of " + name);
  }
  return out;
}

}  // namespace

void add_quota_judges(Judges& judges) {
  for (const char* subject : {"returns-error", "cache-snapshot-behavior"})
    judges.add("reconcile core/cohort-reconcile-cycle-" + std::string(subject), cohort_passes);
  const Judge judge = [](const json::Value& test) { return QuotaSteps(test).run(); };
  for (const char* subject :
       {"ancestors", "available", "cluster-queue-ancestors", "cluster-queue-readiness",
        "cluster-queue-readiness-with-tas", "cluster-queue-usage", "cohort-cycles",
        "dominant-resource-share", "is-borrowing-on", "local-queue-usage", "workload-ancestors"})
    judges.add("function cache-scheduler/" + std::string(subject), judge);
}

}  // namespace kueue::vectors
