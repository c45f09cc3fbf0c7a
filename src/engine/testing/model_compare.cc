#include "engine/testing/model_compare.h"

#include <algorithm>
#include <cstdlib>

#include "engine/testing/case_runner.h"
#include "engine/testing/model.h"

namespace kueue::engine::testing {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

std::string differing(const std::string& line, const std::string& engine,
                      const std::string& model) {
  return "at: " + line + "\nengine:\n" + engine + "model:\n" + model;
}

// Numbers out of one number.
class Dice {
 public:
  explicit Dice(uint32_t code) : state_(code * 0x9e3779b97f4a7c15ull + 0x1234567) {}
  int below(int n) {
    state_ ^= state_ >> 30;
    state_ *= 0xbf58476d1ce4e5b9ull;
    state_ ^= state_ >> 27;
    return static_cast<int>((state_ >> 33) % static_cast<uint64_t>(n));
  }
  bool one_in(int n) { return below(n) == 0; }
  std::string pick(std::initializer_list<const char*> words) {
    return *(words.begin() + below(static_cast<int>(words.size())));
  }
  std::string number(int n) { return std::to_string(below(n)); }

 private:
  uint64_t state_;
};

std::string workload(Dice& d) { return "w" + std::to_string(1 + d.below(12)); }
std::string flavor(Dice& d) { return "f" + std::to_string(1 + d.below(3)); }

std::string quota(Dice& d, const std::string& flavor, const std::string& resource) {
  std::string out = " " + flavor + "/" + resource + "=" + d.number(12);
  if (d.one_in(4)) out += ",borrow:" + d.number(6);
  if (d.one_in(4)) out += ",lend:" + d.number(8);
  return out;
}

std::string quotas(Dice& d) {
  std::string out;
  bool memory = d.one_in(3);
  int count = 1 + d.below(3);
  for (int i = 1; i <= count; ++i) {
    out += quota(d, "f" + std::to_string(i), "cpu");
    if (memory) out += quota(d, "f" + std::to_string(i), "memory");
  }
  if (d.one_in(4)) out += " group=next" + quota(d, "f3", "gpu");
  if (count == 3) return out.substr(0, out.find(" group="));  // a flavor is in one group only
  return out;
}

std::string check_states(Dice& d) {
  std::string out = " checks=k1:" + d.pick({"Ready", "Ready", "Pending", "Retry", "Rejected"});
  if (d.one_in(3)) out += ",k2:" + d.pick({"Ready", "Pending"});
  return out;
}

std::string check_line(Dice& d) {
  const std::string name = d.pick({"k1", "k2"});
  if (d.one_in(6)) return "remove check " + name;
  return "check " + name + (d.one_in(3) ? " active=no" : "") +
         (d.one_in(6) ? " controller=" + d.pick({"multikueue", "provisioning"}) : "");
}

std::string queue_line(Dice& d) {
  std::string out = "queue q" + std::to_string(1 + d.below(4));
  if (!d.one_in(4)) out += " cohort=" + d.pick({"c1", "c1", "c2", "c3"});
  if (d.one_in(4)) out += " strategy=StrictFIFO";
  out += " within=" + d.pick({"Never", "LowerPriority", "LowerOrNewerEqualPriority"});
  out += " reclaim=" + d.pick({"Never", "LowerPriority", "Any", "Any"});
  if (d.one_in(2)) out += " borrow=" + d.pick({"LowerPriority", "1", "0"});
  if (d.one_in(3)) out += " when-borrow=next";
  if (d.one_in(3)) out += " when-preempt=stop";
  if (d.one_in(4)) out += " prefer=preemption";
  if (d.one_in(3)) out += " weight=" + d.pick({"0", "2", "0.5"});
  if (d.one_in(12)) out += " stop=Hold";
  if (d.one_in(10)) out += " namespaces=" + d.pick({"none", "team:a"});
  if (d.one_in(4)) out += " scope=usage";
  if (d.one_in(4)) out += " check=k1";
  if (d.one_in(6)) out += " check=k2:" + flavor(d);
  if (d.one_in(2)) out += " variants=" + d.pick({"Try", "RetainFirst"});
  if (!d.one_in(3)) out += " last-acceptable=f1";
  return out + quotas(d);
}

std::string cohort_line(Dice& d) {
  int which = 1 + d.below(3);
  std::string out = "cohort c" + std::to_string(which);
  if (which == 2 && d.one_in(2)) out += " parent=c1";
  if (which == 3 && d.one_in(2)) out += " parent=" + d.pick({"c1", "c2"});
  if (d.one_in(3)) out += " weight=" + d.pick({"0", "2"});
  if (d.one_in(2)) out += quota(d, flavor(d), "cpu");
  return out;
}

std::string requests(Dice& d) {
  std::string out = " cpu=" + std::to_string(1 + d.below(7));
  if (d.one_in(4)) out += " memory=" + d.number(6);
  if (d.one_in(8)) out += " gpu=" + d.number(3);
  if (d.one_in(3)) out += " pods=" + std::to_string(1 + d.below(4));
  return out;
}

// One for a flavor of its own; siblings have the same parent.
std::string variant(Dice& d) {
  std::string out = " variant-of=" + d.pick({"u1", "u1", "u2"});
  if (!d.one_in(8)) out += " allowed=" + flavor(d);
  if (d.one_in(3)) out += " preemption-gate=g" + d.pick({"", ":open"});
  return out;
}

std::string pending_line(Dice& d) {
  std::string out = "pending " + workload(d) + " queue=" + d.pick({"q1", "q2", "q3", "q4", "l1"});
  out += " at=" + std::to_string(1 + d.below(5));
  if (d.one_in(2)) out += " priority=" + std::to_string(d.below(4) - 1);
  if (d.one_in(12)) out += " requeue-at=" + std::to_string(1000 + d.below(20));
  if (d.one_in(5)) out += check_states(d);
  if (d.one_in(4)) out += variant(d);
  if (d.one_in(16)) out += " parent=yes";
  if (d.one_in(4)) {
    std::string sets = " set=a" + requests(d), next = " set=b" + requests(d);
    if (!d.one_in(3)) return out + sets + next;
    if (d.one_in(3)) sets = " set=c" + requests(d) + sets;
    return out + sets + " share=g" + next + " share=g";
  }
  out += requests(d);
  if (d.one_in(4)) out += " min=1";
  if (d.one_in(6)) out += " tolerate=k";
  if (d.one_in(6)) out += " select=zone:" + d.pick({"x", "y"});
  if (d.one_in(8)) out += " elastic=yes replaces=" + workload(d);
  return out;
}

std::string held_line(Dice& d) {
  return d.pick({"admitted ", "reserved "}) + workload(d) +
         " queue=" + d.pick({"q1", "q2", "q3", "q4"}) + " at=" + std::to_string(1 + d.below(5)) +
         " reserved-at=" + d.number(9) + " priority=" + std::to_string(d.below(4) - 1) +
         " flavor=" + flavor(d) + requests(d) + (d.one_in(6) ? " elastic=yes" : "") +
         (d.one_in(5) ? variant(d) : "") + (d.one_in(8) ? " evicted=yes" : "") +
         (d.one_in(5) ? check_states(d) : "");
}

std::string configuration_line(Dice& d) {
  switch (d.below(11)) {
    case 10:
      return check_line(d);
    case 0:
      return "remove flavor " + flavor(d);
    case 1:
      return "remove " + d.pick({"cohort c1", "cohort c2", "cohort c3", "queue q3", "queue q4"});
    case 2:
      return "local l1 queue=" + d.pick({"q1", "q2", "q3", "q4"}) +
             (d.one_in(4) ? " stop=Hold" : "") + (d.one_in(3) ? " weight=2" : "");
    case 3:
      return "namespace ns" + std::string(d.one_in(2) ? " label=team:a" : "");
    case 4:
      return "flavor " + flavor(d) + (d.one_in(3) ? " taint=k:v:NoSchedule" : "") +
             (d.one_in(3) ? " label=zone:" + d.pick({"x", "y"}) : "");
    case 5:
    case 6:
      return cohort_line(d);
    default:
      return queue_line(d);
  }
}

std::string happening_line(Dice& d) {
  std::string w = workload(d);
  switch (d.below(18)) {
    case 17:
      return "change " + w + " preemption-gate=g" + d.pick({"", ":open", ":open"});
    case 16:
      return "checks " + w + d.pick({" k1=", " k2="}) +
             d.pick({"Ready", "Ready", "Pending", "Retry", "Rejected"});
    case 0:
      return "finish " + w;
    case 1:
      return "delete " + w;
    case 2:
      return "evict " + w +
             " reason=" + d.pick({"Preempted", "PodsReadyTimeout", "AdmissionCheck"});
    case 3:
    case 4:
      return "release " + w + (d.one_in(4) ? " requeued=no" : "") +
             (d.one_in(4) ? " requeue-at=" + std::to_string(1000 + d.below(30)) : "");
    case 5:
      return "requeued " + w + (d.one_in(3) ? " requeued=no" : "");
    case 6:
      return "change " + w + " priority=" + std::to_string(d.below(4) - 1);
    case 7:
      return "change " + w + " pods=" + std::to_string(1 + d.below(4));
    case 8:
      return "change " + w + " reclaimable=main:" + d.number(3);
    case 9:
      return "change " + w + " active=" + d.pick({"no", "yes"});
    case 10:
      return "fail " + w + (d.one_in(4) ? " gone" : "");
    case 11:
      return "fail-eviction " + w;
    case 12:
      return "preempted " + w +
             " reason=" + d.pick({"InClusterQueue", "InCohortReclaimWhileBorrowing"}) +
             (d.one_in(2) ? " again=yes by=" + workload(d) : "");
    case 13:
      return "ready " + w;
    case 14:
      return "consumed " + d.pick({"q1", "q2", "l1"}) + " cpu=" + d.number(5);
    default:
      return "admit " + w;
  }
}

std::string place_line(Dice& d) {
  const std::string node = "n" + std::to_string(1 + d.below(4));
  const std::string pod = "p" + std::to_string(1 + d.below(3));
  switch (d.below(8)) {
    case 0:
      return "remove node " + node;
    case 1:
      return "foreign " + pod + " node=" + node + " cpu=" + d.number(6);
    case 2:
      return "remove foreign " + pod;
    case 3:
      return "flavor " + flavor(d) + (d.one_in(3) ? "" : " topology=t") +
             (d.one_in(4) ? " taint=k:v:NoSchedule" : "");
    case 4:
      return d.one_in(3) ? "remove topology t" : "topology t levels=block,host";
    default:
      return "node " + node + " block=" + d.pick({"b1", "b1", "b2"}) + " cpu=" + d.number(9) +
             (d.one_in(6) ? " ready=no" : "") + (d.one_in(6) ? " unschedulable=yes" : "") +
             (d.one_in(8) ? " taint=k:v:NoSchedule" : "");
  }
}

std::string huge(Dice& d) {
  return d.pick({"inf", "0", "9223372036854775807", "9223372036854775806", "4611686018427387904"});
}

}  // namespace

