#include "controllers/metrics/registry.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/check.h"

namespace kueue::controllers::metrics {
namespace {

// As Go's strconv.FormatFloat(v, 'g', -1, 64), which Prometheus clients print.
std::string number(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "+Inf" : "-Inf";
  char buffer[64];
  const double magnitude = std::fabs(v);
  const bool scientific = magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e21);
  auto format = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  auto end = std::to_chars(buffer, buffer + sizeof buffer, v, format).ptr;
  return {buffer, end};
}

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

using Labels = std::vector<std::pair<std::string, std::string>>;

void append_series(std::string& out, std::string_view name, std::string_view suffix,
                   const Labels& labels, std::string_view bound, const std::string& value) {
  out += name;
  out += suffix;
  if (!labels.empty() || !bound.empty()) {
    out += '{';
    bool first = true;
    for (const auto& [key, text] : labels) {
      if (!first) out += ',';
      first = false;
      out += key;
      out += "=\"";
      append_escaped(out, text, true);
      out += '"';
    }
    if (!bound.empty()) {
      if (!first) out += ',';
      out += "le=\"";
      out += bound;
      out += '"';
    }
    out += '}';
  }
  out += ' ';
  out += value;
  out += '\n';
}

std::string_view type_name(Type type) {
  switch (type) {
    case Type::kCounter:
      return "counter";
    case Type::kGauge:
      return "gauge";
    case Type::kHistogram:
      return "histogram";
  }
  return "untyped";
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// From its name and labels: every family of a kind of object is labelled alike.
Scope scope_of(const Description& description) {
  const std::string_view name = description.name;
  // Declared by Kueue with labels of the ClusterQueue and recorded without.
  if (name == "kueue_pod_scheduling_gate_removal_seconds" || name.starts_with("multikueue_"))
    return Scope::kNone;
  if (has(description.labels, "name") && has(description.labels, "namespace"))
    return Scope::kLocalQueue;
  if (has(description.labels, "cluster_queue") ||
      has(description.labels, "preempting_cluster_queue"))
    return Scope::kClusterQueue;
  return has(description.labels, "cohort") ? Scope::kCohort : Scope::kNone;
}

}  // namespace

bool CustomLabels::set(Scope scope, const std::string& object, std::vector<std::string> values) {
  auto [at, inserted] = values_.try_emplace({scope, object}, values);
  if (inserted || at->second == values) return false;
  at->second = std::move(values);
  return true;
}

void CustomLabels::mute(Scope scope, const std::string& object, bool muted) {
  if (muted) {
    muted_.insert({scope, object});
  } else {
    muted_.erase({scope, object});
  }
}

void CustomLabels::append(Scope scope, const std::string& object,
                          std::vector<std::pair<std::string, std::string>>& labels) const {
  auto names = names_.find(scope);
  if (names == names_.end()) return;
  auto values = values_.find({scope, object});
  for (size_t i = 0; i < names->second.size(); ++i)
    labels.emplace_back(names->second[i], values == values_.end() ? "" : values->second[i]);
}

Family::Family(Description description)
    : description_(std::move(description)), scope_(scope_of(description_)) {}

void Family::widen(const std::vector<std::string>& labels) {
  std::lock_guard lock(mutex_);
  KUEUE_CHECK(series_.empty(), "labels are added before series");
  description_.labels.insert(description_.labels.end(), labels.begin(), labels.end());
}

void Family::add(const LabelValues& values, double by) {
  KUEUE_CHECK(values.size() == description_.labels.size(), "wrong number of label values");
  std::lock_guard lock(mutex_);
  series_[values].value += by;
}

void Family::set(const LabelValues& values, double value) {
  KUEUE_CHECK(values.size() == description_.labels.size(), "wrong number of label values");
  std::lock_guard lock(mutex_);
  series_[values].value = value;
}

void Family::observe(const LabelValues& values, double value) {
  KUEUE_CHECK(values.size() == description_.labels.size(), "wrong number of label values");
  std::lock_guard lock(mutex_);
  Series& series = series_[values];
  if (series.buckets.empty()) series.buckets.resize(description_.buckets.size() + 1);
  auto bound = std::lower_bound(description_.buckets.begin(), description_.buckets.end(), value);
  ++series.buckets[static_cast<size_t>(bound - description_.buckets.begin())];
  ++series.count;
  series.value += value;
}

void Family::erase(const LabelValues& values) {
  std::lock_guard lock(mutex_);
  series_.erase(values);
}

size_t Family::erase_matching(
    const std::vector<std::pair<std::string_view, std::string_view>>& labels) {
  std::vector<std::pair<size_t, std::string_view>> wanted;
  for (const auto& [name, value] : labels) {
    auto at = std::find(description_.labels.begin(), description_.labels.end(), name);
    if (at == description_.labels.end()) return 0;
    wanted.emplace_back(static_cast<size_t>(at - description_.labels.begin()), value);
  }
  std::lock_guard lock(mutex_);
  return std::erase_if(series_, [&](const auto& entry) {
    return std::all_of(wanted.begin(), wanted.end(),
                       [&](const auto& want) { return entry.first[want.first] == want.second; });
  });
}

void Family::clear() {
  std::lock_guard lock(mutex_);
  series_.clear();
}

double Family::value(const LabelValues& values) const {
  std::lock_guard lock(mutex_);
  auto found = series_.find(values);
  if (found == series_.end()) return 0;
  return description_.type == Type::kHistogram ? static_cast<double>(found->second.count)
                                               : found->second.value;
}

size_t Family::size() const {
  std::lock_guard lock(mutex_);
  return series_.size();
}

void Family::Series::add(const Series& other) {
  value += other.value;
  count += other.count;
  if (buckets.size() < other.buckets.size()) buckets.resize(other.buckets.size());
  for (size_t i = 0; i < other.buckets.size(); ++i) buckets[i] += other.buckets[i];
}

std::string Family::object_of(const LabelValues& values) const {
  const auto value = [&](std::string_view label) -> std::string {
    for (size_t i = 0; i < values.size(); ++i)
      if (description_.labels[i] == label) return values[i];
    return "";
  };
  switch (scope_) {
    case Scope::kClusterQueue:
      return value("cluster_queue") + value("preempting_cluster_queue");
    case Scope::kLocalQueue:
      return value("namespace") + "/" + value("name");
    case Scope::kCohort:
      return value("cohort");
    case Scope::kNone:
      return "";
  }
  return "";
}

Family::Shown Family::shown_labels(const LabelValues& values, const CustomLabels& custom) const {
  Shown labels;
  for (size_t i = 0; i < values.size(); ++i)
    if (!has(description_.hidden, description_.labels[i]))
      labels.emplace_back(description_.labels[i], values[i]);
  if (custom.any(scope_)) custom.append(scope_, object_of(values), labels);
  return labels;
}

void Family::expose_series(std::string& out, const Shown& labels, const Series& series) const {
  const std::string& name = description_.name;
  if (description_.type != Type::kHistogram) {
    append_series(out, name, "", labels, "", number(series.value));
    return;
  }
  uint64_t cumulative = 0;
  for (size_t i = 0; i < series.buckets.size(); ++i) {
    cumulative += series.buckets[i];
    const bool last = i == description_.buckets.size();
    append_series(out, name, "_bucket", labels, last ? "+Inf" : number(description_.buckets[i]),
                  std::to_string(cumulative));
  }
  append_series(out, name, "_sum", labels, "", number(series.value));
  append_series(out, name, "_count", labels, "", std::to_string(series.count));
}

void Family::expose(std::string& out,
                    const std::vector<std::pair<std::string, std::string>>& constant,
                    const CustomLabels& custom) const {
  std::lock_guard lock(mutex_);
  // A family that only remembers the object for its labels is about everything.
  const auto left_out = [&](const LabelValues& values) {
    return custom.any_muted() && description_.hidden.empty() &&
           custom.muted(scope_, object_of(values));
  };
  if (std::all_of(series_.begin(), series_.end(),
                  [&](const auto& entry) { return left_out(entry.first); }))
    return;
  out += "# HELP " + description_.name + ' ';
  append_escaped(out, description_.help, false);
  out += "\n# TYPE " + description_.name + ' ';
  out += type_name(description_.type);
  out += '\n';
  const auto complete = [&](Shown labels) {
    labels.insert(labels.end(), constant.begin(), constant.end());
    std::sort(labels.begin(), labels.end());
    return labels;
  };
  if (description_.hidden.empty()) {
    for (const auto& [values, series] : series_)
      if (!left_out(values)) expose_series(out, complete(shown_labels(values, custom)), series);
    return;
  }
  std::map<Shown, Series> sums;
  for (const auto& [values, series] : series_) sums[shown_labels(values, custom)].add(series);
  for (const auto& [labels, series] : sums) expose_series(out, complete(labels), series);
}

Family& Registry::add(Description description) {
  std::lock_guard lock(mutex_);
  std::string name = description.name;
  auto [at, inserted] = families_.emplace(name, std::make_unique<Family>(std::move(description)));
  KUEUE_CHECK(inserted, "two metric families of one name");
  return *at->second;
}

Family* Registry::find(std::string_view name) {
  std::lock_guard lock(mutex_);
  auto found = families_.find(name);
  return found == families_.end() ? nullptr : found->second.get();
}

void Registry::set_constant_label(std::string name, std::string value) {
  std::lock_guard lock(mutex_);
  for (auto& label : constant_) {
    if (label.first == name) {
      label.second = std::move(value);
      return;
    }
  }
  constant_.emplace_back(std::move(name), std::move(value));
}

void Registry::exempt_from_constant_labels(std::string name) {
  std::lock_guard lock(mutex_);
  exempt_.push_back(std::move(name));
}

void Registry::define_custom_labels(Scope scope, std::vector<std::string> names) {
  std::lock_guard lock(mutex_);
  custom_.define(scope, std::move(names));
}

bool Registry::set_custom_labels(Scope scope, const std::string& object,
                                 std::vector<std::string> values) {
  std::lock_guard lock(mutex_);
  return custom_.set(scope, object, std::move(values));
}

void Registry::erase_custom_labels(Scope scope, const std::string& object) {
  std::lock_guard lock(mutex_);
  custom_.erase(scope, object);
}

void Registry::mute(Scope scope, const std::string& object, bool muted) {
  std::lock_guard lock(mutex_);
  custom_.mute(scope, object, muted);
}

void Registry::mute_all(Scope scope) {
  std::lock_guard lock(mutex_);
  custom_.mute_all(scope);
}

void Registry::clear_gauges() {
  std::lock_guard lock(mutex_);
  for (auto& [name, family] : families_) {
    if (family->description().type == Type::kGauge) family->clear();
  }
}

std::string Registry::expose() const {
  std::lock_guard lock(mutex_);
  std::string out;
  static const std::vector<std::pair<std::string, std::string>> none;
  for (const auto& [name, family] : families_) {
    const bool exempt = std::find(exempt_.begin(), exempt_.end(), name) != exempt_.end();
    family->expose(out, exempt ? none : constant_, custom_);
  }
  return out;
}

}  // namespace kueue::controllers::metrics
