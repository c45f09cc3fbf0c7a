#include "apiserver/plugins.h"

#include <algorithm>

#include "api/quantity.h"
#include "apiserver/core.h"
#include "apiserver/json_scan.h"
#include "apiserver/names.h"
#include "apiserver/pod_defaults.h"
#include "json/json.h"
#include "schema/errors.h"

namespace kueue::apiserver {

namespace {

constexpr std::string_view kClasses = "scheduling.k8s.io/priorityclasses";

Error forbidden(const Call& call, const json::Value& object, const std::string& why) {
  std::string name(object.get_string({"metadata", "name"}));
  if (name.empty()) name = object.get_string({"metadata", "generateName"});
  Error error = call.error(ErrorCode::kForbidden,
                           call.resource().qualified() + " \"" + name + "\" is forbidden: " + why);
  error.name = name;
  return error;
}

Result<void> set_priority(Call& call, json::Value& pod) {
  json::Value& spec = pod["spec"];
  const Core& core = *call.core;
  std::string class_name(spec.get_string({"priorityClassName"}));
  int64_t priority = 0;
  std::string preemption = "PreemptLowerPriority";
  StoredPtr found;
  if (!class_name.empty()) {
    found = core.store->get(kClasses, class_name);
    if (found == nullptr)
      return forbidden(call, pod, "no PriorityClass with name " + class_name + " was found");
  } else {
    // Of several default classes the lowest counts.
    for (const auto& [name, stored] : core.store->snapshot(kClasses, "").items) {
      if (scan_path(stored->bytes, {"globalDefault"}) != "true") continue;
      const auto value = [](const StoredPtr& s) {
        return std::strtoll(scan_string(s->bytes, {"value"}).c_str(), nullptr, 10);
      };
      if (found == nullptr || value(stored) < value(found)) found = stored;
    }
    if (found != nullptr) {
      class_name = scan_string(found->bytes, {"metadata", "name"});
      spec["priorityClassName"] = class_name;
    }
  }
  if (found != nullptr) {
    priority = std::strtoll(scan_string(found->bytes, {"value"}).c_str(), nullptr, 10);
    preemption = scan_string(found->bytes, {"preemptionPolicy"});
  }
  if (const json::Value* given = spec.find("priority");
      given != nullptr && given->int_or(priority) != priority)
    return forbidden(call, pod,
                     "the integer value of priority (" + std::to_string(given->int_or(0)) +
                         ") must not be provided in pod spec; priority admission controller "
                         "computed " +
                         std::to_string(priority) + " from the given PriorityClass name");
  spec["priority"] = priority;
  if (spec.find("preemptionPolicy") == nullptr) spec["preemptionPolicy"] = preemption;
  return {};
}

json::Value token_volume(const std::string& name) {
  auto volume = json::parse(
      R"({"projected":{"defaultMode":420,"sources":[{"serviceAccountToken":{)"
      R"("expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt",)"
      R"("items":[{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":[{"fieldRef":{)"
      R"("apiVersion":"v1","fieldPath":"metadata.namespace"},"path":"namespace"}]}}]}})");
  json::Value value = std::move(volume).value();
  value["name"] = name;
  return value;
}

constexpr std::string_view kTokenPath = "/var/run/secrets/kubernetes.io/serviceaccount";

void mount_token(const Core& core, json::Value& spec) {
  const std::string name = "kube-api-access-" + core.random_suffix(5);
  bool used = false;
  for (const char* kind : {"initContainers", "containers"}) {
    json::Value* containers = spec.find(kind);
    if (containers == nullptr || !containers->is_array()) continue;
    for (json::Value& c : containers->as_array()) {
      if (!c.is_object()) continue;
      json::Value& mounts = c["volumeMounts"];
      if (!mounts.is_array()) mounts = json::Value::array();
      const bool has = std::any_of(
          mounts.as_array().begin(), mounts.as_array().end(),
          [](const json::Value& m) { return m.get_string({"mountPath"}) == kTokenPath; });
      if (!has) {
        mounts.as_array().push_back(
            json::Value::object({{"name", name}, {"readOnly", true}, {"mountPath", kTokenPath}}));
        used = true;
      }
      if (mounts.as_array().empty()) c.erase_path({"volumeMounts"});
    }
  }
  if (!used) return;
  json::Value& volumes = spec["volumes"];
  if (!volumes.is_array()) volumes = json::Value::array();
  volumes.as_array().push_back(token_volume(name));
}

Result<void> set_service_account(Call& call, json::Value& pod) {
  json::Value& spec = pod["spec"];
  std::string account(spec.get_string({"serviceAccountName"}));
  if (account.empty()) account = "default";
  const std::string_view namespace_ = pod.get_string({"metadata", "namespace"});
  const StoredPtr stored =
      call.core->store->get("/serviceaccounts", object_key(namespace_, account));
  // The default account of a new namespace appears a moment after the namespace.
  if (stored == nullptr && account != "default")
    return forbidden(call, pod,
                     "error looking up service account " + std::string(namespace_) + "/" + account +
                         ": serviceaccount \"" + account + "\" not found");
  spec["serviceAccountName"] = account;
  spec["serviceAccount"] = account;
  bool mount = true;
  if (stored != nullptr && scan_path(stored->bytes, {"automountServiceAccountToken"}) == "false")
    mount = false;
  if (const json::Value* own = spec.find("automountServiceAccountToken");
      own != nullptr && own->is_bool())
    mount = own->as_bool();
  if (mount) mount_token(*call.core, spec);
  return {};
}

void set_tolerations(json::Value& spec) {
  for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    json::Value& tolerations = spec["tolerations"];
    if (!tolerations.is_array()) tolerations = json::Value::array();
    const bool has = std::any_of(
        tolerations.as_array().begin(), tolerations.as_array().end(), [&](const json::Value& t) {
          const std::string_view effect = t.get_string({"effect"});
          return (t.get_string({"key"}) == key || t.get_string({"key"}).empty()) &&
                 (effect == "NoExecute" || effect.empty());
        });
    if (!has)
      tolerations.as_array().push_back(json::Value::object({{"key", key},
                                                            {"operator", "Exists"},
                                                            {"effect", "NoExecute"},
                                                            {"tolerationSeconds", 300}}));
  }
}

Result<api::Quantity> amount(const json::Value& value) {
  return api::Quantity::parse(value.is_string() ? value.as_string()
                                                : schema::bad_value_text(value));
}

// Defaults and limits per container of one LimitRange.
Result<void> limit(const Call& call, const json::Value& item, json::Value& pod) {
  if (item.get_string({"type"}) != "Container") return {};
  for (const char* kind : {"initContainers", "containers"}) {
    json::Value* containers = pod["spec"].find(kind);
    if (containers == nullptr || !containers->is_array()) continue;
    for (json::Value& c : containers->as_array()) {
      json::Value& resources = c["resources"];
      if (!resources.is_object()) resources = json::Value::object();
      const auto fill = [&](std::string_view from, std::string_view into) {
        const json::Value* defaults = item.find(from);
        if (defaults == nullptr || !defaults->is_object()) return;
        for (const auto& [name, value] : defaults->as_object()) {
          json::Value& target = resources[into];
          if (target.is_null()) target = json::Value::object();
          set_default(target, name, value);
        }
      };
      fill("defaultRequest", "requests");
      fill("default", "limits");
      for (const char* bound : {"min", "max"}) {
        const json::Value* bounds = item.find(bound);
        if (bounds == nullptr || !bounds->is_object()) continue;
        const bool least = std::string_view(bound) == "min";
        for (const auto& [name, value] : bounds->as_object()) {
          const json::Value* have = resources.find_path({least ? "requests" : "limits", name});
          const auto wanted = amount(value);
          if (!wanted.ok()) continue;
          const std::string usage = std::string(least ? "minimum " : "maximum ") + name +
                                    " usage per Container is " + wanted->to_string();
          if (have == nullptr)
            return forbidden(call, pod,
                             usage + ".  No " + (least ? "request" : "limit") + " is specified");
          const auto got = amount(*have);
          if (got.ok() && (least ? *got < *wanted : *wanted < *got))
            return forbidden(
                call, pod,
                usage + ", but " + (least ? "request" : "limit") + " is " + got->to_string());
        }
      }
    }
  }
  return {};
}

Result<void> apply_limit_ranges(Call& call, json::Value& pod) {
  const std::string prefix = std::string(pod.get_string({"metadata", "namespace"})) + "/";
  for (const auto& [key, stored] : call.core->store->snapshot("/limitranges", prefix).items) {
    const auto range = json::parse(stored->bytes);
    if (!range.ok()) continue;
    const json::Value* limits = range->find_path({"spec", "limits"});
    if (limits == nullptr || !limits->is_array()) continue;
    for (const json::Value& item : limits->as_array()) KUEUE_TRY(limit(call, item, pod));
  }
  return {};
}

}  // namespace

Result<void> run_plugins(Call& call, const Attempt& attempt) {
  if (attempt.operation != "CREATE" || !attempt.subresource.empty() || attempt.object == nullptr)
    return {};
  json::Value& object = *attempt.object;
  if (call.resource().collection != "/pods") return {};
  if (const json::Value* spec = object.find("spec"); spec == nullptr || !spec->is_object())
    return {};
  KUEUE_TRY(apply_limit_ranges(call, object));
  KUEUE_TRY(set_service_account(call, object));
  KUEUE_TRY(set_priority(call, object));
  set_tolerations(object["spec"]);
  return {};
}

}  // namespace kueue::apiserver
