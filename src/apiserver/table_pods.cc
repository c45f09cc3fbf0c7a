// Rows of pods, nodes and events: the kinds whose cells take more than a look-up.
#include <algorithm>
#include <set>

#include "apiserver/table.h"
#include "apiserver/table_columns.h"

namespace kueue::apiserver {

namespace {

const json::Array& list(const json::Value& object, std::initializer_list<std::string_view> path) {
  static const json::Array none;
  const json::Value* value = object.find_path(path);
  return value != nullptr && value->is_array() ? value->as_array() : none;
}

bool has_condition(const json::Value& pod, std::string_view type, std::string_view status) {
  for (const json::Value& c : list(pod, {"status", "conditions"}))
    if (c.get_string({"type"}) == type) return c.get_string({"status"}) == status;
  return false;
}

struct Counts {
  size_t ready = 0;
  size_t total = 0;
  int64_t restarts = 0;
  Instant last_restart;
  std::string reason;
};

void count_restart(const json::Value& status, Counts& counts) {
  counts.restarts += status.get_int({"restartCount"});
  const auto when = parse_time(status.get_string({"lastState", "terminated", "finishedAt"}));
  if (when.ok() && counts.last_restart < *when) counts.last_restart = *when;
}

std::string ended(const json::Value& terminated) {
  const std::string_view reason = terminated.get_string({"reason"});
  if (!reason.empty()) return std::string(reason);
  if (const int64_t signal = terminated.get_int({"signal"}); signal != 0)
    return "Signal:" + std::to_string(signal);
  return "ExitCode:" + std::to_string(terminated.get_int({"exitCode"}));
}

// True while init containers decide what is shown.
bool init_reason(const json::Value& pod, Counts& counts) {
  const json::Array& specs = list(pod, {"spec", "initContainers"});
  std::set<std::string_view> sidecars;
  for (const json::Value& c : specs)
    if (c.get_string({"restartPolicy"}) == "Always") sidecars.insert(c.get_string({"name"}));
  size_t index = 0;
  for (const json::Value& status : list(pod, {"status", "initContainerStatuses"})) {
    count_restart(status, counts);
    const bool sidecar = sidecars.contains(status.get_string({"name"}));
    if (sidecar) {
      if (status.get_bool({"ready"})) ++counts.ready;
      if (status.get_bool({"started"})) {
        ++index;
        continue;
      }
    }
    const json::Value* terminated = status.find_path({"state", "terminated"});
    const std::string_view waiting = status.get_string({"state", "waiting", "reason"});
    if (terminated != nullptr && terminated->get_int({"exitCode"}) == 0) {
      ++index;
      continue;
    }
    if (terminated != nullptr)
      counts.reason = "Init:" + ended(*terminated);
    else if (!waiting.empty() && waiting != "PodInitializing")
      counts.reason = "Init:" + std::string(waiting);
    else
      counts.reason = "Init:" + std::to_string(index) + "/" + std::to_string(specs.size());
    return true;
  }
  return false;
}

Counts look_at(const json::Value& pod) {
  Counts counts;
  counts.total = list(pod, {"spec", "containers"}).size();
  for (const json::Value& c : list(pod, {"spec", "initContainers"}))
    if (c.get_string({"restartPolicy"}) == "Always") ++counts.total;
  counts.reason = pod.get_string({"status", "phase"});
  if (const auto reason = pod.get_string({"status", "reason"}); !reason.empty())
    counts.reason = reason;
  for (const json::Value& c : list(pod, {"status", "conditions"}))
    if (c.get_string({"type"}) == "PodScheduled" && c.get_string({"reason"}) == "SchedulingGated")
      counts.reason = "SchedulingGated";
  const bool initializing = init_reason(pod, counts);
  if (!initializing || has_condition(pod, "Initialized", "True")) {
    bool running = false;
    const json::Array& statuses = list(pod, {"status", "containerStatuses"});
    for (auto s = statuses.rbegin(); s != statuses.rend(); ++s) {
      count_restart(*s, counts);
      const std::string_view waiting = s->get_string({"state", "waiting", "reason"});
      const json::Value* terminated = s->find_path({"state", "terminated"});
      if (!waiting.empty()) {
        counts.reason = waiting;
      } else if (terminated != nullptr) {
        counts.reason = ended(*terminated);
      } else if (s->get_bool({"ready"}) && s->find_path({"state", "running"}) != nullptr) {
        running = true;
        ++counts.ready;
      }
    }
    if (counts.reason == "Completed" && running)
      counts.reason = has_condition(pod, "Ready", "True") ? "Running" : "NotReady";
  }
  if (pod.find_path({"metadata", "deletionTimestamp"}) != nullptr) {
    const std::string_view phase = pod.get_string({"status", "phase"});
    if (pod.get_string({"status", "reason"}) == "NodeLost")
      counts.reason = "Unknown";
    else if (phase != "Succeeded" && phase != "Failed")
      counts.reason = "Terminating";
  }
  return counts;
}

std::string or_none(std::string_view text) { return text.empty() ? "<none>" : std::string(text); }

}  // namespace

json::Array pod_cells(const json::Value& pod, Instant now) {
  const Counts counts = look_at(pod);
  std::string restarts = std::to_string(counts.restarts);
  if (counts.restarts != 0 && !counts.last_restart.is_zero())
    restarts += " (" + human_duration(now - counts.last_restart) + " ago)";
  const json::Array& ips = list(pod, {"status", "podIPs"});
  const std::string_view ip =
      ips.empty() ? pod.get_string({"status", "podIP"}) : ips.front().get_string({"ip"});
  const json::Array& gates = list(pod, {"spec", "readinessGates"});
  std::string gate_text = "<none>";
  if (!gates.empty()) {
    size_t true_gates = 0;
    for (const json::Value& g : gates)
      if (has_condition(pod, g.get_string({"conditionType"}), "True")) ++true_gates;
    gate_text = std::to_string(true_gates) + "/" + std::to_string(gates.size());
  }
  return {pod.get_string({"metadata", "name"}),
          std::to_string(counts.ready) + "/" + std::to_string(counts.total),
          counts.reason,
          restarts,
          age(pod, now),
          or_none(ip),
          or_none(pod.get_string({"spec", "nodeName"})),
          or_none(pod.get_string({"status", "nominatedNodeName"})),
          gate_text};
}

json::Array node_cells(const json::Value& node, Instant now) {
  std::string status = "Unknown";
  for (const json::Value& c : list(node, {"status", "conditions"}))
    if (c.get_string({"type"}) == "Ready")
      status = c.get_string({"status"}) == "True" ? "Ready" : "NotReady";
  if (node.get_bool({"spec", "unschedulable"})) status += ",SchedulingDisabled";
  std::set<std::string> roles;
  if (const json::Value* labels = node.find_path({"metadata", "labels"});
      labels != nullptr && labels->is_object())
    for (const auto& [key, value] : labels->as_object()) {
      constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
      if (key.starts_with(kPrefix) && key.size() > kPrefix.size())
        roles.insert(key.substr(kPrefix.size()));
      else if (key == "kubernetes.io/role" && !value.string_or("").empty())
        roles.emplace(value.string_or(""));
    }
  std::string role_text;
  for (const std::string& r : roles) role_text += (role_text.empty() ? "" : ",") + r;
  std::string internal, external;
  for (const json::Value& a : list(node, {"status", "addresses"})) {
    if (a.get_string({"type"}) == "InternalIP" && internal.empty())
      internal = a.get_string({"address"});
    if (a.get_string({"type"}) == "ExternalIP" && external.empty())
      external = a.get_string({"address"});
  }
  const auto about = [&](std::string_view key) {
    const std::string_view text = node.get_string({"status", "nodeInfo", key});
    return text.empty() ? std::string("<unknown>") : std::string(text);
  };
  return {node.get_string({"metadata", "name"}),
          status,
          or_none(role_text),
          age(node, now),
          node.get_string({"status", "nodeInfo", "kubeletVersion"}),
          or_none(internal),
          or_none(external),
          about("osImage"),
          about("kernelVersion"),
          about("containerRuntimeVersion")};
}

namespace {

std::string since(std::string_view time, Instant now) {
  const auto parsed = parse_time(time);
  if (!parsed.ok()) return "<unknown>";
  return human_duration(now - *parsed);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

json::Array event_cells(const json::Value& given, Instant now) {
  const bool core = given.get_string({"apiVersion"}) == "v1";
  const auto field = [&](std::string_view name, std::string_view other) {
    const json::Value* value = given.find(core ? name : other);
    static const json::Value none;
    return value == nullptr ? none : *value;
  };
  const json::Value object = field("involvedObject", "regarding");
  const json::Value source = field("source", "deprecatedSource");
  const std::string first_time(field("firstTimestamp", "deprecatedFirstTimestamp").string_or(""));
  const std::string last_time(field("lastTimestamp", "deprecatedLastTimestamp").string_or(""));
  const std::string event_time(given.get_string({"eventTime"}));
  std::string first = since(first_time, now);
  if (first_time.empty()) first = since(event_time, now);
  std::string last = since(last_time, now);
  if (last_time.empty()) last = first;
  int64_t count = field("count", "deprecatedCount").int_or(0);
  if (const json::Value* series = given.find("series"); series != nullptr && series->is_object()) {
    last = since(series->get_string({"lastObservedTime"}), now);
    count = series->get_int({"count"});
  } else if (count == 0) {
    count = 1;
  }
  std::string component(source.get_string({"component"}));
  if (component.empty())
    component = field("reportingComponent", "reportingController").string_or("");
  if (const auto host = source.get_string({"host"}); !host.empty())
    component += ", " + std::string(host);
  std::string target = lower(object.get_string({"kind"}));
  if (const auto name = object.get_string({"name"}); !name.empty())
    target += "/" + std::string(name);
  std::string message(field("message", "note").string_or(""));
  while (!message.empty() && (message.back() == '\n' || message.back() == ' ')) message.pop_back();
  return {last,
          given.get_string({"type"}),
          given.get_string({"reason"}),
          target,
          object.get_string({"fieldPath"}),
          component,
          message,
          first,
          std::to_string(count),
          given.get_string({"metadata", "name"})};
}

}  // namespace kueue::apiserver
