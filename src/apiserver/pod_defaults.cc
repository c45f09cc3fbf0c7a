#include "apiserver/pod_defaults.h"

#include <string>

namespace kueue::apiserver {

void set_default(json::Value& object, std::string_view key, json::Value value) {
  json::Value& member = object[key];
  if (member.is_null()) member = std::move(value);
}

namespace {

json::Array* list(json::Value& object, std::string_view key) {
  json::Value* value = object.find(key);
  return value != nullptr && value->is_array() ? &value->as_array() : nullptr;
}

json::Value* member(json::Value& object, std::string_view key) {
  json::Value* value = object.find(key);
  return value != nullptr && value->is_object() ? value : nullptr;
}

void default_http_get(json::Value& action) {
  if (json::Value* get = member(action, "httpGet")) {
    set_default(*get, "path", "/");
    set_default(*get, "scheme", "HTTP");
  }
}

void default_probe(json::Value& container, std::string_view name) {
  json::Value* probe = member(container, name);
  if (probe == nullptr) return;
  default_http_get(*probe);
  if (json::Value* grpc = member(*probe, "grpc")) set_default(*grpc, "service", "");
  set_default(*probe, "timeoutSeconds", 1);
  set_default(*probe, "periodSeconds", 10);
  set_default(*probe, "successThreshold", 1);
  set_default(*probe, "failureThreshold", 3);
}

// Always for images without a tag or tagged latest, unless pinned by digest.
std::string_view pull_policy(std::string_view image) {
  if (image.find('@') != std::string_view::npos) return "IfNotPresent";
  const size_t slash = image.rfind('/');
  const size_t colon = image.rfind(':');
  if (colon == std::string_view::npos || (slash != std::string_view::npos && colon < slash))
    return "Always";
  return image.substr(colon + 1) == "latest" ? "Always" : "IfNotPresent";
}

void default_container(json::Value& container) {
  if (!container.is_object()) return;
  set_default(container, "resources", json::Value::object());
  set_default(container, "terminationMessagePath", "/dev/termination-log");
  set_default(container, "terminationMessagePolicy", "File");
  set_default(container, "imagePullPolicy", pull_policy(container.get_string({"image"})));
  if (json::Array* ports = list(container, "ports"))
    for (json::Value& port : *ports)
      if (port.is_object()) set_default(port, "protocol", "TCP");
  if (json::Array* variables = list(container, "env"))
    for (json::Value& variable : *variables)
      if (json::Value* ref = variable.find_path({"valueFrom", "fieldRef"});
          ref != nullptr && ref->is_object())
        set_default(*ref, "apiVersion", "v1");
  for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"})
    default_probe(container, probe);
  if (json::Value* lifecycle = member(container, "lifecycle"))
    for (const char* hook : {"postStart", "preStop"})
      if (json::Value* action = member(*lifecycle, hook)) default_http_get(*action);
}

void default_downward_items(json::Value& source) {
  if (json::Array* items = list(source, "items"))
    for (json::Value& item : *items)
      if (json::Value* ref = item.find("fieldRef"); ref != nullptr && ref->is_object())
        set_default(*ref, "apiVersion", "v1");
}

void default_volume(json::Value& volume) {
  if (!volume.is_object()) return;
  if (volume.as_object().size() == 1 && volume.find("name") != nullptr)
    volume["emptyDir"] = json::Value::object();
  for (const char* kind : {"configMap", "secret", "downwardAPI", "projected"})
    if (json::Value* source = member(volume, kind)) set_default(*source, "defaultMode", 420);
  if (json::Value* source = member(volume, "downwardAPI")) default_downward_items(*source);
  if (json::Value* source = member(volume, "hostPath")) set_default(*source, "type", "");
  if (json::Value* source = member(volume, "projected"))
    if (json::Array* sources = list(*source, "sources"))
      for (json::Value& s : *sources) {
        if (json::Value* token = s.find("serviceAccountToken"); token && token->is_object())
          set_default(*token, "expirationSeconds", 3600);
        if (json::Value* downward = s.find("downwardAPI"); downward && downward->is_object())
          default_downward_items(*downward);
      }
}

void request_limits(json::Value& container) {
  json::Value* resources = member(container, "resources");
  if (resources == nullptr) return;
  const json::Value* limits = resources->find("limits");
  if (limits == nullptr || !limits->is_object()) return;
  for (const auto& [name, amount] : json::Object(limits->as_object())) {
    json::Value& requests = (*resources)["requests"];
    if (requests.is_null()) requests = json::Value::object();
    if (requests.is_object()) set_default(requests, name, amount);
  }
}

}  // namespace

void default_pod_spec(json::Value& spec) {
  if (!spec.is_object()) return;
  set_default(spec, "dnsPolicy", "ClusterFirst");
  set_default(spec, "restartPolicy", "Always");
  set_default(spec, "schedulerName", "default-scheduler");
  set_default(spec, "terminationGracePeriodSeconds", 30);
  set_default(spec, "securityContext", json::Value::object());
  // serviceAccount is the old name of serviceAccountName; both are kept equal.
  const std::string account(spec.get_string({"serviceAccountName"}));
  const std::string old_account(spec.get_string({"serviceAccount"}));
  if (!account.empty())
    spec["serviceAccount"] = account;
  else if (!old_account.empty())
    spec["serviceAccountName"] = old_account;
  for (const char* kind : {"containers", "initContainers", "ephemeralContainers"})
    if (json::Array* containers = list(spec, kind))
      for (json::Value& container : *containers) default_container(container);
  if (json::Array* volumes = list(spec, "volumes"))
    for (json::Value& volume : *volumes) default_volume(volume);
}

void default_pod(json::Value& pod) {
  // The old single address and the list say the same.
  if (json::Value* status = pod.find("status"); status != nullptr && status->is_object()) {
    const json::Value* ip = status->find("podIP");
    if (ip != nullptr && ip->is_string() && status->find("podIPs") == nullptr) {
      json::Value entry = json::Value::object({{"ip", *ip}});
      (*status)["podIPs"] = json::Value::array({std::move(entry)});
    }
  }
  json::Value& spec = pod["spec"];
  if (!spec.is_object()) return;
  default_pod_spec(spec);
  set_default(spec, "enableServiceLinks", true);
  for (const char* kind : {"containers", "initContainers"})
    if (json::Array* containers = list(spec, kind))
      for (json::Value& container : *containers) request_limits(container);
}

std::string_view qos_class(const json::Value& spec) {
  bool any = false;
  bool guaranteed = true;
  for (const char* kind : {"containers", "initContainers"}) {
    const json::Value* containers = spec.find(kind);
    if (containers == nullptr || !containers->is_array()) continue;
    for (const json::Value& c : containers->as_array())
      for (const char* resource : {"cpu", "memory"}) {
        const json::Value* request = c.find_path({"resources", "requests", resource});
        const json::Value* limit = c.find_path({"resources", "limits", resource});
        if (request != nullptr || limit != nullptr) any = true;
        if (request == nullptr || limit == nullptr || !(*request == *limit)) guaranteed = false;
      }
  }
  return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

}  // namespace kueue::apiserver
