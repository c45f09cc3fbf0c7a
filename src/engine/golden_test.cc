// Golden cases: test/golden/engine/*.case, one rule each. A case is a little world, steps, a line
// of dashes, and what the engine decided. UPDATE_GOLDEN=1 rewrites the part below the dashes.
//
//   flavor NAME [label=k:v] [taint=k:v:Effect]
//   cohort NAME [parent=P] [FLAVOR/RESOURCE=N]
//   queue NAME [cohort=C] [strategy=StrictFIFO] [within=…] [reclaim=…] [borrow=THRESHOLD]
//   [weight=W]
//              [FLAVOR/RESOURCE=N[,borrow:N][,lend:N]]            one resource group per resource
//              list in order of flavors
//   pending NAME queue=Q RESOURCE=N [pods=N] [min=N] [priority=N] [at=SECONDS] [tolerate=k]
//   [select=k:v] admitted NAME … flavor=F [evicted=yes] fair | gate NAME=true|false | cycle | retry
//   | finish NAME | delete NAME
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "engine/engine.h"

namespace kueue::engine {
namespace {

namespace fs = std::filesystem;

struct Line {
  std::string verb, name;
  std::vector<std::pair<std::string, std::string>> options;
  std::string get(const std::string& key, const std::string& fallback = "") const {
    for (const auto& [k, v] : options)
      if (k == key) return v;
    return fallback;
  }
};

Line parse_line(const std::string& text) {
  std::istringstream in(text);
  Line line;
  in >> line.verb;
  for (std::string word; in >> word;) {
    size_t equals = word.find('=');
    if (equals == std::string::npos)
      line.name = word;
    else
      line.options.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return line;
}

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);) out.push_back(part);
  return out;
}

std::vector<ResourceGroup> groups_of(const Line& line) {
  ResourceGroup group;
  for (const auto& [key, value] : line.options) {
    size_t slash = key.find('/');
    if (slash == std::string::npos) continue;
    std::string flavor = key.substr(0, slash), resource = key.substr(slash + 1);
    std::vector<std::string> parts = split(value, ',');
    ResourceQuota quota{resource, Amount(std::stoll(parts[0])), std::nullopt, std::nullopt};
    for (const std::string& part : parts) {
      if (part.starts_with("borrow:")) quota.borrowing_limit = Amount(std::stoll(part.substr(7)));
      if (part.starts_with("lend:")) quota.lending_limit = Amount(std::stoll(part.substr(5)));
    }
    if (std::find(group.covered.begin(), group.covered.end(), resource) == group.covered.end())
      group.covered.push_back(resource);
    auto it = std::find_if(group.flavors.begin(), group.flavors.end(),
                           [&](auto& f) { return f.flavor == flavor; });
    if (it == group.flavors.end()) it = group.flavors.insert(it, {flavor, {}});
    it->resources.push_back(quota);
  }
  if (group.covered.empty()) return {};
  return {group};
}

class Runner {
 public:
  std::string run(const std::string& text) {
    std::istringstream in(text);
    std::vector<Line> lines;
    for (std::string line; std::getline(in, line);)
      if (!line.empty() && line[0] != '#') lines.push_back(parse_line(line));
    Settings settings;
    for (const Line& line : lines) {
      if (line.verb == "fair") settings.fair_sharing.emplace();
      if (line.verb == "gate")
        EXPECT_TRUE(
            settings.gates.set(line.options[0].first, line.options[0].second == "true").ok());
    }
    state_ = std::make_unique<State>(settings);
    state_->apply(TimePassed{Instant{} + Duration::seconds(1000)});
    state_->apply(NamespaceChanged{"ns", {}});
    for (const Line& line : lines) {
      step(line);
      state_->check_invariants();
    }
    return out_;
  }

 private:
  void step(const Line& line) {
    if (line.verb == "flavor") return flavor(line);
    if (line.verb == "cohort")
      return state_->apply(CohortChanged{{line.name, line.get("parent"), groups_of(line), 1}});
    if (line.verb == "queue") return queue(line);
    if (line.verb == "pending" || line.verb == "admitted") return workload(line);
    if (line.verb == "cycle") return cycle();
    if (line.verb == "retry") return state_->apply(FlushRetries{});
    if (line.verb == "delete") return state_->apply(WorkloadDeleted{{"ns", line.name}});
    if (line.verb == "finish") {
      auto w = std::make_shared<Workload>(*workloads_.at(line.name));
      w->conditions.push_back(
          {ConditionType::kFinished, ConditionStatus::kTrue, "Succeeded", "", {}});
      return state_->apply(WorkloadChanged{w});
    }
    if (line.verb != "fair" && line.verb != "gate") ADD_FAILURE() << "unknown verb " << line.verb;
  }

  void flavor(const Line& line) {
    Flavor f;
    f.name = line.name;
    for (const auto& [key, value] : line.options) {
      std::vector<std::string> p = split(value, ':');
      if (key == "label") f.node_labels.emplace_back(p[0], p[1]);
      if (key == "taint") f.taints.push_back({p[0], p[1], p[2]});
    }
    state_->apply(FlavorChanged{f});
  }

