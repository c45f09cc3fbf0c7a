#include "app/manager_setup.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "cli/kubeconfig.h"
#include "config/config.h"
#include "json/json.h"
#include "net/certs.h"

namespace kueue::app {
namespace {

constexpr const char* kNotValid = "the Configuration is not valid";

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name[0] == '\0' ? "kueue" : name;
}

Duration duration_or(const json::Value& document, std::initializer_list<std::string_view> path,
                     Duration fallback) {
  const std::string_view text = document.get_string(path);
  if (text.empty()) return fallback;
  const auto parsed = parse_duration(text);
  return parsed.ok() ? *parsed : fallback;
}

std::optional<kube::LeaderElectionOptions> leader_election_of(const json::Value& document) {
  if (!document.get_bool({"leaderElection", "leaderElect"})) return std::nullopt;
  kube::LeaderElectionOptions result;
  const auto set = [&](const char* member, std::string* to) {
    const std::string_view text = document.get_string({"leaderElection", member});
    if (!text.empty()) *to = text;
  };
  result.namespace_ = document.get_string({"namespace"}, "kueue-system");
  set("resourceNamespace", &result.namespace_);
  set("resourceName", &result.lease_name);
  result.identity = host_name() + "_" + net::random_hex(16);
  result.lease_duration =
      duration_or(document, {"leaderElection", "leaseDuration"}, result.lease_duration);
  result.renew_deadline =
      duration_or(document, {"leaderElection", "renewDeadline"}, result.renew_deadline);
  result.retry_period =
      duration_or(document, {"leaderElection", "retryPeriod"}, result.retry_period);
  result.release_on_stop = true;
  return result;
}

// The defaults of clientConnection are Go's client-side throttle. Here nothing is throttled unless
// the file asks for it: API Priority and Fairness does that on the server's side, and better.
Rate rate_of(const std::string& path, const json::Value& document) {
  if (path.empty()) return {};
  const auto text = cli::read_file(path);
  if (!text.ok()) return {};
  const auto file = json::parse_yaml(*text);
  if (!file.ok()) return {};
  const json::Value* given = file->find("clientConnection");
  if (given == nullptr || given->find("qps") == nullptr) return {};
  const json::Value* qps = document.find_path({"clientConnection", "qps"});
  if (qps == nullptr || !qps->is_number() || qps->as_double() <= 0) return {};
  return {.qps = qps->as_double(),
          .burst = static_cast<int>(document.get_int({"clientConnection", "burst"}, 30))};
}

void apply_flags(const config::ManagerOptions& flags, controllers::Options* options) {
  if (flags.controllers) {
    options->controllers.emplace(flags.controllers->begin(), flags.controllers->end());
  }
  options->scheduler = flags.scheduler;
  options->jobs_wait_for_pods_ready = flags.jobs_wait_for_pods_ready;
  options->annotations_to_copy.insert(options->annotations_to_copy.end(),
                                      flags.annotations_to_copy.begin(),
                                      flags.annotations_to_copy.end());
  options->engine.retry_batch = flags.requeue_batch_period;
}

// All that stands against the file, in place of the first thing that was found.
Error all_faults(const config::ManagerOptions& flags, Error first) {
  const auto text = cli::read_file(flags.config);
  if (!text.ok()) return first;
  const config::Checked checked = config::check(*text, flags.feature_gates);
  const bool placed = std::any_of(checked.faults.begin(), checked.faults.end(),
                                  [](const config::Fault& fault) { return fault.line > 0; });
  if (!placed) return first;
  Error error = make_error(first.code, flags.config + ": " + kNotValid);
  for (const config::Fault& fault : checked.faults) {
    const std::string line = fault.line > 0 ? " (line " + std::to_string(fault.line) + ")" : "";
    error.causes.push_back({"FieldValueInvalid", fault.message + line, fault.field});
  }
  return error;
}

// The gates of a flag as they would stand in the Configuration; others judge them.
json::Value gates_of(std::string_view flag) {
  json::Value gates = json::Value::object();
  while (!flag.empty()) {
    const std::string_view item = flag.substr(0, flag.find(','));
    flag.remove_prefix(std::min(item.size() + 1, flag.size()));
    const size_t equal = item.find('=');
    if (equal != std::string_view::npos)
      gates[item.substr(0, equal)] = item.substr(equal + 1) == "true";
  }
  return json::Value::object({{"featureGates", std::move(gates)}});
}

// Fields whose change is put in force without a new start, with all below them.
struct Reloadable {
  std::string_view path;
  std::string_view from_when;
};
constexpr Reloadable kReloadable[] = {
    {"clientConnection.burst", "for requests to come"},
    {"clientConnection.qps", "for requests to come"},
    {"integrations.labelKeysToCopy", "for Workloads that are made from now on"},
    {"manageJobsWithoutQueueName", "for all Jobs"},
    {"managedJobsNamespaceSelector", "for all Jobs"},
    {"objectRetentionPolicies", "for all Workloads"},
    {"tls", "for new connections"},
    {"waitForPodsReady.recoveryTimeout", "for all Workloads"},
    {"waitForPodsReady.requeuingStrategy.backoffBaseSeconds", "for evictions to come"},
    {"waitForPodsReady.requeuingStrategy.backoffLimitCount", "for evictions to come"},
    {"waitForPodsReady.requeuingStrategy.backoffMaxSeconds", "for evictions to come"},
    {"waitForPodsReady.timeout", "for all Workloads"},
};

const Reloadable* reloadable(std::string_view path) {
  for (const Reloadable& known : kReloadable) {
    if (!path.starts_with(known.path)) continue;
    if (path.size() == known.path.size() || path[known.path.size()] == '.') return &known;
  }
  return nullptr;
}

// The paths of what differs, as deep as both have objects there; sorted within each object. A
// selector is one thing, and its keys may hold dots.
void collect_changes(const json::Value& before, const json::Value& after, const std::string& prefix,
                     std::vector<std::string>* paths) {
  std::set<std::string> members;
  for (const json::Value* document : {&before, &after})
    for (const auto& [key, value] : document->as_object()) members.insert(key);
  for (const std::string& member : members) {
    const json::Value* old = before.find(member);
    const json::Value* now = after.find(member);
    const std::string path = prefix + member;
    if (old != nullptr && now != nullptr) {
      if (*old == *now) continue;
      if (old->is_object() && now->is_object() && path != "managedJobsNamespaceSelector") {
        collect_changes(*old, *now, path + ".", paths);
        continue;
      }
    }
    paths->push_back(path);
  }
}

// Names of fields hold no dots.
void take_over(const json::Value& from, std::string_view path, json::Value* to) {
  const json::Value* source = &from;
  json::Value* target = to;
  for (;;) {
    const size_t dot = path.find('.');
    const std::string_view member = path.substr(0, dot);
    source = source->find(member);
    if (dot == std::string_view::npos || source == nullptr || !source->is_object()) {
      if (source != nullptr) {
        (*target)[member] = *source;
      } else {
        target->erase_path({member});
      }
      return;
    }
    json::Value* below = target->find(member);
    if (below == nullptr || !below->is_object()) {
      (*target)[member] = *source;
      return;
    }
    target = below;
    path.remove_prefix(dot + 1);
  }
}

}  // namespace

