// Scripts from seeds. Few names, so that everything meets everything.
#include "sim/random.h"
#include "sim/script.h"

namespace kueue::sim {
namespace {

constexpr int64_t kNodes = 7;

class Generator {
 public:
  Generator(uint64_t seed, const Generation& how)
      : random_(seed * (how.topology ? 40503u : 2654435761u) + 1), how_(how) {
    script_.seed = seed;
  }

  Script make() {
    configure();
    begin();
    while (static_cast<int64_t>(script_.steps.size()) < how_.steps) one();
    return std::move(script_);
  }

 private:
  Step& add(std::string verb, std::string name = "") {
    Step& step = script_.steps.emplace_back();
    step.number = static_cast<int64_t>(script_.steps.size());
    step.verb = std::move(verb);
    step.name = std::move(name);
    return step;
  }
  std::string one_of(std::initializer_list<const char*> choices) {
    return choices.begin()[random_.below(static_cast<int64_t>(choices.size()))];
  }
  std::string indexed(const char* prefix, int64_t n) {
    return prefix + std::to_string(random_.below(n));
  }
  bool percent(int64_t p) { return random_.percent(p); }
  static void set(Step& step, const char* key, int64_t value) {
    step.arguments[key] = std::to_string(value);
  }
  std::string queue() { return indexed("q", 4); }
  std::string local() { return std::string(percent(75) ? "a" : "b") + "/" + indexed("l", 3); }
  std::string job() {
    if (!about_.empty()) return about_;
    return percent(70) ? "a/" + indexed("j", 6) : "b/" + indexed("j", 4);
  }
  std::string manager() { return indexed("m", leaders_); }

  void configure() {
    Arguments& c = script_.config;
    leaders_ = percent(30) ? 2 : 1;
    c["leaders"] = std::to_string(leaders_);
    // Long leases leave more time for what matters: they are renewed less often.
    if (leaders_ > 1 && percent(85)) c["lease"] = one_of({"60", "300"});
    if (percent(55)) {
      c["ready"] = one_of({"20", "60", "300"});
      if (percent(70)) c["recovery"] = one_of({"10", "60"});
      if (percent(50)) c["limit"] = one_of({"1", "2", "5"});
      if (percent(20)) c["block"] = "1";
      if (percent(30)) c["requeue-by-creation"] = "1";
      c["backoff"] = one_of({"1", "10", "60"});
    }
    if (percent(35)) c["fair"] = "1";
    if (percent(15)) c["keep-finished"] = one_of({"30", "600"});
    if (percent(10)) c["keep-deactivated"] = "60";
    if (percent(15)) c["merge-patch"] = "1";
    if (percent(50)) c["threads"] = one_of({"2", "4"});
    if (percent(12)) c["afs"] = "60";
    if (how_.topology) c["topology"] = "1";
    fair_ = c.contains("fair");
    afs_ = c.contains("afs");
  }

  void begin() {
    if (how_.topology) {
      begin_places();
    } else {
      add("flavor", "f0");
      add("flavor", "f1");
    }
    if (percent(50)) add_cohort("c0");
    for (const char* name : {"q0", "q1", "q2"}) add_queue(name);
    for (const char* name : {"a/l0", "a/l1", "b/l0"}) {
      Step& step = add("local", name);
      step.arguments["queue"] = queue();
      if (afs_ && percent(50)) step.arguments["weight"] = one_of({"0.5", "2"});
    }
    add("class", "high").arguments["value"] = "100";
    add("class", "low").arguments["value"] = "-10";
    for (int i = 0; i < 4; ++i) add_job();
  }

  // Topologies, their flavors, and Nodes. What is said below of chances holds for these worlds
  // only.
  void begin_places() {
    add_topology("t0");
    add_topology("t1");
    for (const char* name : {"f0", "f1"}) add_flavor(name);
    for (int64_t i = 0, count = random_.between(3, kNodes); i < count; ++i)
      add_node("n" + std::to_string(i));
  }