std::vector<std::string> random_odd_prefix() {
  return {"topology t levels=block,host",
          "flavor f1 topology=t",
          "flavor f2 topology=t",
          "flavor f3",
          "check k1",
          "check k2",
          "node n1 block=b1 cpu=6",
          "node n2 block=b1 cpu=4",
          "node n3 block=b2 cpu=8",
          "queue q1 cohort=c1 within=LowerPriority reclaim=Any f1/cpu=6 f2/cpu=6",
          "queue q2 cohort=c1 reclaim=Any f1/cpu=6"};
}

std::string random_odd_line(uint32_t code) {
  Dice d(code);
  const std::string w = workload(d);
  switch (d.below(12)) {
    case 0:
    case 1:
      return place_line(d);
    case 2:
    case 3:
    case 4:
      return "pending " + w + " queue=" + d.pick({"q1", "q2", "q3", "l1"}) +
             " at=" + std::to_string(1 + d.below(5)) + " priority=" + d.number(3) +
             " cpu=" + std::to_string(1 + d.below(4)) + " pods=" + std::to_string(1 + d.below(4)) +
             d.pick({" required=block", " required=host", " preferred=block", " preferred=host",
                     " unconstrained=yes", ""}) +
             (d.one_in(6) ? " slice-level=host slice-size=2" : "") + (d.one_in(6) ? " min=1" : "");
    case 5:
      return "change " + w + " unhealthy=n" + std::to_string(1 + d.below(4));
    case 6:
      return "change " + w + " cpu=" + std::to_string(1 + d.below(7)) + " spec=same";
    case 7:
      return d.pick({"sample ", "sample ", "remove local "}) + d.pick({"l1", "q1", "q2"});
    case 8:
      return d.pick({"hold ", "resume ", "resume "}) + w;
    case 9:
      return "queue q" + std::to_string(1 + d.below(4)) + " cohort=c1 within=LowerPriority" +
             " reclaim=Any " + d.pick({"strategy=StrictFIFO ", ""}) + "f1/cpu=" + huge(d) +
             (d.one_in(3) ? ",borrow:" + huge(d) : "") + (d.one_in(3) ? ",lend:" + huge(d) : "");
    case 10:
      return "pending " + w + " queue=q" + std::to_string(1 + d.below(4)) +
             " priority=" + d.number(3) + " cpu=" + d.pick({"0", "9223372036854775807", "3"}) +
             " pods=" + d.number(4);
    default:
      return "change " + w + " gated-by=" + d.pick({"", "x"});
  }
}

