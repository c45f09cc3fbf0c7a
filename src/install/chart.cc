#include "install/chart.h"

#include <string_view>

#include "base/check.h"
#include "install/manifests.h"
#include "json/json.h"

namespace kueue::install {
namespace {

using json::Value;

constexpr std::string_view kPrefix = "kueue-";
constexpr const char* kFullName = "{{ include \"kueue.fullname\" . }}-";
constexpr const char* kCertificateHint =
    "{{- if .Values.enableCertManager }}\n"
    "  annotations:\n"
    "    cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include \"kueue.fullname\" . "
    "}}-serving-cert\n"
    "{{- end }}\n";

void rename(Value* name) {
  if (name != nullptr && name->is_string() && name->as_string().starts_with(kPrefix))
    name->as_string() = kFullName + name->as_string().substr(kPrefix.size());
}

// Names of our own objects, wherever they stand, follow the release.
void rename_all(Value& value) {
  if (value.is_array()) {
    for (Value& item : value.as_array()) rename_all(item);
  } else if (value.is_object()) {
    for (auto& [key, member] : value.as_object()) {
      if (key == "resourceNames") {
        for (Value& name : member.as_array()) rename(&name);
      } else if (key == "metadata" || key == "roleRef" || key == "service" ||
                 key == "priorityLevelConfiguration") {
        rename(member.find("name"));
      } else if (key == "subjects") {
        for (Value& subject : member.as_array()) rename(subject.find("name"));
      } else if (key != "versions") {  // schemas
        rename_all(member);
      }
    }
  }
}

std::string file(const char* part, const char* condition, bool certificate) {
  auto made = objects({.namespace_ = "{{ .Release.Namespace }}"}, part);
  KUEUE_CHECK(made.ok(), "parts of the chart are parts");
  for (Value& object : *made) {
    rename_all(object);
    if (object.get_string({"kind"}) == "MutatingWebhookConfiguration")
      for (Value& hook : object["webhooks"].as_array())
        hook["reinvocationPolicy"] = "{{ .Values.mutatingWebhook.reinvocationPolicy }}";
  }
  std::string text;
  for (const Value& object : *made) {
    std::string one = "---\n" + json::write_yaml(object);
    const bool asks = object.get_string({"kind"}) != "CustomResourceDefinition" ||
                      object.find_path({"spec", "conversion"}) != nullptr;
    if (certificate && asks && object.get_string({"kind"}) != "RoleBinding") {
      static constexpr std::string_view kMetadata = "\nmetadata:\n";
      one.insert(one.find(kMetadata) + kMetadata.size(), kCertificateHint);
    }
    text += one;
  }
  if (condition != nullptr) text = condition + ("\n" + text) + "{{- end }}\n";
  return "{{- /* Made by the tables of src/install. */ -}}\n" + text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> chart_files() {
  return {
      {"generated-crds.yaml", file("crds", nullptr, true)},
      {"generated-rbac.yaml", file("rbac", nullptr, false)},
      {"generated-visibility.yaml", file("visibility", nullptr, true)},
      {"generated-flowcontrol.yaml",
       file("flowcontrol", "{{- if .Values.enableVisibilityAPF }}", false)},
      {"generated-webhooks.yaml", file("webhooks", nullptr, true)},
  };
}

}  // namespace kueue::install