  void add_topology(const std::string& name) {
    add("topology", name).arguments["levels"] =
        name == "t0" ? one_of({"block,rack,host", "block,rack,host", "rack,host", "host"})
                     : one_of({"block,rack", "rack", "block,host"});
  }

  void add_flavor(const std::string& name) {
    Step& step = add("flavor", name);
    step.arguments["label"] = percent(80) ? "x" + name.substr(1) : indexed("x", 2);
    if (percent(name == "f0" ? 95 : 60)) step.arguments["topology"] = percent(80) ? "t0" : "t1";
    if (percent(8)) step.arguments["taint"] = "1";
  }

  void add_node(const std::string& name) {
    Step& step = add("node", name);
    step.arguments["pool"] = percent(70) ? "x0" : "x1";
    if (percent(96)) step.arguments["block"] = indexed("b", 2);
    if (percent(96)) step.arguments["rack"] = indexed("r", 3);
    set(step, "cpu", random_.between(1, 6));
    if (percent(20)) set(step, "pods", random_.between(1, 4));
    set(step, "ready", percent(92) ? 1 : 0);
    if (percent(10)) set(step, "cordoned", percent(50) ? 1 : 0);
  }

  void ask_for_places(Step& step, int64_t pods) {
    const int64_t what = random_.below(100);
    if (what < 35) {
      step.arguments["required"] = one_of({"block", "rack", "rack", "host"});
    } else if (what < 55) {
      step.arguments["preferred"] = one_of({"block", "rack", "host"});
    } else if (what < 75) {
      step.arguments["unconstrained"] = "1";
    }
    if (what < 55 && pods > 1 && percent(25)) {
      step.arguments["slice-required"] = one_of({"rack", "host"});
      set(step, "slice-size", pods % 2 == 0 ? 2 : pods);
      step.arguments.erase("min");
    }
  }

  // Machines come, go and change; so do topologies.
  void places(int64_t what) {
    if (what < 35) return add_node(indexed("n", kNodes));
    if (what < 48) return void(add("delete", "nodes/" + indexed("n", kNodes)));
    if (what < 80) {
      Step& step = add("node-state", indexed("n", kNodes));
      const char* key = what < 62 ? "ready" : what < 72 ? "cordoned" : "taint";
      set(step, key, percent(what < 62 ? 65 : 45) ? 1 : 0);
      return;
    }
    if (what < 86) return void(add("delete", "topologies/" + indexed("t", 2)));
    if (what < 93) return add_topology(indexed("t", 2));
    add_flavor(indexed("f", 2));
  }

  std::string quota() {
    std::string text;
    for (const char* flavor : {"f0", "f1"}) {
      if (!text.empty() && percent(40)) break;
      if (!text.empty()) text += ",";
      text +=
          std::string(flavor) + ":" + std::to_string(random_.between(0, how_.topology ? 20 : 8));
      const bool limits = in_cohort_ && percent(30);
      if (limits || (in_cohort_ && percent(15)))
        text += ":" + (limits ? std::to_string(random_.between(0, 6)) : std::string());
      if (limits && percent(50)) text += ":" + std::to_string(random_.between(0, 4));
    }
    return text;
  }

  void add_queue(const std::string& name) {
    const std::string cohort = percent(65) ? indexed("c", 2) : "";
    in_cohort_ = !cohort.empty();
    Step& step = add("queue", name);
    if (in_cohort_) step.arguments["cohort"] = cohort;
    step.arguments["quota"] = quota();
    if (percent(30)) step.arguments["strategy"] = "StrictFIFO";
    if (percent(70)) {
      step.arguments["within"] = one_of({"LowerPriority", "LowerOrNewerEqualPriority", "Never"});
      step.arguments["reclaim"] = one_of({"Any", "LowerPriority", "Never"});
      if (percent(30) && step.arguments["reclaim"] != "Never" && !fair_)
        step.arguments["borrow-within"] = "LowerPriority";
    }
    if (percent(25)) step.arguments["checks"] = one_of({"k0", "k1", "k0,k1"});
    if (percent(10)) step.arguments["stop"] = one_of({"Hold", "HoldAndDrain"});
    if (percent(20)) step.arguments["borrow-first"] = one_of({"TryNextFlavor", "MayStopSearch"});
    if (percent(8)) step.arguments["namespaces"] = "marked";
    if (afs_ && percent(60)) step.arguments["by-usage"] = "1";
  }

