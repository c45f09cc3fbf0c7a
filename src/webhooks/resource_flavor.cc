// ResourceFlavor: labels, taints, tolerations. Spec section 9.
#include <set>

#include "base/names.h"
#include "json/json.h"
#include "webhooks/checks.h"
#include "webhooks/finalizer.h"
#include "webhooks/hook.h"
#include "webhooks/names.h"

namespace kueue::webhooks {

void add_finalizer(json::Value& object) {
  json::Value& list = object.at_path({"metadata", "finalizers"});
  if (list.is_null()) list = json::Value::array();
  if (!list.is_array()) return;
  for (const json::Value& item : list.as_array())
    if (item.string_or("") == kInUseFinalizer) return;
  list.as_array().emplace_back(kInUseFinalizer);
}

namespace {

using json::Value;
using schema::FieldErrors;

// The taint as Kubernetes prints it: members in the order of its type.
std::string taint_text(const Value& taint) {
  Value out = Value::object();
  for (const char* key : {"key", "value", "effect", "timeAdded"})
    if (const Value* member = taint.find(key);
        member != nullptr && !member->is_null() && member->string_or("x") != "")
      out[key] = *member;
  return json::write(out);
}

void check_taints(const Value& object, FieldErrors& errors) {
  const json::Array& taints = list_at(object, {"spec", "nodeTaints"});
  std::set<std::pair<std::string, std::string>> seen;
  for (size_t i = 0; i < taints.size(); ++i) {
    std::string at = "spec.nodeTaints[" + std::to_string(i) + "]";
    std::string_view key = taints[i].get_string({"key"}), value = taints[i].get_string({"value"});
    errors.invalid_each(at + ".key", key, qualified_name_problems(key));
    errors.invalid_each(at + ".value", value, label_value_problems(value));
    if (seen.emplace(key, taints[i].get_string({"effect"})).second) continue;
    errors.add({"FieldValueDuplicate",
                "Duplicate value: " + taint_text(taints[i]) +
                    ": taints must be unique by key and effect pair",
                at});
  }
}

class ResourceFlavorHook final : public Hook {
 public:
  Result<void> mutate(const Call& call, Value& object, std::vector<std::string>&) const override {
    if (call.operation == Operation::kCreate) add_finalizer(object);
    return {};
  }
  void validate(const Call& call, FieldErrors& errors, std::vector<std::string>&) const override {
    check_labels(call.object.find_path({"spec", "nodeLabels"}), "spec.nodeLabels", errors);
    check_taints(call.object, errors);
    const json::Array& tolerations = list_at(call.object, {"spec", "tolerations"});
    for (size_t i = 0; i < tolerations.size(); ++i) {
      std::string_view key = tolerations[i].get_string({"key"});
      if (!key.empty())
        errors.invalid_each("spec.tolerations[" + std::to_string(i) + "].key", key,
                            qualified_name_problems(key));
    }
  }
};

}  // namespace

const Hook& resource_flavor_hook() {
  static const ResourceFlavorHook kHook;
  return kHook;
}

}  // namespace kueue::webhooks