  void queue(const Line& line) {
    ClusterQueue q;
    q.name = line.name;
    q.cohort = line.get("cohort");
    if (line.get("strategy") == "StrictFIFO") q.strategy = QueueingStrategy::kStrictFifo;
    q.namespace_selector = LabelSelector();
    q.groups = groups_of(line);
    if (line.get("within") == "LowerPriority")
      q.preemption.within = WithinClusterQueue::kLowerPriority;
    if (line.get("within") == "LowerOrNewerEqualPriority")
      q.preemption.within = WithinClusterQueue::kLowerOrNewerEqualPriority;
    if (line.get("reclaim") == "Any") q.preemption.reclaim = ReclaimWithinCohort::kAny;
    if (line.get("reclaim") == "LowerPriority")
      q.preemption.reclaim = ReclaimWithinCohort::kLowerPriority;
    if (std::string threshold = line.get("borrow"); !threshold.empty()) {
      q.preemption.borrow.lower_priority = true;
      q.preemption.borrow.max_priority_threshold = std::stoi(threshold);
    }
    if (line.get("when-borrow") == "next")
      q.fungibility.when_can_borrow = FungibilityPolicy::kTryNextFlavor;
    if (line.get("when-preempt") == "stop")
      q.fungibility.when_can_preempt = FungibilityPolicy::kMayStopSearch;
    q.fair_weight = std::stod(line.get("weight", "1"));
    if (line.get("stop") == "Hold") q.stop = StopPolicy::kHold;
    state_->apply(ClusterQueueChanged{q});
    state_->apply(LocalQueueChanged{{{"ns", line.name}, line.name, StopPolicy::kNone, 1, false}});
  }

  void workload(const Line& line) {
    auto w = std::make_shared<Workload>();
    auto pod = std::make_shared<PodTemplate>();
    w->key = {"ns", line.name};
    w->uid = line.name;
    w->generation = 1;
    w->queue_name = line.get("queue");
    w->priority = std::stoll(line.get("priority", "0"));
    w->created = Instant{} + Duration::seconds(std::stoll(line.get("at", "1")));
    PodSet ps;
    ps.name = "main";
    ps.count = std::stoi(line.get("pods", "1"));
    if (std::string min = line.get("min"); !min.empty()) ps.min_count = std::stoi(min);
    for (const auto& [key, value] : line.options) {
      if (key == "cpu" || key == "memory" || key == "gpu")
        pod->requests.emplace_back(key, std::stoll(value));
      if (key == "tolerate") pod->tolerations.push_back({value, "Exists", "", ""});
      if (key == "select")
        pod->node_selector.emplace_back(split(value, ':')[0], split(value, ':')[1]);
    }
    std::sort(pod->requests.begin(), pod->requests.end());
    pod->raw_requests = pod->requests;
    pod->shape = line.get("select") + "|" + line.get("tolerate");
    ps.pod = pod;
    if (line.verb == "admitted") {
      PodSetAssignment a;
      a.name = "main";
      a.count = ps.count;
      for (const auto& [resource, amount] : pod->requests) {
        a.flavors.emplace_back(resource, line.get("flavor"));
        a.usage.emplace_back(resource, amount * ps.count);
      }
      w->admission = Admission{w->queue_name, {a}};
      w->conditions = {
          {ConditionType::kQuotaReserved, ConditionStatus::kTrue, "QuotaReserved", "", w->created},
          {ConditionType::kAdmitted, ConditionStatus::kTrue, "Admitted", "", w->created}};
      if (line.get("evicted") == "yes")
        w->conditions.push_back(
            {ConditionType::kEvicted, ConditionStatus::kTrue, "Preempted", "", w->created});
    }
    w->pod_sets.push_back(std::move(ps));
    workloads_[line.name] = w;
    state_->apply(WorkloadChanged{w});
  }

  void cycle() {
    if (!state_->has_work()) {
      out_ += "cycle: nothing to do\n";
      return;
    }
    out_ += "cycle\n";
    Plan p = plan(*state_, {.now = Instant{} + Duration::seconds(1000)});
    for (const Decision& d : p.why.decisions) {
      out_ += "  " + d.key.name + " in " + d.cluster_queue + ": " +
              (d.nominated ? fit_mode_text(d.mode) : "rejected");
      if (*entry_status_text(d.status)) out_ += std::string(", ") + entry_status_text(d.status);
      if (d.borrow > 0) out_ += ", borrows at height " + std::to_string(d.borrow);
      if (!d.message.empty())
        out_ += std::string("\n    ") + reason_text(d.pending) + ": " + d.message;
      out_ += "\n";
    }
    for (const Command& c : p.commands) {
      if (const auto* a = std::get_if<Admit>(&c)) {
        out_ += "  admit " + a->key.name + ":";
        for (const PodSetAssignment& ps : a->admission.pod_sets) {
          out_ += " " + std::to_string(ps.count.value_or(0)) + " pods";
          for (const auto& [resource, flavor] : ps.flavors)
            out_ += ", " + resource + " from " + flavor;
        }
        out_ += "\n";
      }
      if (const auto* e = std::get_if<Evict>(&c))
        out_ += "  evict " + e->key.name + " (" + preempt_reason_text(e->preempt_reason) +
                ") for " + e->preemptor.name + "\n";
    }
  }

  std::unique_ptr<State> state_;
  std::map<std::string, std::shared_ptr<const Workload>> workloads_;
  std::string out_;
};

TEST(Golden, Engine) {
  std::vector<fs::path> files;
  for (const auto& entry :
       fs::directory_iterator(fs::path(KUEUE_SOURCE_DIR) / "test/golden/engine"))
    if (entry.path().extension() == ".case") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty());
  for (const fs::path& file : files) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    std::string all = text.str();
    size_t dashes = all.find("\n----\n");
    std::string world = all.substr(0, dashes == std::string::npos ? all.size() : dashes + 1);
    std::string expected = dashes == std::string::npos ? "" : all.substr(dashes + 6);
    std::string actual = Runner().run(world);
    EXPECT_EQ(actual, Runner().run(world)) << file << " is not deterministic";
    if (std::getenv("UPDATE_GOLDEN") != nullptr) {
      std::ofstream(file) << world << "----\n" << actual;
      continue;
    }
    EXPECT_EQ(expected, actual) << file;
  }
}

}  // namespace
}  // namespace kueue::engine
