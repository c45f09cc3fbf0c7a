#include "webhooks/ordered_text.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "json/json.h"

namespace kueue::webhooks {
namespace {

// One order for all structs that occur: no two of them disagree on members they share.
constexpr std::string_view kOrder[] = {"clusterQueue",
                                       "podSetAssignments",
                                       "name",
                                       "image",
                                       "command",
                                       "args",
                                       "workingDir",
                                       "ports",
                                       "envFrom",
                                       "env",
                                       "flavors",
                                       "resourceUsage",
                                       "template",
                                       "metadata",
                                       "labels",
                                       "annotations",
                                       "spec",
                                       "volumes",
                                       "initContainers",
                                       "containers",
                                       "resources",
                                       "limits",
                                       "requests",
                                       "resizePolicy",
                                       "volumeMounts",
                                       "volumeDevices",
                                       "livenessProbe",
                                       "readinessProbe",
                                       "startupProbe",
                                       "lifecycle",
                                       "terminationMessagePath",
                                       "terminationMessagePolicy",
                                       "imagePullPolicy",
                                       "restartPolicy",
                                       "terminationGracePeriodSeconds",
                                       "activeDeadlineSeconds",
                                       "dnsPolicy",
                                       "nodeSelector",
                                       "serviceAccountName",
                                       "serviceAccount",
                                       "nodeName",
                                       "hostNetwork",
                                       "hostPID",
                                       "hostIPC",
                                       "securityContext",
                                       "imagePullSecrets",
                                       "hostname",
                                       "subdomain",
                                       "affinity",
                                       "schedulerName",
                                       "tolerations",
                                       "hostAliases",
                                       "priorityClassName",
                                       "priority",
                                       "dnsConfig",
                                       "readinessGates",
                                       "runtimeClassName",
                                       "enableServiceLinks",
                                       "preemptionPolicy",
                                       "overhead",
                                       "topologySpreadConstraints",
                                       "schedulingGates",
                                       "resourceClaims",
                                       "count",
                                       "topologyAssignment",
                                       "delayedTopologyRequest",
                                       "minCount",
                                       "topologyRequest"};

size_t place(std::string_view name) {
  return static_cast<size_t>(std::find(std::begin(kOrder), std::end(kOrder), name) -
                             std::begin(kOrder));
}

json::Value ordered(const json::Value& value) {
  if (value.is_array()) {
    json::Array out;
    for (const json::Value& item : value.as_array()) out.push_back(ordered(item));
    return json::Value(std::move(out));
  }
  if (!value.is_object()) return value;
  std::vector<const json::Object::Member*> members;
  for (const auto& member : value.as_object()) members.push_back(&member);
  std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) {
    size_t pa = place(a->first), pb = place(b->first);
    return pa != pb ? pa < pb : a->first < b->first;
  });
  json::Value out = json::Value::object();
  for (const auto* member : members) out[member->first] = ordered(member->second);
  return out;
}

}  // namespace

std::string ordered_text(const json::Value& value) { return json::write(ordered(value)); }

}  // namespace kueue::webhooks
