#include "app/kueue_definitions.h"

#include <poll.h>

#include <cstdio>

#include "api/conversion.h"
#include "api/crd_manifest.h"
#include "api/registry.h"
#include "app/in_process_transport.h"
#include "install/manifests.h"
#include "json/json.h"
#include "kube/client.h"

namespace kueue::app {
namespace {

// Of the definition as this binary makes it; tells a later start that nothing has changed.
constexpr std::string_view kDefinitionHash = "kueue-cpp.dev/definition-hash";
constexpr int kServedTimeoutMs = 10'000;

kube::Resource definitions() {
  return {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition",
          false};
}

// FNV-1a, 64 bits.
std::string hash_of(const json::Value& document) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : json::write_sorted(document))
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

// As an installation by `kubectl apply --server-side` would: with its values and under its name, so
// that one that is applied here later finds nothing to take over.
Result<void> install(kube::Client& client, json::Value definition) {
  const std::string hash = hash_of(definition);
  definition.at_path({"metadata", "annotations", kDefinitionHash}) = hash;
  const kube::ObjectKey key{"", std::string(definition.get_string({"metadata", "name"}))};
  Result<json::Value> held = client.get(definitions(), key);
  if (!held.ok() && held.error().code != ErrorCode::kNotFound) return std::move(held).error();
  if (held.ok()) {
    if (held->get_string({"metadata", "annotations", kDefinitionHash}) == hash) return {};
    // Whoever wrote the one of before owns nothing of this one.
    const json::Value nobody = json::Value::object(
        {{"metadata",
          json::Value::object({{"managedFields", json::Value::array({json::Value::object()})}})}});
    KUEUE_TRY(client.patch(definitions(), key, kube::PatchType::kMerge, nobody));
  }
  KUEUE_TRY(client.patch(definitions(), key, kube::PatchType::kApply, definition,
                         {.field_manager = kInstaller, .force = true}));
  return {};
}

bool established(kube::Client& client, const json::Value& definition) {
  Result<json::Value> held =
      client.get(definitions(), {"", std::string(definition.get_string({"metadata", "name"}))});
  if (!held.ok()) return false;
  const json::Value* conditions = held->find_path({"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return false;
  for (const json::Value& condition : conditions->as_array())
    if (condition.get_string({"type"}) == "Established")
      return condition.get_string({"status"}) == "True";
  return false;
}

}  // namespace

Result<void> install_kueue_definitions(apiserver::Server& server) {
  for (const schema::ResourceInfo* info : api::kueue_resources())
    if (info->storage && api::needs_conversion(info->kind))
      server.register_converter(
          info->group, info->kind,
          [](json::Value object, std::string_view api_version) -> Result<json::Value> {
            return api::convert_kueue(object, api_version.substr(api_version.find('/') + 1));
          });
  kube::Client client(
      make_in_process_transport(
          server, {.user = "system:apiserver", .groups = {"system:masters"}, .extra = {}}),
      "kueue");
  KUEUE_ASSIGN(std::vector<json::Value> wanted, install::objects({}, "crds"));
  // Converted in process. Who applies a conversion of his own owns all of it.
  for (json::Value& definition : wanted) definition.erase_path({"spec", "conversion"});
  for (const json::Value& definition : wanted) KUEUE_TRY(install(client, definition));
  for (const json::Value& definition : wanted) {
    for (int waited_ms = 0; !established(client, definition); ++waited_ms) {
      if (waited_ms == kServedTimeoutMs)
        return make_error(ErrorCode::kTimeout,
                          std::string(definition.get_string({"metadata", "name"})) +
                              " was not served within 10 seconds");
      poll(nullptr, 0, 1);
    }
  }
  return {};
}

}  // namespace kueue::app
