#include "config/flags.h"

#include <algorithm>
#include <charconv>

#include "base/feature_gates.h"

namespace kueue::config {
namespace {

enum class Shape : uint8_t { kText, kSwitch, kList, kPaths, kDuration, kLogLevel, kChoice };

struct Flag {
  FlagInfo info;
  Shape shape;
  // How the value is stored; exactly one is set, as the shape asks.
  std::string ManagerOptions::* text = nullptr;
  bool ManagerOptions::* on = nullptr;
  std::vector<std::string> ManagerOptions::* list = nullptr;
  std::optional<std::vector<std::string>> ManagerOptions::* only = nullptr;
  Duration ManagerOptions::* duration = nullptr;
  std::optional<Duration> ManagerOptions::* maybe_duration = nullptr;
};

using M = ManagerOptions;

constexpr Flag kFlags[] = {
    {{"config", "FILE", "",
      "Configuration of config.kueue.x-k8s.io; without it the defaults hold."},
     Shape::kText,
     &M::config},
    {{"kubeconfig", "FILE", "",
      "How to reach the API server; without it KUBECONFIG, the service account, then "
      "~/.kube/config."},
     Shape::kText,
     &M::kubeconfig},
    {{"feature-gates", "NAME=BOOL,...", "",
      "Feature gates; not together with featureGates of the Configuration."},
     Shape::kText,
     &M::feature_gates},
    {{"controllers", "LIST", "all", "The only controllers that run; empty: none."},
     Shape::kList,
     nullptr,
     nullptr,
     nullptr,
     &M::controllers},
    {{"webhooks", "LIST", "all", "The only webhook paths that are served; any other answers 404."},
     Shape::kPaths,
     nullptr,
     nullptr,
     nullptr,
     &M::webhooks},
    {{"noop-webhooks", "LIST", "", "Webhook paths that allow everything unchanged."},
     Shape::kPaths,
     nullptr,
     nullptr,
     &M::noop_webhooks},
    {{"scheduler", "true|false", "true", "Whether the admission loop runs."},
     Shape::kSwitch,
     nullptr,
     &M::scheduler},
    {{"metrics-plain-http", "true|false", "false",
      "Serve /metrics without TLS and without authorization."},
     Shape::kSwitch,
     nullptr,
     &M::metrics_plain_http},
    {{"jobs-wait-for-pods-ready", "true|false", "true",
      "Whether job controllers write the PodsReady condition."},
     Shape::kSwitch,
     nullptr,
     &M::jobs_wait_for_pods_ready},
    {{"annotations-to-copy", "LIST", "",
      "Annotation keys that are copied from jobs to their Workloads."},
     Shape::kList,
     nullptr,
     nullptr,
     &M::annotations_to_copy},
    {{"requeue-batch-period", "DURATION", "1s",
      "How long requeue notifications of inadmissible Workloads are collected."},
     Shape::kDuration,
     nullptr,
     nullptr,
     nullptr,
     nullptr,
     &M::requeue_batch_period},
    {{"tas-requeue-batch-interval", "DURATION", "10s",
      "The same for freed usage of other Pods on topology nodes."},
     Shape::kDuration,
     nullptr,
     nullptr,
     nullptr,
     nullptr,
     &M::tas_requeue_batch_interval},
    {{"pod-termination-grace-period", "DURATION", "",
      "Failure recovery: when a Pod that does not go is ended by force."},
     Shape::kDuration,
     nullptr,
     nullptr,
     nullptr,
     nullptr,
     nullptr,
     &M::pod_termination_grace_period},
    {{"multikueue-events-batch-period", "DURATION", "",
      "How long events of worker clusters are collected."},
     Shape::kDuration,
     nullptr,
     nullptr,
     nullptr,
     nullptr,
     nullptr,
     &M::multikueue_events_batch_period},
    {{"zap-log-level", "LEVEL", "info",
      "debug, info, error, panic, or a number above 0 for more detail."},
     Shape::kLogLevel,
     &M::zap_log_level},
    {{"zap-devel", "true|false", "false", "Console log lines for people, with debug messages."},
     Shape::kSwitch,
     nullptr,
     &M::zap_devel},
    {{"zap-encoder", "json|console", "json", "Form of log lines."},
     Shape::kChoice,
     &M::zap_encoder},
    {{"zap-stacktrace-level", "info|error|panic", "error", "Accepted for compatibility."},
     Shape::kChoice,
     &M::zap_stacktrace_level},
    {{"zap-time-encoding", "epoch|millis|nano|iso8601|rfc3339|rfc3339nano", "rfc3339",
      "Form of times in log lines."},
     Shape::kChoice,
     &M::zap_time_encoding},
    {{"help", "", "false", "Show this text."}, Shape::kSwitch, nullptr, &M::help},
};

Error refuse(std::string_view name, std::string_view value, std::string_view why) {
  return make_error(ErrorCode::kBadRequest, "invalid value \"" + std::string(value) +
                                                "\" for flag --" + std::string(name) + ": " +
                                                std::string(why));
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    size_t comma = text.find(',');
    std::string_view item = text.substr(0, comma);
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    if (!item.empty()) out.emplace_back(item);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return out;
}

bool parse_switch(std::string_view text, bool* out) {
  for (std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (text == yes) {
      *out = true;
      return true;
    }
  for (std::string_view no : {"0", "f", "F", "false", "FALSE", "False"})
    if (text == no) {
      *out = false;
      return true;
    }
  return false;
}

bool log_level(std::string_view text) {
  for (std::string_view level : {"debug", "info", "error", "panic"})
    if (text == level) return true;
  int n = 0;
  auto r = std::from_chars(text.data(), text.data() + text.size(), n);
  return r.ec == std::errc() && r.ptr == text.data() + text.size() && n > 0 && n <= 127;
}

bool one_of(std::string_view text, std::string_view choices) {
  while (true) {
    size_t bar = choices.find('|');
    if (text == choices.substr(0, bar)) return true;
    if (bar == std::string_view::npos) return false;
    choices.remove_prefix(bar + 1);
  }
}

Result<void> store(const Flag& flag, std::string_view value, ManagerOptions* out) {
  std::string_view name = flag.info.name;
  switch (flag.shape) {
    case Shape::kText:
      break;
    case Shape::kLogLevel:
      if (!log_level(value))
        return refuse(name, value, "must be debug, info, error, panic or a number from 1 to 127");
      break;
    case Shape::kChoice:
      if (!one_of(value, flag.info.value))
        return refuse(name, value, "must be one of " + std::string(flag.info.value));
      break;
    case Shape::kSwitch:
      if (!parse_switch(value, &(out->*flag.on)))
        return refuse(name, value, "must be true or false");
      return {};
    case Shape::kDuration: {
      Result<Duration> duration = parse_duration(value);
      if (!duration.ok()) return refuse(name, value, duration.error().message);
      if (duration->ns < 0) return refuse(name, value, "must not be negative");
      if (flag.duration != nullptr) out->*flag.duration = *duration;
      if (flag.maybe_duration != nullptr) out->*flag.maybe_duration = *duration;
      return {};
    }
    case Shape::kList:
    case Shape::kPaths: {
      std::vector<std::string> items = split(value);
      if (flag.shape == Shape::kPaths)
        for (const std::string& item : items)
          if (!item.starts_with('/'))
            return refuse(name, value, "path \"" + item + "\" must begin with '/'");
      if (flag.list != nullptr) out->*flag.list = std::move(items);
      if (flag.only != nullptr) out->*flag.only = std::move(items);
      return {};
    }
  }
  out->*flag.text = std::string(value);
  return {};
}

const Flag* find_flag(std::string_view name) {
  if (name == "h") name = "help";
  for (const Flag& flag : kFlags)
    if (flag.info.name == name) return &flag;
  return nullptr;
}

Error unknown_flag(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Flag& flag : kFlags) names.push_back(flag.info.name);
  std::string text = "unknown flag: --" + std::string(name);
  std::string_view near = nearest_word(name, names);
  if (!near.empty()) text += " (did you mean --" + std::string(near) + "?)";
  return make_error(ErrorCode::kBadRequest, text);
}

}  // namespace

std::span<const FlagInfo> manager_flags() {
  static const std::vector<FlagInfo> kInfos = [] {
    std::vector<FlagInfo> out;
    for (const Flag& flag : kFlags) out.push_back(flag.info);
    return out;
  }();
  return kInfos;
}

Result<ManagerOptions> parse_manager_flags(std::span<const std::string> arguments) {
  ManagerOptions out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string_view argument = arguments[i];
    size_t dashes = argument.starts_with("--") ? 2 : argument.starts_with('-') ? 1 : 0;
    if (dashes == 0 || argument.size() == dashes)
      return make_error(ErrorCode::kBadRequest,
                        "unexpected argument \"" + std::string(argument) + "\"");
    argument.remove_prefix(dashes);
    size_t equals = argument.find('=');
    std::string_view name = argument.substr(0, equals);
    const Flag* flag = find_flag(name);
    if (flag == nullptr) return unknown_flag(name);
    std::string_view value;
    if (equals != std::string_view::npos) {
      value = argument.substr(equals + 1);
    } else if (flag->shape == Shape::kSwitch) {
      value = "true";
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    } else {
      return make_error(ErrorCode::kBadRequest, "flag needs an argument: --" + std::string(name));
    }
    KUEUE_TRY(store(*flag, value, &out));
  }
  return out;
}

std::string manager_flags_help() {
  std::string out;
  for (const Flag& flag : kFlags) {
    out += "  --" + std::string(flag.info.name);
    if (!flag.info.value.empty()) out += "=" + std::string(flag.info.value);
    out += "\n        " + std::string(flag.info.doc);
    if (!flag.info.fallback.empty()) out += " (default " + std::string(flag.info.fallback) + ")";
    out += '\n';
  }
  return out;
}

}  // namespace kueue::config
