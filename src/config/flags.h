// The command line of `kueue manager`: one table of flags, from which parsing, help and completion
// follow. Pure; thread safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace kueue::config {

struct ManagerOptions {
  std::string config;         // file; "" = defaults
  std::string kubeconfig;     // file; "" = KUBECONFIG, in-cluster or ~/.kube/config
  std::string feature_gates;  // "A=true,B=false"; see effective_gates()
  // The only controllers and webhook paths that run; absent = all. Empty = none.
  std::optional<std::vector<std::string>> controllers;
  std::optional<std::vector<std::string>> webhooks;
  std::vector<std::string> noop_webhooks;  // paths that allow everything unchanged
  bool scheduler = true;
  bool metrics_plain_http = false;
  bool jobs_wait_for_pods_ready = true;
  std::vector<std::string> annotations_to_copy;
  Duration requeue_batch_period = Duration::seconds(1);
  Duration tas_requeue_batch_interval = Duration::seconds(10);
  std::optional<Duration> pod_termination_grace_period;
  std::optional<Duration> multikueue_events_batch_period;
  std::string zap_log_level;  // "", debug, info, error, panic or a number
  bool zap_devel = false;
  std::string zap_encoder;           // "", json or console
  std::string zap_stacktrace_level;  // "", info, error or panic
  std::string zap_time_encoding;     // "", epoch, millis, nano, iso8601, rfc3339, rfc3339nano
  bool help = false;
};

struct FlagInfo {
  std::string_view name;      // without dashes
  std::string_view value;     // what it takes: "FILE", "true|false", "LIST", "DURATION", ...
  std::string_view fallback;  // default, as text
  std::string_view doc;
};

// In the order of help.
std::span<const FlagInfo> manager_flags();

// "--name=value", "--name value", "-name", and for switches "--name" alone. Errors are kBadRequest:
// an unknown flag (with the nearest known one), a value that does not fit, an argument that is no
// flag. Of a repeated flag the last one counts.
Result<ManagerOptions> parse_manager_flags(std::span<const std::string> arguments);
// The flags with their meaning, one paragraph each.
std::string manager_flags_help();

}  // namespace kueue::config
