// Random clusters: where the engine puts pods is where a slow and plain reading of the rules puts
// them (behaviour.md 13.3 to 13.5: one pod set, no slices). After each step no node holds more than
// it has, and a copy made of a snapshot decides alike. KUEUE_TOPOLOGY_WORLDS plays that many.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "engine/snapshot.h"
#include "engine/testing/case_runner.h"
#include "engine/testing/model_compare.h"

namespace kueue::engine {
namespace {

constexpr size_t kWorlds = 25;
constexpr int kSteps = 60;
const std::vector<std::string> kLevels = {"block", "rack", "host"};

struct Machine {
  std::vector<std::string> values;  // block, rack, host
  int64_t cpu = 0, pods = 0;        // free of foreign pods and of ours
  bool ready = true, tainted = false;
};

struct Wanted {
  std::string how;   // required, preferred, unconstrained
  size_t level = 2;  // index into kLevels
  int64_t cpu = 1;
  int32_t count = 1;
  bool tolerates = false;
};

using Places = std::map<std::string, int32_t>;  // by host

// A domain: how many pods fit into it.
struct Domain {
  std::vector<std::string> values;
  int64_t fits = 0;
};

class Cluster {
 public:
  std::map<std::string, Machine> machines;

  int64_t fits(const Machine& m, const Wanted& w) const {
    if (!m.ready || (m.tainted && !w.tolerates)) return 0;
    return std::max<int64_t>(0, std::min(m.cpu / w.cpu, m.pods));
  }

  // All domains of a level below one of `parents` (none = all), the roomiest first.
  std::vector<Domain> domains(size_t level, const Wanted& w,
                              const std::vector<std::vector<std::string>>& parents) const {
    std::map<std::vector<std::string>, int64_t> sums;
    for (const auto& [name, m] : machines) {
      if (!m.ready) continue;
      const bool below =
          parents.empty() ||
          std::any_of(parents.begin(), parents.end(), [&](const std::vector<std::string>& p) {
            return std::equal(p.begin(), p.end(), m.values.begin());
          });
      if (below)
        sums[{m.values.begin(), m.values.begin() + static_cast<std::ptrdiff_t>(level) + 1}] +=
            fits(m, w);
    }
    std::vector<Domain> out;
    for (const auto& [values, sum] : sums) out.push_back({values, sum});
    std::sort(out.begin(), out.end(), [](const Domain& a, const Domain& b) {
      return a.fits != b.fits ? a.fits > b.fits : a.values < b.values;
    });
    return out;
  }

  // As few domains as the greedy way finds, the last one as tight as can be; empty = too little.
  static std::vector<std::pair<Domain, int64_t>> greedy(const std::vector<Domain>& sorted,
                                                        int64_t left) {
    std::vector<std::pair<Domain, int64_t>> out;
    for (size_t i = 0; i < sorted.size() && left > 0; ++i) {
      if (sorted[i].fits < left) {
        if (sorted[i].fits == 0) break;
        out.emplace_back(sorted[i], sorted[i].fits);
        left -= sorted[i].fits;
        continue;
      }
      size_t best = i;
      for (size_t j = i; j < sorted.size(); ++j)
        if (sorted[j].fits >= left && sorted[j].fits < sorted[best].fits) best = j;
      out.emplace_back(sorted[best], left);
      left = 0;
    }
    if (left > 0) out.clear();
    return out;
  }

  // Empty = it does not fit.
  Places place(const Wanted& w) const {
    size_t level = w.level;
    std::vector<std::pair<Domain, int64_t>> chosen;
    for (;; --level) {
      const std::vector<Domain> all = domains(level, w, {});
      if (all.empty()) return {};
      if (all.front().fits >= w.count || w.how == "unconstrained" ||
          (level == 0 && w.how != "required")) {
        chosen = greedy(all, w.count);
        break;
      }
      if (w.how == "required") return {};
    }
    for (; level + 1 < kLevels.size() && !chosen.empty(); ++level) {
      std::vector<std::vector<std::string>> parents;
      for (const auto& [domain, count] : chosen) parents.push_back(domain.values);
      chosen = greedy(domains(level + 1, w, parents), w.count);
    }
    Places out;
    for (const auto& [domain, count] : chosen)
      out[domain.values.back()] = static_cast<int32_t>(count);
    return out;
  }

  void take(const Places& places, int64_t cpu, int sign) {
    for (const auto& [host, count] : places) {
      machines[host].cpu -= sign * cpu * count;
      machines[host].pods -= sign * count;
    }
  }
};

std::string text_of(const Places& places) {
  std::string out;
  for (const auto& [host, count] : places) out += " " + host + ":" + std::to_string(count);
  return out.empty() ? " nowhere" : out;
}

class Play {
 public:
  explicit Play(uint32_t seed) : random_(seed), state_(settings()) {
    state_.apply(TimePassed{script_.now()});
    state_.apply(NamespaceChanged{"ns", {}});
    say("topology t levels=block,rack,host");
    say("flavor f topology=t");
    say("queue q f/cpu=1000000");
    const int count = 3 + below(10);
    for (int i = 0; i < count; ++i) machine(i, true);
  }

  // "" = all as it should be.
  std::string run() {
    for (int step = 0; step < kSteps && wrong_.empty(); ++step) {
      switch (below(8)) {
        case 0:
        case 1:
          finish();
          break;
        case 2:
          machine(below(13), false);
          break;
        case 3:
          foreign(step);
          break;
        default:
          want(step);
      }
      state_.check_invariants();
      check_capacity();
    }
    return wrong_.empty() ? "" : wrong_ + "\n" + played_;
  }

