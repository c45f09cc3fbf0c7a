// Registry: counters, gauges and histograms with label vectors, and their Prometheus text. Thread
// safe: one mutex per family; recording is a map lookup, the text is built family by family.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kueue::controllers::metrics {

enum class Type : uint8_t { kCounter, kGauge, kHistogram };

// Which object a series is about: labels that administrators add are taken from it.
enum class Scope : uint8_t { kNone, kClusterQueue, kLocalQueue, kCohort };

// What a family is; names and labels are constant for the life of the process.
struct Description {
  std::string name;  // with prefix: kueue_pending_workloads
  Type type = Type::kGauge;
  std::string help;
  std::vector<std::string> labels;   // in the order values are given
  std::vector<double> buckets = {};  // kHistogram: upper bounds, ascending, without +Inf
  // Labels that only say which object a series is about and are not shown: series that differ in
  // nothing else are shown as their sum.
  std::vector<std::string> hidden = {};
};

// Labels that administrators define, with their values for each object. Guarded by the Registry.
class CustomLabels {
 public:
  // Label names of a scope, in the order of their values ("custom_team").
  void define(Scope scope, std::vector<std::string> names) { names_[scope] = std::move(names); }
  bool any(Scope scope) const {
    auto found = names_.find(scope);
    return found != names_.end() && !found->second.empty();
  }
  // `object` is a name, of LocalQueues "namespace/name". True when other values were there before.
  bool set(Scope scope, const std::string& object, std::vector<std::string> values);
  void erase(Scope scope, const std::string& object) { values_.erase({scope, object}); }
  // Objects that have no series, and scopes that have none at all.
  void mute(Scope scope, const std::string& object, bool muted);
  void mute_all(Scope scope) { muted_scopes_.insert(scope); }
  bool muted(Scope scope, const std::string& object) const {
    return muted_scopes_.contains(scope) || muted_.contains({scope, object});
  }
  bool any_muted() const { return !muted_scopes_.empty() || !muted_.empty(); }
  // Adds name and value of each; values of an unknown object are empty.
  void append(Scope scope, const std::string& object,
              std::vector<std::pair<std::string, std::string>>& labels) const;

 private:
  std::map<Scope, std::vector<std::string>> names_;
  std::set<Scope> muted_scopes_;
  std::set<std::pair<Scope, std::string>> muted_;
  std::map<std::pair<Scope, std::string>, std::vector<std::string>> values_;
};

using LabelValues = std::vector<std::string>;

class Family {
 public:
  explicit Family(Description description);

  // More labels behind the others; only while there is no series.
  void widen(const std::vector<std::string>& labels);
  // The number of values must be that of the labels.
  void add(const LabelValues& values, double by = 1);     // counters and gauges
  void set(const LabelValues& values, double value);      // gauges
  void observe(const LabelValues& values, double value);  // histograms
  // Removes one series.
  void erase(const LabelValues& values);
  // Removes every series in which each named label has that value. Unknown labels match nothing.
  // Returns how many.
  size_t erase_matching(const std::vector<std::pair<std::string_view, std::string_view>>& labels);
  void clear();

  // Value of a counter or gauge, number of samples of a histogram; 0 when there is no such series.
  double value(const LabelValues& values) const;
  size_t size() const;
  const Description& description() const { return description_; }

  // HELP, TYPE and every series, sorted by label values. `constant` labels are added to each.
  // Nothing when empty.
  void expose(std::string& out, const std::vector<std::pair<std::string, std::string>>& constant,
              const CustomLabels& custom) const;

 private:
  struct Series {
    double value = 0;  // histograms: sum of samples
    uint64_t count = 0;
    std::vector<uint64_t> buckets;  // not cumulative; one more than bounds
    void add(const Series& other);
  };
  using Shown = std::vector<std::pair<std::string, std::string>>;
  Shown shown_labels(const LabelValues& values, const CustomLabels& custom) const;
  std::string object_of(const LabelValues& values) const;
  void expose_series(std::string& out, const Shown& labels, const Series& series) const;

  Description description_;  // constant once there are series
  const Scope scope_;
  mutable std::mutex mutex_;
  std::map<LabelValues, Series> series_;
};

class Registry {
 public:
  Family& add(Description description);
  // nullptr when there is none of that name.
  Family* find(std::string_view name);
  // A label every series carries from now on ("replica_role").
  void set_constant_label(std::string name, std::string value);
  // Families that must not carry the constant labels.
  void exempt_from_constant_labels(std::string name);
  // See CustomLabels.
  void define_custom_labels(Scope scope, std::vector<std::string> names);
  bool set_custom_labels(Scope scope, const std::string& object, std::vector<std::string> values);
  void erase_custom_labels(Scope scope, const std::string& object);
  void mute(Scope scope, const std::string& object, bool muted);
  void mute_all(Scope scope);
  // Drops all series of all gauges (after a change of role).
  void clear_gauges();
  // Text exposition format 0.0.4, families sorted by name.
  std::string expose() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Family>, std::less<>> families_;
  std::vector<std::pair<std::string, std::string>> constant_;
  std::vector<std::string> exempt_;
  CustomLabels custom_;
};

}  // namespace kueue::controllers::metrics
