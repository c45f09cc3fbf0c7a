// World: one simulated run. Managers over their roads to the cluster, the steps of a script, and
// the checks. Everything follows from the script. One thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controllers/manager.h"
#include "sim/checks.h"
#include "sim/cluster.h"
#include "sim/machines.h"
#include "sim/people.h"
#include "sim/scheduler.h"
#include "sim/script.h"

namespace kueue::sim {

struct Outcome {
  std::optional<Failure> failure;
  int64_t step = 0;  // number of the step that was played last
  uint64_t trace = 0;
  int64_t writes = 0;
  int64_t tasks = 0;
};

class World {
 public:
  // The cluster must be fresh; it is used up. `log` hears every step, write and line of the
  // managers; may be empty.
  World(Scheduler& scheduler, Cluster& cluster, const Script& script,
        std::function<void(const std::string&)> log);
  ~World();
  Outcome play();

 private:
  struct Program {
    std::string name;
    Duration skew;
    Weather weather;
    std::unique_ptr<Process> process;
    std::shared_ptr<Road> road;
    std::unique_ptr<controllers::Manager> manager;  // null: it is away
    bool lost_lease = false;
    std::string life;  // its name and how often it was started
    Duration away;     // after its death
  };
  controllers::Options options() const;
  void start(Program& program);
  void reap();
  void stop(Program& program);
  Program* program(const std::string& name);
  void act(const Step& step);
  void weather(Program& program, const Step& step);
  void run_a_while();
  void changed(const Change& change);
  void check_engines();
  bool places_known() const;
  // How long after a moment of the cluster every clock shows it.
  Duration latest_clock() const;
  // Good weather until nothing changes any more, then all checks.
  void rest(bool jobs_end);
  controllers::Manager* leader();
  bool quiet() const;
  void say(const std::string& line) const;
  void written(Program& program, const wire::Request& request, int status);

  Scheduler& scheduler_;
  Cluster& cluster_;
  const Script& script_;
  const std::function<void(const std::string&)> log_;
  Process own_;  // of the cluster
  Machines machines_;
  People people_;
  Checks checks_;
  std::vector<std::unique_ptr<Program>> programs_;
  int64_t writes_ = 0;
  int64_t starts_ = 0;
  Instant last_write_;
  bool clocks_go_right_ = true;
  std::vector<std::string> recent_;
};

}  // namespace kueue::sim