std::vector<std::string> random_settings(uint32_t code) {
  Dice d(code);
  std::vector<std::string> out;
  if (d.one_in(2)) out.push_back("fair" + d.pick({"", " final", " initial", " initial final"}));
  if (d.one_in(4)) out.push_back("afs half-life=0");
  if (d.one_in(8)) out.push_back("settings block-admission");
  if (d.one_in(8)) out.push_back("settings by-creation");
  if (d.one_in(8)) out.push_back("settings ignore-undeclared");
  for (const char* gate :
       {"PartialAdmission", "FlavorFungibility", "PrioritySortingWithinCohort",
        "FairSharingPreemptWithinNominal", "FairSharingPrioritizeNonBorrowing", "ReclaimablePods",
        "SchedulingEquivalenceHashing", "FlavorFungibilityPreserveScanProgress",
        "RecomputeAssignmentUponPreemptionTargetsOverlap", "ElasticJobsViaWorkloadSlices"})
    if (d.one_in(4)) out.push_back(std::string("gate ") + gate + "=false");
  // Gates that depend on one that is off are no world that a manager would run.
  if (std::count(out.begin(), out.end(), "gate FlavorFungibility=false") > 0)
    out.push_back("gate FlavorFungibilityPreserveScanProgress=false");
  if (d.one_in(3)) out.push_back("gate PrioritizePreemptorWorkloads=true");
  if (d.one_in(2)) out.push_back("gate ConcurrentAdmission=true");
  return out;
}

