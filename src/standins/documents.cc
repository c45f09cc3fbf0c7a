#include "standins/documents.h"

namespace kueue::standins {

namespace {

Result<void> keep_whole(const json::Value& document, Document& object) {
  object.json = document;
  if (json::Value* metadata = object.json.find("metadata"); metadata && metadata->is_object())
    metadata->as_object().erase("managedFields");
  return {};
}

}  // namespace

kube::Resource pods() { return {"", "v1", "pods", "Pod", true}; }
kube::Resource nodes() { return {"", "v1", "nodes", "Node", false}; }
kube::Resource jobs() { return {"batch", "v1", "jobs", "Job", true}; }

std::unique_ptr<DocumentInformer> make_informer(std::shared_ptr<kube::Client> client,
                                                kube::Executor& executor, kube::Resource resource) {
  return std::make_unique<DocumentInformer>(std::move(client), executor, std::move(resource),
                                            keep_whole);
}

kube::ObjectKey key_of(const json::Value& object) {
  return {std::string(object.get_string({"metadata", "namespace"})),
          std::string(object.get_string({"metadata", "name"}))};
}

std::string uid_of(const json::Value& object) {
  return std::string(object.get_string({"metadata", "uid"}));
}

std::string controller_uid(const json::Value& object) {
  const json::Value* owners = object.find_path({"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array()) return {};
  for (const json::Value& owner : owners->as_array())
    if (owner.get_bool({"controller"})) return std::string(owner.get_string({"uid"}));
  return {};
}

bool is_deleting(const json::Value& object) {
  return !object.get_string({"metadata", "deletionTimestamp"}).empty();
}

bool has_finalizer(const json::Value& object, std::string_view finalizer) {
  const json::Value* finalizers = object.find_path({"metadata", "finalizers"});
  if (finalizers == nullptr || !finalizers->is_array()) return false;
  for (const json::Value& each : finalizers->as_array())
    if (each.string_or("") == finalizer) return true;
  return false;
}

wire::LabelMap labels_of(const json::Value& object) {
  wire::LabelMap labels;
  const json::Value* stored = object.find_path({"metadata", "labels"});
  if (stored == nullptr || !stored->is_object()) return labels;
  for (const auto& [name, value] : stored->as_object())
    labels.emplace(name, std::string(value.string_or("")));
  return labels;
}

std::string_view phase_of(const json::Value& pod) {
  return pod.get_string({"status", "phase"}, "Pending");
}

bool is_terminal(const json::Value& pod) {
  std::string_view phase = phase_of(pod);
  return phase == "Succeeded" || phase == "Failed";
}

std::string_view node_of(const json::Value& pod) { return pod.get_string({"spec", "nodeName"}); }

bool condition_true(const json::Value& object, std::string_view type) {
  const json::Value* conditions = object.find_path({"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return false;
  for (const json::Value& condition : conditions->as_array())
    if (condition.get_string({"type"}) == type) return condition.get_string({"status"}) == "True";
  return false;
}

bool set_condition(json::Array& conditions, std::string_view type, std::string_view status,
                   std::string_view reason, std::string_view message, Instant now,
                   bool with_probe_time) {
  json::Value fresh = json::Value::object({{"type", type}, {"status", status}});
  fresh["lastProbeTime"] = with_probe_time ? json::Value(format_time(now)) : json::Value();
  fresh["lastTransitionTime"] = format_time(now);
  if (!reason.empty()) fresh["reason"] = reason;
  if (!message.empty()) fresh["message"] = message;
  for (json::Value& condition : conditions) {
    if (condition.get_string({"type"}) != type) continue;
    if (condition.get_string({"status"}) == status) {
      if (condition.get_string({"reason"}) == reason &&
          condition.get_string({"message"}) == message)
        return false;
      fresh["lastTransitionTime"] = condition.get_string({"lastTransitionTime"});
    }
    condition = std::move(fresh);
    return true;
  }
  conditions.push_back(std::move(fresh));
  return true;
}

}  // namespace kueue::standins