 private:
  static Settings settings() {
    Settings out;
    out.gates.force(Gate::kTASProfileMixed, false);
    out.gates.force(Gate::kTASBalancedPlacement, false);
    return out;
  }
  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }

  void say(const std::string& line) {
    played_ += line + "\n";
    for (const testing::CaseLine& parsed : testing::parse_case(line + "\n"))
      for (const Event& event : script_.events(parsed)) state_.apply(event);
  }

  // A node comes, or is described anew; what it holds stays on it.
  void machine(int i, bool fresh) {
    const std::string name = "n" + std::to_string(i);
    Machine& m = cluster_.machines[name];
    if (m.values.empty()) {
      m.values = {"b" + std::to_string(i % 2), "r" + std::to_string(i % 4), name};
      if (!fresh && below(2) == 0) {
        cluster_.machines.erase(name);
        return;
      }
    }
    int64_t& cpu = cpu_[name];
    int64_t& pods = pods_[name];
    const int64_t cpu_now = below(13), pods_now = below(3) == 0 ? 1 + below(4) : 110;
    m.cpu += cpu_now - cpu;
    m.pods += pods_now - pods;
    cpu = cpu_now;
    pods = pods_now;
    m.ready = below(8) != 0;
    m.tainted = below(6) == 0;
    say("node " + name + " block=" + m.values[0] + " rack=" + m.values[1] +
        " cpu=" + std::to_string(cpu) + " pods=" + std::to_string(pods) +
        (m.tainted ? " taint=k:v:NoSchedule" : "") + (m.ready ? "" : " ready=no"));
  }

  void foreign(int step) {
    if (cluster_.machines.empty()) return;
    auto it = cluster_.machines.begin();
    std::advance(it, below(static_cast<int>(cluster_.machines.size())));
    const int cpu = below(3);
    it->second.cpu -= cpu;
    it->second.pods -= 1;
    say("foreign x" + std::to_string(step) + " node=" + it->first + " cpu=" + std::to_string(cpu));
  }

  void finish() {
    if (placed_.empty()) return;
    auto it = placed_.begin();
    std::advance(it, below(static_cast<int>(placed_.size())));
    cluster_.take(it->second.first, it->second.second, -1);
    say("delete " + it->first);
    placed_.erase(it);
  }

  void want(int step) {
    Wanted w;
    w.how = std::vector<std::string>{"required", "preferred",
                                     "unconstrained"}[static_cast<size_t>(below(3))];
    w.level = w.how == "unconstrained" ? 2 : static_cast<size_t>(below(3));
    w.cpu = 1 + below(4);
    w.count = 1 + below(9);
    w.tolerates = below(4) == 0;
    const std::string name = "w" + std::to_string(step);
    say("retry");  // else an equal one that failed before keeps it aside
    const std::string asks =
        w.how == "unconstrained" ? " unconstrained=yes" : " " + w.how + "=" + kLevels[w.level];
    say("pending " + name + " queue=q cpu=" + std::to_string(w.cpu) +
        " pods=" + std::to_string(w.count) + asks + (w.tolerates ? " tolerate=k" : ""));
    auto copy = restore(take_snapshot(state_));
    const Plan mine = plan(state_, {.now = script_.now()});
    if (const Plan its = plan(*copy, {.now = script_.now()});
        testing::plan_text(mine, true) != testing::plan_text(its, true))
      wrong_ = testing::plan_text(mine, true) + "of a copy:\n" + testing::plan_text(its, true);
    Places real;
    for (const Command& command : mine.commands)
      if (const auto* admit = std::get_if<Admit>(&command))
        for (const TopologyDomain& d : admit->admission->pod_sets.front().topology->domains)
          real[d.values.back()] += d.count;
    const Places expected = cluster_.place(w);
    if (real != expected)
      wrong_ = "engine:" + text_of(real) + "\nby the rules:" + text_of(expected);
    if (real.empty()) return say("delete " + name);
    cluster_.take(real, w.cpu, 1);
    placed_[name] = {real, w.cpu};
    int32_t sum = 0;
    std::map<std::string, int> together;
    for (const auto& [host, count] : real) {
      sum += count;
      ++together[cluster_.machines[host].values[w.level]];
    }
    if (sum != w.count) wrong_ = "not all pods have a place";
    if (w.how == "required" && together.size() != 1) wrong_ = "more than one required domain";
    fresh_ = real;
  }

  // What was just placed fits; what was there before may be on a node that has shrunk since.
  void check_capacity() {
    for (const auto& [host, count] : fresh_)
      if (cluster_.machines[host].cpu < 0 || cluster_.machines[host].pods < 0)
        wrong_ = "node " + host + " holds more than it has";
    fresh_.clear();
  }

  std::mt19937 random_;
  testing::CaseScript script_;
  State state_;
  Cluster cluster_;
  std::map<std::string, int64_t> cpu_, pods_;
  std::map<std::string, std::pair<Places, int64_t>> placed_;  // by workload: where, cpu of a pod
  Places fresh_;
  std::string played_, wrong_;
};

TEST(RandomTopology, IsAsTheRulesSay) {
  const size_t worlds = testing::number_from_environment("KUEUE_TOPOLOGY_WORLDS", kWorlds);
  for (uint32_t seed = 1; seed <= worlds; ++seed)
    ASSERT_EQ(Play(seed).run(), "") << "seed " << seed;
}

}  // namespace
}  // namespace kueue::engine
