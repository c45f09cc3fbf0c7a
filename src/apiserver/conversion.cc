#include "apiserver/conversion.h"

#include <utility>

#include "apiserver/core.h"
#include "apiserver/webhook_call.h"
#include "json/json.h"

namespace kueue::apiserver {

namespace {

struct Rename {
  std::string_view core;    // name in v1
  std::string_view events;  // name in events.k8s.io/v1
};

constexpr Rename kEventNames[] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
};

void rename_members(json::Value& object, bool to_core) {
  json::Object out;
  for (auto& [key, value] : object.as_object()) {
    std::string name = key;
    for (const Rename& r : kEventNames)
      if (key == (to_core ? r.events : r.core)) name = to_core ? r.core : r.events;
    out.set(name, std::move(value));
  }
  object = json::Value(std::move(out));
}

// v1 knows one CPU target and keeps the rest in annotations of its own, v2 a list of metrics.
void scaler_to_v2(json::Value& object) {
  json::Value* spec = object.find("spec");
  if (spec == nullptr || !spec->is_object()) return;
  const json::Value* target = spec->find("targetCPUUtilizationPercentage");
  if (target == nullptr) return;
  json::Value metric = json::Value::object(
      {{"type", "Resource"},
       {"resource", json::Value::object(
                        {{"name", "cpu"},
                         {"target", json::Value::object({{"type", "Utilization"},
                                                         {"averageUtilization", *target}})}})}});
  json::Value& metrics = (*spec)["metrics"];
  if (!metrics.is_array()) metrics = json::Value::array();
  metrics.as_array().push_back(std::move(metric));
  spec->as_object().erase("targetCPUUtilizationPercentage");
}

void scaler_to_v1(json::Value& object) {
  json::Value* spec = object.find("spec");
  if (spec == nullptr || !spec->is_object()) return;
  if (const json::Value* metrics = spec->find("metrics"); metrics && metrics->is_array())
    for (const json::Value& m : metrics->as_array()) {
      const json::Value* percent = m.find_path({"resource", "target", "averageUtilization"});
      if (m.get_string({"resource", "name"}) == "cpu" && percent != nullptr) {
        const json::Value copy = *percent;
        (*spec)["targetCPUUtilizationPercentage"] = copy;
        break;
      }
    }
  spec->as_object().erase("metrics");
  spec->as_object().erase("behavior");
  if (json::Value* status = object.find("status"); status && status->is_object()) {
    status->as_object().erase("currentMetrics");
    status->as_object().erase("conditions");
  }
}

}  // namespace

Result<json::Value> convert_built_in(json::Value object, const Served& target) {
  const std::string& collection = target.resource->collection;
  const bool from_core = object.get_string({"apiVersion"}) == "v1";
  if (collection == "/events" && from_core != (target.api_version == "v1"))
    rename_members(object, !from_core);
  if (collection == "autoscaling/horizontalpodautoscalers") {
    if (target.info->version == "v1")
      scaler_to_v1(object);
    else
      scaler_to_v2(object);
  }
  object["apiVersion"] = target.api_version;
  return object;
}

Result<json::Value> convert_by_webhook(Core& core, const Resource& resource, json::Value object,
                                       const Served& target) {
  const std::string from(object.get_string({"apiVersion"}));
  const auto failed = [&](std::string_view why) {
    return make_error(ErrorCode::kInternal, "conversion webhook for " + from + ", Kind=" +
                                                resource.kind + " failed: " + std::string(why));
  };
  const std::string uid = core.new_uid();
  const json::Value original = object;
  json::Value review = json::Value::object(
      {{"kind", "ConversionReview"},
       {"apiVersion", "apiextensions.k8s.io/v1"},
       {"request", json::Value::object({{"uid", uid},
                                        {"desiredAPIVersion", target.api_version},
                                        {"objects", json::Value::array({std::move(object)})}})}});
  auto answer =
      call_webhook(core, resource.conversion->client_config, review, Duration::seconds(30));
  if (!answer.ok()) return failed(answer.error().message);
  if (answer->get_string({"response", "result", "status"}) != "Success")
    return failed(answer->get_string({"response", "result", "message"}, "no message"));
  json::Value* objects = answer->find_path({"response", "convertedObjects"});
  if (answer->get_string({"response", "uid"}) != uid || objects == nullptr ||
      !objects->is_array() || objects->as_array().size() != 1)
    return failed("the response does not fit the request");
  json::Value converted = std::move(objects->as_array().front());
  if (converted.get_string({"apiVersion"}) != target.api_version ||
      converted.get_string({"kind"}) != original.get_string({"kind"}))
    return failed("the returned object has the wrong version or kind");
  // A conversion may change labels and annotations, nothing else of the metadata.
  json::Value metadata = *original.find("metadata");
  for (const char* field : {"labels", "annotations"}) {
    metadata.as_object().erase(field);
    if (const json::Value* value = converted.find_path({"metadata", field}))
      metadata[field] = *value;
  }
  converted["metadata"] = std::move(metadata);
  return converted;
}

}  // namespace kueue::apiserver
