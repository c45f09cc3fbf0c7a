// The language of golden cases, of the random worlds that the naive model is compared on, and of
// what their shrinking leaves: one line is one object or one thing that happens.
// docs/design/engine-cases.md lists the words. One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace kueue::engine::testing {

// `verb name key=value …`. Words before the first `set=NAME` belong to the whole line.
struct CaseLine {
  std::string text;
  std::string verb;
  std::vector<std::string> words;  // without '=', in order
  std::vector<std::pair<std::string, std::string>> options;

  std::string name() const { return words.empty() ? "" : words.front(); }
  std::string get(const std::string& key, const std::string& fallback = "") const;
  bool has(const std::string& key) const;
};

// Blank lines and comments are left out.
std::vector<CaseLine> parse_case(const std::string& text);
// gate, fair, afs and settings lines; the others are ignored. What is wrong stands in `errors`.
Settings settings_of(const std::vector<CaseLine>& lines, std::vector<std::string>& errors);

// Turns lines into events. Remembers the objects, so that later lines can change them.
class CaseScript {
 public:
  // The events that a line stands for; none for those of the runner (cycle, show, …) and the
  // settings. A line that makes no sense adds to errors().
  std::vector<Event> events(const CaseLine& line);
  // True when events() knows the verb.
  static bool is_event(const CaseLine& line);

  // What a cycle decided, for `written`.
  void remember(const Plan& plan);
  Instant now() const { return now_; }
  const std::vector<std::string>& errors() const { return errors_; }
  std::shared_ptr<const Workload> workload(const std::string& name) const;
  const std::map<std::string, std::shared_ptr<Workload>>& workloads() const { return workloads_; }

 private:
  using Events = std::vector<Event>;
  Events configure(const CaseLine& line);
  Events removed(const CaseLine& line);
  Events queue(const CaseLine& line);
  Events node(const CaseLine& line);
  Events create(const CaseLine& line);
  Events change(const CaseLine& line);
  Events condition(const CaseLine& line);
  Events written(const CaseLine& line);
  Flavor flavor(const CaseLine& line);
  void pod_sets(const CaseLine& line, Workload& w);
  void whole(const std::string& key, const std::string& value, Workload& w);
  void admission(const CaseLine& line, Workload& w);
  Workload* known(const std::string& name);
  Events deliver(Workload& w);
  int64_t number(const std::string& text);
  Instant at(const std::string& seconds);
  void error(const std::string& text) { errors_.push_back(text); }

  Instant now_ = Instant{} + Duration::seconds(1000);
  std::map<std::string, std::shared_ptr<Workload>> workloads_;  // as last delivered
  std::map<std::string, Admit> assumed_;
  std::map<std::string, std::vector<std::string>> levels_;         // of topologies
  std::map<std::string, std::string> topologies_;                  // of flavors
  std::map<std::string, std::shared_ptr<PodTemplate>> templates_;  // equal ones are shared
  std::vector<std::string> errors_;
};

void set_condition(Workload& w, Condition condition);

}  // namespace kueue::engine::testing