std::vector<std::string> random_prefix() {
  return {"flavor f1",
          "flavor f2",
          "flavor f3",
          "check k1",
          "check k2",
          "queue q1 cohort=c1 within=LowerPriority reclaim=Any f1/cpu=6 f2/cpu=6",
          "queue q2 cohort=c1 reclaim=Any f1/cpu=6"};
}

std::string random_line(uint32_t code) {
  Dice d(code);
  int kind = d.below(100);
  if (kind < 30) return "cycle every";
  if (kind < 52) return pending_line(d);
  if (kind < 60) return held_line(d);
  if (kind < 72) return configuration_line(d);
  if (kind < 76) return "wait " + d.pick({"0.5", "1", "3", "20"});
  if (kind < 80) return d.pick({"retry", "written"});
  return happening_line(d);
}

Comparison compare_with_model(const std::vector<std::string>& texts) {
  std::vector<CaseLine> lines = parse_case(joined(texts));
  std::vector<std::string> errors;
  Settings settings = settings_of(lines, errors);
  CaseScript script;
  State engine(settings);
  Model model(settings);
  Comparison out;
  auto both = [&](const Event& event) {
    engine.apply(event);
    model.apply(event);
    ++out.events;
  };
  both(TimePassed{script.now()});
  both(NamespaceChanged{"ns", {}});
  for (const CaseLine& line : lines) {
    if (CaseScript::is_event(line)) {
      for (const Event& event : script.events(line)) both(event);
    } else if (line.verb == "cycle") {
      Plan real = plan(engine, {.now = script.now(), .every_head = true});
      Plan naive = model.plan(script.now());
      ++out.events;
      script.remember(real);
      std::string a = plan_text(real, false), b = plan_text(naive, false);
      for (const auto& [queue, result] : real.why.recomputations)
        a += queue + recompute_result_text(result) + "\n";
      for (const auto& [queue, result] : naive.why.recomputations)
        b += queue + recompute_result_text(result) + "\n";
      if (a != b) out.difference = differing(line.text, a, b);
    }
    engine.check_invariants();
    std::string a = state_text(engine), b = model.state_text();
    if (out.difference.empty() && a != b) out.difference = differing(line.text, a, b);
    if (!out.difference.empty()) return out;
  }
  for (const std::string& error : script.errors()) out.difference += error + "\n";
  return out;
}

size_t number_from_environment(const char* name, size_t fallback) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

}  // namespace kueue::engine::testing
