// Machines: what a cluster does by itself in a simulated world: the Job controller with the Pods
// behind it, and the controllers of admission checks. One thread.
#pragma once

#include <map>
#include <set>
#include <string>

#include "sim/cluster.h"
#include "sim/scheduler.h"

namespace kueue::sim {

class Machines {
 public:
  Machines(Cluster& cluster, Process& process) : cluster_(cluster), process_(process) {}
  void start();

  // Pods become ready at once and end at once.
  bool quick = false;
  // No job ends.
  bool hold_ends = false;
  // Admission checks are answered Ready.
  bool checks_ready = false;

  // The Pods of a job are lost with their node and come back.
  void lose_pods(const std::string& namespace_, const std::string& name);
  // The job ends now, if it runs.
  void end(const std::string& namespace_, const std::string& name, bool fails);
  // Some of its Pods end.
  void end_some(const std::string& namespace_, const std::string& name);
  void set_answer(const std::string& check, const std::string& answer) { answers_[check] = answer; }
  std::string answer(const std::string& check) const;

 private:
  struct Run {
    Instant started;
    Instant ready_since;
    Instant ends_at;
    bool ending = false;
  };
  void tick();
  void look_at(const json::Value& job);
  void answer_checks();
  void patch_status(const char* plural, const json::Value& object, json::Value status);
  void patch_job(const json::Value& job, json::Value status);
  int64_t setting(const json::Value& job, std::string_view name) const;

  Cluster& cluster_;
  Process& process_;
  std::map<std::string, Run> runs_;  // by uid
  std::map<std::string, std::string> answers_;
  std::set<std::string> answered_;  // "check uid" that said Retry once
};

}  // namespace kueue::sim
