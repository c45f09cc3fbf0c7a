#include "install/manifests.h"

#include "api/crd_manifest.h"
#include "base/names.h"
#include "install/objects.h"
#include "json/json.h"
#include "webhooks/manifests.h"

namespace kueue::install {
namespace {

using json::Value;

constexpr Part kParts[] = {
    {"namespace", "the Namespace"},
    {"crds", "CustomResourceDefinitions with conversion between versions"},
    {"rbac", "service account, roles of the manager, roles for people"},
    {"config", "ConfigMap with the Configuration, Secret for certificates"},
    {"services", "Services of webhooks, metrics and visibility"},
    {"deployment", "Deployment and PodDisruptionBudget"},
    {"visibility", "APIServices of the visibility API"},
    {"flowcontrol", "flow schema and priority level of the visibility API"},
    {"webhooks", "mutating and validating webhook configurations"},
};

void replace(std::string& text, std::string_view what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

void fill_in(Value& value, const Options& options) {
  if (value.is_string()) {
    replace(value.as_string(), "${NAMESPACE}", options.namespace_);
    replace(value.as_string(), "${IMAGE}", options.image);
  } else if (value.is_array()) {
    for (Value& item : value.as_array()) fill_in(item, options);
  } else if (value.is_object()) {
    for (auto& [key, member] : value.as_object()) fill_in(member, options);
  }
}

std::vector<Value> definitions(const Options& options) {
  const Value block = webhooks::conversion_block({.namespace_ = options.namespace_});
  const Value* client = block.find_path({"webhook", "clientConfig"});
  std::vector<Value> out = api::crd_manifests(
      {.descriptions = options.descriptions, .conversion_client_config = client});
  for (Value& crd : out) {
    const Value labels = common_labels();
    for (const auto& [key, value] : labels.as_object()) crd["metadata"]["labels"][key] = value;
  }
  return out;
}

std::vector<Value> webhook_objects(const Options& options) {
  const webhooks::ManifestOptions manifest{.namespace_ = options.namespace_};
  std::vector<Value> out = {webhooks::mutating_configuration(manifest),
                            webhooks::validating_configuration(manifest)};
  for (Value& one : out) one["metadata"]["labels"] = common_labels();
  return out;
}

std::vector<Value> part_objects(const Options& options, std::string_view part) {
  if (part == "namespace") return namespace_objects();
  if (part == "crds") return definitions(options);
  if (part == "rbac") return rbac_objects();
  if (part == "config") return config_objects();
  if (part == "services") return service_objects();
  if (part == "deployment") return deployment_objects();
  if (part == "visibility") return visibility_objects();
  if (part == "flowcontrol") return flow_control_objects();
  return webhook_objects(options);
}

bool is_part(std::string_view name) {
  for (const Part& part : kParts)
    if (part.name == name) return true;
  return false;
}

}  // namespace

std::span<const Part> parts() { return kParts; }

Result<std::vector<Value>> objects(const Options& options, std::string_view part) {
  if (!part.empty() && !is_part(part)) {
    std::string known;
    for (const Part& one : kParts) known += (known.empty() ? "" : ", ") + std::string(one.name);
    return make_error(ErrorCode::kBadRequest,
                      "there is no part \"" + std::string(part) + "\"; the parts are: " + known);
  }
  std::vector<Value> out;
  for (const Part& one : kParts) {
    if (!part.empty() && one.name != part) continue;
    for (Value& object : part_objects(options, one.name)) {
      fill_in(object, options);
      out.push_back(std::move(object));
    }
  }
  return out;
}

std::string to_yaml(const std::vector<Value>& objects) {
  std::string out;
  for (const Value& object : objects) out += "---\n" + json::write_yaml(object);
  return out;
}

std::string kustomization() {
  std::string out =
      "# Made by `kueue install`; images, replicas and the namespace are set in an overlay.\n"
      "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n";
  for (const Part& one : kParts) out += "- " + std::string(one.name) + ".yaml\n";
  return out;
}

}  // namespace kueue::install
