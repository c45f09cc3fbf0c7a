#include "apiserver/table_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "apiserver/table_cells.h"
#include "base/age.h"
#include "wire/selector.h"

namespace kueue::apiserver {

namespace {

std::string number(int64_t n) { return std::to_string(n); }

bool condition_is(const json::Value& object, std::string_view type, std::string_view status) {
  for (const json::Value& condition : table_list(object, {"status", "conditions"}))
    if (condition.get_string({"type"}) == type) return condition.get_string({"status"}) == status;
  return false;
}

}  // namespace

std::string age(std::string_view time_text, Instant now) {
  Result<Instant> time = parse_time(time_text);
  return time.ok() ? human_duration(now - *time) : "<unknown>";
}

const json::Array& table_list(const json::Value& object,
                              std::initializer_list<std::string_view> path) {
  static const json::Array none;
  const json::Value* found = object.find_path(path);
  return found != nullptr && found->is_array() ? found->as_array() : none;
}

std::string table_text(const json::Value& object, std::initializer_list<std::string_view> path,
                       std::string_view fallback) {
  const json::Value* found = object.find_path(path);
  if (found == nullptr) return std::string(fallback);
  if (found->is_int()) return number(found->as_int());
  if (found->is_bool()) return found->as_bool() ? "true" : "false";
  std::string_view text = found->string_or(fallback);
  return std::string(text.empty() ? fallback : text);
}

std::string object_name(const json::Value& object) {
  return std::string(object.get_string({"metadata", "name"}));
}

std::string object_age(const json::Value& object, Instant now) {
  return age(object.get_string({"metadata", "creationTimestamp"}), now);
}

std::string joined(const json::Value& object, std::initializer_list<std::string_view> path,
                   std::string_view member) {
  std::string text;
  for (const json::Value& item : table_list(object, path)) {
    if (!text.empty()) text += ',';
    text += member.empty() ? item.string_or("") : item.get_string({member});
  }
  return text;
}

std::string selector_text(const json::Value* selector) {
  if (selector == nullptr || !selector->is_object() || selector->as_object().empty())
    return "<none>";
  if (selector->find("matchLabels") != nullptr || selector->find("matchExpressions") != nullptr) {
    Result<wire::LabelSelector> parsed = wire::LabelSelector::from_object(selector);
    if (!parsed.ok()) return "<error>";
    return parsed->empty() ? "<none>" : parsed->to_string();
  }
  std::map<std::string, std::string> pairs;
  for (const auto& [name, value] : selector->as_object())
    pairs[name] = std::string(value.string_or(""));
  std::string text;
  for (const auto& [name, value] : pairs) text += (text.empty() ? "" : ",") + name + "=" + value;
  return text;
}

namespace {

struct PodProgress {
  int64_t ready = 0, total = 0, restarts = 0;
  Instant last_restart;
  std::string reason;
};

void note_restarts(const json::Value& status, PodProgress& progress) {
  progress.restarts += status.get_int({"restartCount"});
  Result<Instant> end = parse_time(status.get_string({"lastState", "terminated", "finishedAt"}));
  if (end.ok() && *end > progress.last_restart) progress.last_restart = *end;
}

std::string ended_reason(const json::Value& terminated) {
  std::string reason(terminated.get_string({"reason"}));
  if (!reason.empty()) return reason;
  if (int64_t signal = terminated.get_int({"signal"}); signal != 0)
    return "Signal:" + number(signal);
  return "ExitCode:" + number(terminated.get_int({"exitCode"}));
}

bool is_sidecar(const json::Value& pod, std::string_view name) {
  for (const json::Value& container : table_list(pod, {"spec", "initContainers"}))
    if (container.get_string({"name"}) == name)
      return container.get_string({"restartPolicy"}) == "Always";
  return false;
}

// True while the Pod is still initialising; then the reason says how far it is.
bool initialising(const json::Value& pod, PodProgress& progress) {
  size_t index = 0;
  PodProgress init;
  for (const json::Value& status : table_list(pod, {"status", "initContainerStatuses"})) {
    size_t here = index++;
    note_restarts(status, init);
    const json::Value* terminated = status.find_path({"state", "terminated"});
    bool sidecar = is_sidecar(pod, status.get_string({"name"}));
    if (terminated != nullptr && terminated->get_int({"exitCode"}) == 0) continue;
    if (sidecar && status.get_bool({"started"})) {
      progress.ready += status.get_bool({"ready"});
      note_restarts(status, progress);
      continue;
    }
    std::string_view waiting = status.get_string({"state", "waiting", "reason"});
    if (terminated != nullptr)
      progress.reason = "Init:" + ended_reason(*terminated);
    else if (!waiting.empty() && waiting != "PodInitializing")
      progress.reason = "Init:" + std::string(waiting);
    else
      progress.reason = "Init:" + std::to_string(here) + "/" +
                        std::to_string(table_list(pod, {"spec", "initContainers"}).size());
    progress.restarts = init.restarts;
    progress.last_restart = init.last_restart;
    return true;
  }
  return false;
}

void look_at_containers(const json::Value& pod, PodProgress& progress) {
  bool running = false;
  const json::Array& statuses = table_list(pod, {"status", "containerStatuses"});
  for (auto status = statuses.rbegin(); status != statuses.rend(); ++status) {
    note_restarts(*status, progress);
    std::string_view waiting = status->get_string({"state", "waiting", "reason"});
    const json::Value* terminated = status->find_path({"state", "terminated"});
    if (!waiting.empty())
      progress.reason = waiting;
    else if (terminated != nullptr)
      progress.reason = ended_reason(*terminated);
    else if (status->get_bool({"ready"}) && status->find_path({"state", "running"}) != nullptr) {
      running = true;
      ++progress.ready;
    }
  }
  if (progress.reason == "Completed" && running)
    progress.reason = condition_is(pod, "Ready", "True") ? "Running" : "NotReady";
}

}  // namespace

std::vector<json::Value> pod_cells(const json::Value& pod, Instant now) {
  PodProgress progress;
  std::string phase(pod.get_string({"status", "phase"}));
  std::string why(pod.get_string({"status", "reason"}));
  progress.reason = why.empty() ? phase : why;
  progress.total = static_cast<int64_t>(table_list(pod, {"spec", "containers"}).size());
  for (const json::Value& container : table_list(pod, {"spec", "initContainers"}))
    progress.total += container.get_string({"restartPolicy"}) == "Always";
  for (const json::Value& condition : table_list(pod, {"status", "conditions"}))
    if (condition.get_string({"type"}) == "PodScheduled" &&
        condition.get_string({"reason"}) == "SchedulingGated")
      progress.reason = "SchedulingGated";
  if (!initialising(pod, progress) || condition_is(pod, "Initialized", "True"))
    look_at_containers(pod, progress);
  if (!pod.get_string({"metadata", "deletionTimestamp"}).empty()) {
    if (why == "NodeLost")
      progress.reason = "Unknown";
    else if (phase != "Succeeded" && phase != "Failed")
      progress.reason = "Terminating";
  }
  std::string restarts = number(progress.restarts);
  if (progress.restarts != 0 && !progress.last_restart.is_zero())
    restarts += " (" + human_duration(now - progress.last_restart) + " ago)";
  std::string gates = "<none>";
  if (const json::Array& wanted = table_list(pod, {"spec", "readinessGates"}); !wanted.empty()) {
    int64_t met = 0;
    for (const json::Value& gate : wanted)
      met += condition_is(pod, gate.get_string({"conditionType"}), "True");
    gates = number(met) + "/" + std::to_string(wanted.size());
  }
  std::string address = table_text(pod, {"status", "podIP"});
  if (const json::Array& addresses = table_list(pod, {"status", "podIPs"}); !addresses.empty())
    address = addresses[0].get_string({"ip"});
  return {object_name(pod),
          number(progress.ready) + "/" + number(progress.total),
          progress.reason,
          restarts,
          object_age(pod, now),
          address.empty() ? "<none>" : address,
          table_text(pod, {"spec", "nodeName"}, "<none>"),
          table_text(pod, {"status", "nominatedNodeName"}, "<none>"),
          gates};
}

std::vector<json::Value> node_cells(const json::Value& node, Instant now) {
  std::string status;
  for (const json::Value& condition : table_list(node, {"status", "conditions"}))
    if (condition.get_string({"type"}) == "Ready")
      status = condition.get_string({"status"}) == "True" ? "Ready" : "NotReady";
  if (status.empty()) status = "Unknown";
  if (node.get_bool({"spec", "unschedulable"})) status += ",SchedulingDisabled";
  std::set<std::string> roles;
  static constexpr std::string_view kRolePrefix = "node-role.kubernetes.io/";
  if (const json::Value* labels = node.find_path({"metadata", "labels"});
      labels != nullptr && labels->is_object())
    for (const auto& [name, value] : labels->as_object()) {
      if (name.starts_with(kRolePrefix) && name.size() > kRolePrefix.size())
        roles.insert(name.substr(kRolePrefix.size()));
      else if (name == "kubernetes.io/role" && !value.string_or("").empty())
        roles.insert(std::string(value.string_or("")));
    }
  std::string role_text;
  for (const std::string& role : roles) role_text += (role_text.empty() ? "" : ",") + role;
  std::string internal = "<none>", external = "<none>";
  for (const json::Value& address : table_list(node, {"status", "addresses"})) {
    std::string_view type = address.get_string({"type"});
    if (type == "InternalIP" && internal == "<none>") internal = address.get_string({"address"});
    if (type == "ExternalIP" && external == "<none>") external = address.get_string({"address"});
  }
  auto system = [&](std::string_view member) {
    return table_text(node, {"status", "nodeInfo", member}, "<unknown>");
  };
  return {object_name(node),
          status,
          role_text.empty() ? "<none>" : role_text,
          object_age(node, now),
          table_text(node, {"status", "nodeInfo", "kubeletVersion"}),
          internal,
          external,
          system("osImage"),
          system("kernelVersion"),
          system("containerRuntimeVersion")};
}

std::vector<json::Value> service_cells(const json::Value& service, Instant now) {
  std::string type = table_text(service, {"spec", "type"}, "ClusterIP");
  std::string external = joined(service, {"spec", "externalIPs"}, "");
  if (type == "ExternalName") external = table_text(service, {"spec", "externalName"});
  if (type == "LoadBalancer") {
    std::string ingress;
    for (const json::Value& each : table_list(service, {"status", "loadBalancer", "ingress"}))
      ingress +=
          (ingress.empty() ? "" : ",") + table_text(each, {"ip"}, each.get_string({"hostname"}));
    external = !ingress.empty() ? ingress : external.empty() ? "<pending>" : external;
  }
  std::string ports;
  for (const json::Value& port : table_list(service, {"spec", "ports"})) {
    if (!ports.empty()) ports += ',';
    ports += table_text(port, {"port"});
    if (int64_t node_port = port.get_int({"nodePort"}); node_port > 0)
      ports += ":" + number(node_port);
    ports += "/" + table_text(port, {"protocol"}, "TCP");
  }
  return {object_name(service),
          type,
          table_text(service, {"spec", "clusterIP"}, "<none>"),
          external.empty() ? "<none>" : external,
          ports.empty() ? "<none>" : ports,
          object_age(service, now),
          selector_text(service.find_path({"spec", "selector"}))};
}

std::vector<json::Value> event_cells(const json::Value& event, Instant now) {
  auto first_text = [&](std::initializer_list<std::string_view> members) {
    for (std::string_view member : members)
      if (std::string text = table_text(event, {member}); !text.empty()) return text;
    return std::string();
  };
  std::string first = first_text({"firstTimestamp", "deprecatedFirstTimestamp", "eventTime"});
  std::string last = first_text({"lastTimestamp", "deprecatedLastTimestamp"});
  if (last.empty()) last = first;
  int64_t count = std::max(event.get_int({"count"}), event.get_int({"deprecatedCount"}));
  if (const json::Value* series = event.find("series"); series != nullptr && series->is_object()) {
    count = series->get_int({"count"});
    last = table_text(*series, {"lastObservedTime"});
  } else if (count == 0) {
    count = 1;
  }
  const json::Value* about = event.find("involvedObject");
  if (about == nullptr) about = event.find("regarding");
  std::string target, field;
  if (about != nullptr) {
    target = about->get_string({"kind"});
    std::transform(target.begin(), target.end(), target.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    target += "/" + std::string(about->get_string({"name"}));
    field = about->get_string({"fieldPath"});
  }
  std::string source = table_text(event, {"source", "component"});
  if (source.empty()) source = table_text(event, {"deprecatedSource", "component"});
  std::string host = table_text(event, {"source", "host"});
  if (source.empty()) {
    source = first_text({"reportingComponent", "reportingController"});
    host = first_text({"reportingInstance"});
  }
  if (!host.empty()) source += ", " + host;
  std::string message = first_text({"message", "note"});
  message.erase(message.find_last_not_of(" \n\t") + 1);
  return {age(last, now),
          table_text(event, {"type"}),
          table_text(event, {"reason"}),
          target,
          field,
          source,
          message,
          age(first, now),
          number(count),
          object_name(event)};
}

std::vector<json::Value> job_cells(const json::Value& job, Instant now) {
  int64_t succeeded = job.get_int({"status", "succeeded"});
  std::string completions;
  if (const json::Value* wanted = job.find_path({"spec", "completions"});
      wanted != nullptr && wanted->is_int()) {
    completions = number(succeeded) + "/" + number(wanted->as_int());
  } else {
    int64_t parallelism = job.get_int({"spec", "parallelism"});
    completions = number(succeeded) + (parallelism > 1 ? "/1 of " + number(parallelism) : "/1");
  }
  std::string duration;
  Result<Instant> start = parse_time(job.get_string({"status", "startTime"}));
  Result<Instant> end = parse_time(job.get_string({"status", "completionTime"}));
  if (start.ok()) duration = human_duration((end.ok() ? *end : now) - *start);
  std::string status = "Running";
  if (condition_is(job, "Complete", "True"))
    status = "Complete";
  else if (condition_is(job, "Failed", "True"))
    status = "Failed";
  else if (!job.get_string({"metadata", "deletionTimestamp"}).empty())
    status = "Terminating";
  else if (condition_is(job, "Suspended", "True"))
    status = "Suspended";
  else if (condition_is(job, "FailureTarget", "True"))
    status = "FailureTarget";
  else if (condition_is(job, "SuccessCriteriaMet", "True"))
    status = "SuccessCriteriaMet";
  return {object_name(job),
          status,
          completions,
          duration,
          object_age(job, now),
          joined(job, {"spec", "template", "spec", "containers"}, "name"),
          joined(job, {"spec", "template", "spec", "containers"}, "image"),
          selector_text(job.find_path({"spec", "selector"}))};
}

std::vector<json::Value> cron_job_cells(const json::Value& job, Instant now) {
  std::string last(job.get_string({"status", "lastScheduleTime"}));
  return {object_name(job),
          table_text(job, {"spec", "schedule"}),
          table_text(job, {"spec", "timeZone"}, "<none>"),
          table_text(job, {"spec", "suspend"}, "<unset>") == "true" ? "True" : "False",
          static_cast<int64_t>(table_list(job, {"status", "active"}).size()),
          last.empty() ? "<none>" : age(last, now),
          object_age(job, now),
          joined(job, {"spec", "jobTemplate", "spec", "template", "spec", "containers"}, "name"),
          joined(job, {"spec", "jobTemplate", "spec", "template", "spec", "containers"}, "image"),
          selector_text(job.find_path({"spec", "jobTemplate", "spec", "selector"}))};
}

}  // namespace kueue::apiserver