  void add_cohort(const std::string& name) {
    Step& step = add("cohort", name);
    in_cohort_ = percent(30);
    if (in_cohort_) step.arguments["parent"] = indexed("c", 3);
    if (percent(40)) step.arguments["quota"] = quota();
  }

  std::string add_job() {
    Step& step = add("job", job());
    step.arguments["queue"] = indexed("l", 3);
    set(step, "cpu", random_.between(1, 3));
    const int64_t pods = random_.between(1, 4);
    set(step, "pods", pods);
    if (percent(25)) step.arguments["class"] = one_of({"high", "low"});
    if (pods > 1 && percent(20)) set(step, "min", random_.between(1, pods - 1));
    if (percent(15)) set(step, "limit", random_.between(5, 120));
    set(step, "ready", percent(80) ? random_.between(0, 10) : random_.between(30, 400));
    set(step, "runs", percent(70) ? random_.between(2, 60) : random_.between(60, 3000));
    set(step, "ends", percent(75) ? 0 : random_.between(1, 60));  // how slowly its pods end
    if (percent(12)) step.arguments["fails"] = "1";
    if (percent(4)) step.arguments["unsuspended"] = "1";
    if (how_.topology) ask_for_places(step, pods);
    return step.name;
  }

  // Somebody has second thoughts about what was just submitted, or submits much at once.
  void flurry() {
    about_ = add_job();
    for (int64_t left = random_.between(1, 4); left > 0; --left) {
      if (percent(25)) {
        if (percent(50)) about_.clear();
        add_job();
      } else {
        user(random_.below(100));
      }
    }
    about_.clear();
  }

  void one() {
    if (how_.topology && percent(16)) return places(random_.below(100));
    const int64_t what = random_.below(100);
    if (what < 18) return void(add_job());
    if (what < 26) return flurry();
    if (what < 60) return user(random_.below(100));
    if (what < 78) return admin(random_.below(100));
    if (what < 88) return pass();
    fault(random_.below(100));
  }

