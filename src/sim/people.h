// People: users and admins of a simulated world, and whoever else writes to the API. Each step is
// one request or two, by somebody whose road to the server is good; what makes no sense at that
// moment (a job that is not there) does nothing. One thread.
#pragma once

#include <string>

#include "sim/cluster.h"
#include "sim/machines.h"
#include "sim/script.h"

namespace kueue::sim {

class People {
 public:
  People(Cluster& cluster, Machines& machines) : cluster_(cluster), machines_(machines) {}

  // Namespaces and everything else that is there before the first step.
  void furnish();
  // False: no such verb.
  bool act(const Step& step);
  // Takes back what only people can: finalizers of theirs.
  void let_go();
  // As a stranger: changes the object that the request is about.
  void touch(const wire::Request& request);

 private:
  kube::Client& client() { return cluster_.admin(); }
  void put(const char* plural, json::Value object);
  void remove(const char* plural, const std::string& namespace_, const std::string& name,
              const std::string& propagation = "");
  void merge(const char* plural, const std::string& namespace_, const std::string& name,
             const json::Value& patch);
  void add_queue(const Step& step);
  void add_cohort(const Step& step);
  void add_flavor(const Step& step);
  void add_topology(const Step& step);
  void add_node(const Step& step);
  void add_job(const Step& step);
  void change_job(const Step& step);
  void change_workload(const Step& step);
  void scribble(const json::Value& workload, const std::string& what);
  void hold(const Step& step);

  Cluster& cluster_;
  Machines& machines_;
  int64_t touches_ = 0;
};

}  // namespace kueue::sim
