// Pods and pod templates.
#include <algorithm>
#include <set>

#include "api/quantity.h"
#include "apiserver/core.h"
#include "apiserver/kinds.h"
#include "apiserver/names.h"
#include "apiserver/pod_defaults.h"
#include "schema/errors.h"

namespace kueue::apiserver::kinds {

namespace {

const json::Array& array_at(const json::Value& object, std::string_view key) {
  static const json::Array none;
  const json::Value* value = object.find(key);
  return value != nullptr && value->is_array() ? value->as_array() : none;
}

ErrorCause unsupported(std::string field, std::string_view value, std::string_view supported) {
  return {.reason = "FieldValueNotSupported",
          .message = "Unsupported value: " + schema::go_quote(value) +
                     ": supported values: " + std::string(supported),
          .field = std::move(field)};
}

void validate_resources(const json::Value& container, const std::string& path, Causes& causes) {
  for (const char* kind : {"limits", "requests"}) {
    const json::Value* amounts = container.find_path({"resources", kind});
    if (amounts == nullptr || !amounts->is_object()) continue;
    for (const auto& [name, amount] : amounts->as_object()) {
      const std::string at = path + ".resources." + kind;
      for (const std::string& problem : check_qualified_name(name))
        causes.push_back(cause_invalid(at, name, problem));
      const auto parsed = api::Quantity::parse(amount.is_string() ? amount.as_string()
                                                                  : schema::bad_value_text(amount));
      if (!parsed.ok()) continue;
      if (*parsed < api::Quantity())
        causes.push_back(
            cause_invalid(at + "[" + name + "]", amount, "must be greater than or equal to 0"));
      if (std::string_view(kind) != "requests") continue;
      const json::Value* limit = container.find_path({"resources", "limits", name});
      if (limit == nullptr) continue;
      const auto most = api::Quantity::parse(limit->is_string() ? limit->as_string()
                                                                : schema::bad_value_text(*limit));
      if (most.ok() && *most < *parsed)
        causes.push_back(cause_invalid(
            at, amount,
            "must be less than or equal to " + name + " limit of " + most->to_string()));
    }
  }
}

void validate_containers(const json::Value& spec, std::string_view key, const std::string& path,
                         std::set<std::string>& names, Causes& causes) {
  size_t index = 0;
  for (const json::Value& c : array_at(spec, key)) {
    const std::string at = path + "." + std::string(key) + "[" + std::to_string(index++) + "]";
    const std::string name(c.get_string({"name"}));
    if (name.empty()) {
      causes.push_back(cause_required(at + ".name", ""));
    } else {
      for (const std::string& problem : check_label(name))
        causes.push_back(cause_invalid(at + ".name", name, problem));
      if (!names.insert(name).second)
        causes.push_back({.reason = "FieldValueDuplicate",
                          .message = "Duplicate value: " + schema::go_quote(name),
                          .field = at + ".name"});
    }
    if (c.get_string({"image"}).empty()) causes.push_back(cause_required(at + ".image", ""));
    const std::string_view pull = c.get_string({"imagePullPolicy"});
    if (!pull.empty() && pull != "Always" && pull != "IfNotPresent" && pull != "Never")
      causes.push_back(
          unsupported(at + ".imagePullPolicy", pull, "\"Always\", \"IfNotPresent\", \"Never\""));
    size_t port_index = 0;
    for (const json::Value& port : array_at(c, "ports")) {
      const int64_t number = port.get_int({"containerPort"});
      if (number < 1 || number > 65535)
        causes.push_back(
            cause_invalid(at + ".ports[" + std::to_string(port_index) + "].containerPort", number,
                          "must be between 1 and 65535, inclusive"));
      ++port_index;
    }
    validate_resources(c, at, causes);
  }
}

}  // namespace

void validate_pod_spec(const json::Value& spec, const std::string& path, Causes& causes) {
  std::set<std::string> names;
  if (array_at(spec, "containers").empty()) {
    const bool told = std::any_of(causes.begin(), causes.end(), [&](const ErrorCause& c) {
      return c.field == path + ".containers";
    });
    if (!told) causes.push_back(cause_required(path + ".containers", ""));
  }
  validate_containers(spec, "initContainers", path, names, causes);
  validate_containers(spec, "containers", path, names, causes);
  const std::string_view restart = spec.get_string({"restartPolicy"});
  if (!restart.empty() && restart != "Always" && restart != "OnFailure" && restart != "Never")
    causes.push_back(
        unsupported(path + ".restartPolicy", restart, "\"Always\", \"OnFailure\", \"Never\""));
  validate_labels(spec.find("nodeSelector"), path + ".nodeSelector", causes);
  size_t index = 0;
  for (const json::Value& t : array_at(spec, "tolerations")) {
    const std::string at = path + ".tolerations[" + std::to_string(index++) + "]";
    const std::string_view op = t.get_string({"operator"});
    if (t.get_string({"key"}).empty() && op != "Exists")
      causes.push_back(cause_invalid(at + ".operator", op,
                                     "operator must be Exists when `key` is empty, which means "
                                     "\"match all values and all keys\""));
    if (!op.empty() && op != "Equal" && op != "Exists")
      causes.push_back(unsupported(at + ".operator", op, "\"Equal\", \"Exists\""));
    if (t.find("tolerationSeconds") != nullptr && t.get_string({"effect"}) != "NoExecute")
      causes.push_back(cause_invalid(at + ".effect", t.get_string({"effect"}),
                                     "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    if (op == "Exists" && !t.get_string({"value"}).empty())
      causes.push_back(cause_invalid(at + ".operator", t.get_string({"value"}),
                                     "value must be empty when `operator` is 'Exists'"));
  }
  std::set<std::string> gates;
  index = 0;
  for (const json::Value& gate : array_at(spec, "schedulingGates")) {
    const std::string at = path + ".schedulingGates[" + std::to_string(index++) + "]";
    const std::string name(gate.get_string({"name"}));
    for (const std::string& problem : check_qualified_name(name))
      causes.push_back(cause_invalid(at, name, problem));
    if (!gates.insert(name).second)
      causes.push_back({.reason = "FieldValueDuplicate",
                        .message = "Duplicate value: " + schema::go_quote(name),
                        .field = at});
  }
}

void validate_pod_template(const json::Value& object, std::string_view path, Causes& causes) {
  static const json::Value empty = json::Value::object();
  const json::Value* pod_template = object.find_path({"spec", "template"});
  if (pod_template == nullptr) pod_template = &empty;
  const std::string at(path);
  validate_labels(pod_template->find_path({"metadata", "labels"}), at + ".labels", causes);
  const json::Value* spec = pod_template->find("spec");
  validate_pod_spec(spec != nullptr && spec->is_object() ? *spec : empty, at + ".spec", causes);
}

void pod_defaults(json::Value& object) { default_pod(object); }

void template_defaults(json::Value& object) {
  if (json::Value* spec = object.find_path({"template", "spec"})) default_pod_spec(*spec);
}

void pod_create(Call& call, json::Value& object) {
  const json::Value& spec = object["spec"];
  json::Value status = json::Value::object({{"phase", "Pending"}, {"qosClass", qos_class(spec)}});
  if (!array_at(spec, "schedulingGates").empty())
    status["conditions"] = json::Value::array({json::Value::object(
        {{"type", "PodScheduled"},
         {"status", "False"},
         {"lastTransitionTime", format_time(call.core->now())},
         {"reason", "SchedulingGated"},
         {"message", "Scheduling is blocked due to non-empty scheduling gates"}})});
  object["status"] = std::move(status);
}

void pod_validate(const Call& call, const json::Value& object, Causes& causes) {
  (void)call;
  if (const json::Value* spec = object.find("spec"); spec != nullptr && spec->is_object())
    validate_pod_spec(*spec, "spec", causes);
}

namespace {

constexpr std::string_view kImmutablePod =
    "pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec."
    "tolerations` (only additions to existing "
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)";

bool contains_all(const json::Array& more, const json::Array& less) {
  return std::all_of(less.begin(), less.end(), [&](const json::Value& v) {
    return std::find(more.begin(), more.end(), v) != more.end();
  });
}

// The fields of a spec that an update may change, taken over from `old`.
json::Value with_old_mutable_fields(json::Value spec, const json::Value& old, bool gated) {
  const auto take = [&](std::string_view key) {
    if (const json::Value* value = old.find(key))
      spec[key] = *value;
    else
      spec.as_object().erase(key);
  };
  for (const char* key : {"activeDeadlineSeconds", "tolerations", "schedulingGates"}) take(key);
  if (old.get_int({"terminationGracePeriodSeconds"}) < 0) take("terminationGracePeriodSeconds");
  if (gated) {
    take("nodeSelector");
    take("affinity");
  }
  for (const char* key : {"containers", "initContainers"}) {
    json::Value* containers = spec.find(key);
    const json::Array& before = array_at(old, key);
    if (containers == nullptr || !containers->is_array() ||
        containers->as_array().size() != before.size())
      continue;
    for (size_t i = 0; i < before.size(); ++i)
      if (const json::Value* image = before[i].find("image"))
        containers->as_array()[i]["image"] = *image;
  }
  return spec;
}

}  // namespace

void pod_validate_update(const Call& call, const json::Value& object, const json::Value& old,
                         Causes& causes) {
  if (call.path.subresource == "binding") return;
  const json::Value& spec = *object.find("spec");
  const json::Value& old_spec = *old.find("spec");
  const json::Array& old_gates = array_at(old_spec, "schedulingGates");
  size_t index = 0;
  for (const json::Value& gate : array_at(spec, "schedulingGates")) {
    const std::string at = "spec.schedulingGates[" + std::to_string(index++) + "].name";
    if (std::find(old_gates.begin(), old_gates.end(), gate) == old_gates.end())
      causes.push_back(
          cause_forbidden(at, "only deletion is allowed, but found new scheduling gate '" +
                                  std::string(gate.get_string({"name"})) + "'"));
  }
  if (!contains_all(array_at(spec, "tolerations"), array_at(old_spec, "tolerations")))
    causes.push_back(
        cause_forbidden("spec.tolerations",
                        "existing toleration can not be modified except its tolerationSeconds"));
  const bool gated = !old_gates.empty();
  if (gated) {
    const json::Value* now = spec.find("nodeSelector");
    const json::Value* before = old_spec.find("nodeSelector");
    if (before != nullptr && before->is_object())
      for (const auto& [key, value] : before->as_object()) {
        const json::Value* kept = now == nullptr ? nullptr : now->find(key);
        if (kept != nullptr && *kept == value) continue;
        causes.push_back(cause_invalid(
            "spec.nodeSelector", now == nullptr ? json::Value() : *now,
            "only additions to spec.nodeSelector are allowed (no mutations or deletions)"));
        break;
      }
  }
  if (call.path.subresource == "resize" || call.path.subresource == "ephemeralcontainers") return;
  if (!(with_old_mutable_fields(spec, old_spec, gated) == old_spec))
    causes.push_back(cause_forbidden("spec", kImmutablePod));
}

}  // namespace kueue::apiserver::kinds