  void pass() {
    const int64_t kind = random_.below(10);
    set(add("pass"), "ms",
        kind < 6   ? random_.between(1, 3000)
        : kind < 9 ? random_.between(3000, 60'000)
                   : random_.between(60'000, 900'000));
  }

  void user(int64_t what) {
    if (what < 22) {
      Step& step = add("delete-job", job());
      if (percent(30)) step.arguments["propagation"] = one_of({"Foreground", "Orphan"});
    } else if (what < 32) {
      add("suspend", job()).arguments["on"] = percent(50) ? "1" : "0";
    } else if (what < 42) {
      add("move", job()).arguments["queue"] = indexed("l", 3);
    } else if (what < 52) {
      add("classify", job()).arguments["class"] = one_of({"high", "low"});
    } else if (what < 58) {
      set(add("resize", job()), "pods", random_.between(1, 5));
    } else if (what < 72) {
      add("active", job()).arguments["on"] = percent(60) ? "1" : "0";
    } else if (what < 80) {
      add("delete-workload", job());
    } else if (what < 88) {
      add("unready", job());
    } else if (what < 93) {
      add("end", job()).arguments["fails"] = percent(40) ? "1" : "0";
    } else {
      add("partly", job());
    }
  }

  void admin(int64_t what) {
    if (what < 22) return add_queue(queue());
    if (what < 30) return void(add("delete", "clusterqueues/" + queue()));
    if (what < 42) {
      Step& step = add("local", local());
      step.arguments["queue"] = queue();
      if (percent(30)) step.arguments["stop"] = one_of({"Hold", "HoldAndDrain"});
      return;
    }
    if (what < 48) return void(add("delete-local", local()));
    if (what < 56) return add_cohort(indexed("c", 3));
    if (what < 60) return void(add("delete", "cohorts/" + indexed("c", 3)));
    if (what < 66 && how_.topology) return add_flavor(indexed("f", 2));
    if (what < 66) {
      Step& step = add("flavor", indexed("f", 2));
      if (percent(40)) step.arguments["taint"] = "1";
      if (percent(40)) step.arguments["label"] = indexed("x", 3);
      return;
    }
    if (what < 70) return void(add("delete", "resourceflavors/" + indexed("f", 2)));
    if (what < 80) {
      Step& step = add("check", indexed("k", 2));
      step.arguments["answer"] = one_of({"Ready", "Ready", "Retry", "Rejected", "nothing"});
      return;
    }
    if (what < 83) return void(add("delete", "admissionchecks/" + indexed("k", 2)));
    if (what < 88) {
      set(add("class", one_of({"high", "low"})), "value", random_.between(-20, 200));
      return;
    }
    if (what < 93) {
      add("label-namespace", one_of({"a", "b"})).arguments["on"] = percent(60) ? "1" : "0";
      return;
    }
    Step& step = add("stop-queue", queue());
    step.arguments["policy"] = one_of({"None", "None", "Hold", "HoldAndDrain"});
  }

  void fault(int64_t what) {
    if (what < 30 || !how_.faults) {
      Step& step = add("kill", manager());
      if (percent(60)) set(step, "writes", random_.between(1, 6));
      if (percent(30)) set(step, "away-ms", random_.between(1, 30'000));
      return;
    }
    if (what < 55) {
      Step& step = add("weather", manager());
      if (percent(30)) return;  // calm
      if (percent(40)) set(step, "refuse", random_.between(1, 30));
      if (percent(20)) set(step, "tenth", 1);
      if (percent(30)) set(step, "lost", random_.between(1, 20));
      if (percent(30)) set(step, "conflict", random_.between(1, 40));
      if (percent(20)) set(step, "reads", random_.between(1, 20));
      if (percent(50)) {
        set(step, "slow", random_.between(5, 60));
        if (percent(50)) set(step, "crowd", random_.between(5, 60));
      }
      if (percent(50)) set(step, "delay-ms", random_.between(1, 5000));
      if (percent(40)) set(step, "repeat", random_.between(1, 40));
      if (percent(40)) set(step, "reorder", random_.between(1, 60));
      return;
    }
    if (what < 65) {
      Step& step = add("cut", manager());
      if (percent(40)) step.arguments["expired"] = "1";
    } else if (what < 75) {
      set(add("jump", manager()), "ms",
          percent(50) ? random_.between(1, 600'000) : -random_.between(1, 600'000));
    } else if (what < 82) {
      set(add("freeze", manager()), "ms", random_.between(100, 40'000));
    } else if (what < 94) {
      add("scribble", job()).arguments["what"] =
          one_of({"evicted", "unreserve", "no-conditions", "admitted", "checks", "foreign"});
    } else {
      Step& step = add("hold", job());  // somebody's finalizer
      step.arguments["on"] = percent(50) ? "1" : "0";
      step.arguments["of"] = one_of({"jobs", "workloads"});
    }
  }

  Random random_;
  const Generation how_;
  Script script_;
  int64_t leaders_ = 1;
  bool fair_ = false;
  bool afs_ = false;
  bool in_cohort_ = false;
  std::string about_;  // the job that people busy themselves with
};

}  // namespace

Script generate(uint64_t seed, const Generation& how) { return Generator(seed, how).make(); }

}  // namespace kueue::sim
