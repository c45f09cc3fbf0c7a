// Namespaces, ConfigMaps, Secrets, Nodes, Services, Events.
#include "apiserver/core.h"
#include "apiserver/encoding.h"
#include "apiserver/kinds.h"
#include "apiserver/names.h"
#include "apiserver/pod_defaults.h"

namespace kueue::apiserver::kinds {

namespace {

constexpr size_t kMaxSecret = 1024 * 1024;

void check_keys(const json::Value* data, std::string_view field, Causes& causes) {
  if (data == nullptr || !data->is_object()) return;
  for (const auto& [key, value] : data->as_object()) {
    bool good = !key.empty() && key.size() <= 253 && key != "." && !key.starts_with("..");
    for (const char c : key)
      good = good &&
             (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.');
    if (!good)
      causes.push_back(cause_invalid(
          std::string(field) + "[" + key + "]", key,
          "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
          "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
          "'[-._a-zA-Z0-9]+')"));
  }
}

size_t total_size(const json::Value* data) {
  size_t total = 0;
  if (data != nullptr && data->is_object())
    for (const auto& [key, value] : data->as_object()) total += value.string_or("").size();
  return total;
}

void too_long(std::string field, Causes& causes) {
  causes.push_back({.reason = "FieldValueTooLong",
                    .message = "Too long: may not be more than 1048576 bytes",
                    .field = std::move(field)});
}

void check_immutable(const json::Value& object, const json::Value& old,
                     std::initializer_list<std::string_view> fields, Causes& causes) {
  if (!old.get_bool({"immutable"})) return;
  if (!object.get_bool({"immutable"}))
    causes.push_back(cause_forbidden("immutable", "field is immutable when `immutable` is set"));
  for (std::string_view field : fields) {
    const json::Value* now = object.find(field);
    const json::Value* before = old.find(field);
    const bool same = now == nullptr || before == nullptr ? now == before : *now == *before;
    if (!same)
      causes.push_back(
          cause_forbidden(std::string(field), "field is immutable when `immutable` is set"));
  }
}

}  // namespace

void namespace_defaults(json::Value& object) {
  const std::string name(object.get_string({"metadata", "name"}));
  if (name.empty()) return;
  json::Value& labels = object["metadata"]["labels"];
  if (labels.is_null()) labels = json::Value::object();
  labels["kubernetes.io/metadata.name"] = name;
}

void namespace_create(Call& call, json::Value& object) {
  (void)call;
  namespace_defaults(object);
  json::Value& finalizers = object["spec"]["finalizers"];
  if (!finalizers.is_array()) finalizers = json::Value::array();
  bool has = false;
  for (const json::Value& f : finalizers.as_array()) has |= f.string_or("") == "kubernetes";
  if (!has) finalizers.as_array().emplace_back("kubernetes");
  object["status"] = json::Value::object({{"phase", "Active"}});
}

void namespace_update(Call& call, json::Value& object, const json::Value& old) {
  // Only /finalize changes the finalizers of the spec.
  if (call.path.subresource != "finalize") {
    if (const json::Value* spec = old.find("spec"))
      object["spec"] = *spec;
    else
      object.as_object().erase("spec");
  }
}

void config_map_validate(const Call& call, const json::Value& object, Causes& causes) {
  (void)call;
  check_keys(object.find("data"), "data", causes);
  check_keys(object.find("binaryData"), "binaryData", causes);
  if (total_size(object.find("data")) + total_size(object.find("binaryData")) > kMaxSecret)
    too_long("", causes);
}

void config_map_validate_update(const Call& call, const json::Value& object, const json::Value& old,
                                Causes& causes) {
  (void)call;
  check_immutable(object, old, {"data", "binaryData"}, causes);
}

void secret_defaults(json::Value& object) {
  set_default(object, "type", "Opaque");
  // stringData is write-only: its texts go into data.
  json::Value* texts = object.find("stringData");
  if (texts != nullptr && texts->is_object()) {
    const json::Object copy = texts->as_object();
    for (const auto& [key, value] : copy) object["data"][key] = base64_encode(value.string_or(""));
  }
  object.as_object().erase("stringData");
}

void secret_validate(const Call& call, const json::Value& object, Causes& causes) {
  (void)call;
  const json::Value* data = object.find("data");
  check_keys(data, "data", causes);
  if (total_size(data) / 4 * 3 > kMaxSecret) too_long("data", causes);
  const std::string_view type = object.get_string({"type"});
  const auto need = [&](std::string_view key) {
    if (data == nullptr || data->find(key) == nullptr)
      causes.push_back(cause_required("data[" + std::string(key) + "]", ""));
  };
  if (type == "kubernetes.io/tls") {
    need("tls.crt");
    need("tls.key");
  }
  if (type == "kubernetes.io/dockerconfigjson") need(".dockerconfigjson");
}

void secret_validate_update(const Call& call, const json::Value& object, const json::Value& old,
                            Causes& causes) {
  (void)call;
  if (object.get_string({"type"}) != old.get_string({"type"}))
    causes.push_back(cause_invalid("type", object.get_string({"type"}), "field is immutable"));
  check_immutable(object, old, {"data"}, causes);
}

void node_create(Call& call, json::Value& object) {
  (void)call;
  if (object.find("spec") == nullptr) object["spec"] = json::Value::object();
  json::Value& status = object["status"];
  if (status.is_null()) status = json::Value::object();
  // What can be allocated is everything unless the node says otherwise.
  if (status.find("allocatable") == nullptr)
    if (const json::Value* capacity = status.find("capacity"))
      status["allocatable"] = json::Value(*capacity);
}

void service_defaults(json::Value& object) {
  json::Value* spec = object.find("spec");
  if (spec == nullptr || !spec->is_object()) return;
  set_default(*spec, "type", "ClusterIP");
  set_default(*spec, "sessionAffinity", "None");
  if (spec->get_string({"type"}) != "ExternalName")
    set_default(*spec, "internalTrafficPolicy", "Cluster");
  if (json::Value* ports = spec->find("ports"); ports != nullptr && ports->is_array())
    for (json::Value& port : ports->as_array()) {
      if (!port.is_object()) continue;
      set_default(port, "protocol", "TCP");
      if (const json::Value* number = port.find("port"))
        set_default(port, "targetPort", json::Value(*number));
    }
}

void service_create(Call& call, json::Value& object) {
  (void)call;
  object["status"] = json::Value::object({{"loadBalancer", json::Value::object()}});
  json::Value* spec = object.find("spec");
  if (spec == nullptr || spec->get_string({"type"}) == "ExternalName") return;
  // No network stands behind it: a headless address is the honest one where the user gave none.
  if (spec->find("clusterIP") == nullptr) {
    (*spec)["clusterIP"] = "None";
  }
  if (spec->find("clusterIPs") == nullptr) {
    json::Value address = *spec->find("clusterIP");
    (*spec)["clusterIPs"] = json::Value::array({std::move(address)});
  }
  set_default(*spec, "ipFamilies", json::Value::array({"IPv4"}));
  set_default(*spec, "ipFamilyPolicy", "SingleStack");
}

// An Event's times and source are never absent, only empty: 'kubectl get events --sort-by
// .lastTimestamp' looks for the field.
void event_defaults(json::Value& object) {
  const bool core = object.get_string({"apiVersion"}) == "v1";
  const auto fill = [&](const char* key, json::Value value) {
    if (object.find(key) == nullptr) object[key] = std::move(value);
  };
  fill(core ? "source" : "deprecatedSource", json::Value::object());
  fill(core ? "firstTimestamp" : "deprecatedFirstTimestamp", json::Value());
  fill(core ? "lastTimestamp" : "deprecatedLastTimestamp", json::Value());
  fill("eventTime", json::Value());
  if (!core) return;
  fill("reportingComponent", "");
  fill("reportingInstance", "");
}

void event_validate(const Call& call, const json::Value& object, Causes& causes) {
  (void)call;
  const std::string_view about = object.get_string({"involvedObject", "namespace"});
  const std::string_view own = object.get_string({"metadata", "namespace"});
  const std::string_view regarding = object.get_string({"regarding", "namespace"});
  const std::string_view of = about.empty() ? regarding : about;
  const bool fits = of.empty() ? own == "default" || own == "kube-system" : of == own;
  if (!fits)
    causes.push_back(
        cause_invalid("involvedObject.namespace", of, "does not match event.namespace"));
}

}  // namespace kueue::apiserver::kinds
