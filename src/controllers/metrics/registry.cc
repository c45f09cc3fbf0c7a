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

using Labels = std::vector<std::pair<std::string_view, std::string_view>>;

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

}  // namespace

Family::Family(Description description) : description_(std::move(description)) {}

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

void Family::expose(std::string& out,
                    const std::vector<std::pair<std::string, std::string>>& constant) const {
  std::lock_guard lock(mutex_);
  if (series_.empty()) return;
  const std::string& name = description_.name;
  out += "# HELP " + name + ' ';
  append_escaped(out, description_.help, false);
  out += "\n# TYPE " + name + ' ';
  out += type_name(description_.type);
  out += '\n';
  for (const auto& [values, series] : series_) {
    Labels labels(constant.begin(), constant.end());
    for (size_t i = 0; i < values.size(); ++i)
      labels.emplace_back(description_.labels[i], values[i]);
    std::sort(labels.begin(), labels.end());
    if (description_.type != Type::kHistogram) {
      append_series(out, name, "", labels, "", number(series.value));
      continue;
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
    family->expose(out, exempt ? none : constant_);
  }
  return out;
}

}  // namespace kueue::controllers::metrics