Result<ManagerSetup> load_manager_setup(const config::ManagerOptions& flags) {
  auto found = config::load_file(flags.config);
  if (!found.ok()) return all_faults(flags, std::move(found).error());
  config::Loaded& loaded = *found;
  const auto given = config::effective_gates(flags.feature_gates, loaded.document);
  if (!given.ok()) return all_faults(flags, given.error());
  const FeatureGates& gates = *given;
  if (auto causes = config::validate(loaded.document, gates); !causes.empty()) {
    Error error = make_error(ErrorCode::kInvalid, kNotValid);
    error.causes = std::move(causes);
    return all_faults(flags, std::move(error));
  }
  ManagerSetup setup;
  KUEUE_ASSIGN(setup.options, controllers::options_from(loaded.configuration, gates));
  apply_flags(flags, &setup.options);
  if (const auto& bound = loaded.extensions.termination_bound)
    setup.options.bounded_termination = controllers::BoundedTermination{
        .after = *bound, .conditions = loaded.extensions.termination_conditions};
  setup.leader_election = leader_election_of(loaded.document);
  setup.rate = rate_of(flags.config, loaded.document);
  setup.document = std::move(loaded.document);
  setup.warnings = std::move(loaded.warnings);
  setup.not_built = std::move(loaded.not_built);
  for (ErrorCause& one : config::not_built(gates_of(flags.feature_gates)))
    setup.not_built.push_back({one.reason, one.message, "--feature-gates"});
  const auto names = controllers::controller_names();
  for (const std::string& name : flags.controllers.value_or(std::vector<std::string>()))
    if (std::find(names.begin(), names.end(), name) == names.end())
      setup.not_built.push_back(
          {"NotBuilt", "no controller of the name \"" + name + "\" is there", "--controllers"});
  return setup;
}

net::TlsPolicy tls_policy_of(const json::Value& document) {
  net::TlsPolicy policy;
  policy.tls13_only = document.get_string({"tls", "minVersion"}) == "VersionTLS13";
  const json::Value* suites = document.find_path({"tls", "cipherSuites"});
  if (suites != nullptr && suites->is_array())
    for (const json::Value& suite : suites->as_array())
      policy.cipher_suites.emplace_back(suite.string_or(""));
  const json::Value* curves = document.find_path({"tls", "curvePreferences"});
  if (curves != nullptr && curves->is_array())
    for (const json::Value& curve : curves->as_array())
      policy.groups.push_back(static_cast<int>(curve.int_or(0)));
  return policy;
}

Reload plan_reload(const json::Value& before, const json::Value& after) {
  std::vector<std::string> paths;
  collect_changes(before, after, "", &paths);
  Reload reload;
  reload.in_force = before;
  for (const std::string& path : paths) {
    const Reloadable* known = reloadable(path);
    if (known == nullptr) {
      reload.lines.push_back(path + ": changed; takes effect when the manager is started anew");
      continue;
    }
    reload.lines.push_back(path + ": in force " + std::string(known->from_when));
    take_over(after, path, &reload.in_force);
  }
  return reload;
}

std::string describe_error(const Error& error) {
  std::string text = error.message;
  for (const ErrorCause& cause : error.causes) {
    text += "\n  " + (cause.field.empty() ? "" : cause.field + ": ") + cause.message;
  }
  return text;
}

}  // namespace kueue::app
