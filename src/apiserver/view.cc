#include "apiserver/view.h"

#include "apiserver/conversion.h"
#include "apiserver/core.h"
#include "apiserver/json_scan.h"
#include "json/json.h"
#include "schema/prune.h"

namespace kueue::apiserver {

Result<json::Value> convert(Core& core, json::Value object, const Served& target) {
  const std::string_view from = object.get_string({"apiVersion"});
  if (from == target.api_version) return object;
  const Resource& resource = *target.resource;
  if (const Converter* converter = core.converter(resource.group, resource.kind))
    return (*converter)(std::move(object), target.api_version);
  if (!resource.custom()) return convert_built_in(std::move(object), target);
  if (resource.conversion) return convert_by_webhook(core, resource, std::move(object), target);
  object["apiVersion"] = target.api_version;
  if (target.info != nullptr) schema::prune(*target.info->type, object);
  return object;
}

bool conversion_blocks(Core& core, const Resource& resource) {
  return resource.conversion.has_value() &&
         core.converter(resource.group, resource.kind) == nullptr;
}

Result<json::Value> object_value(Core& core, const Served& target, const Stored& stored) {
  KUEUE_ASSIGN(json::Value value, json::parse(stored.bytes));
  return convert(core, std::move(value), target);
}

Result<std::string> object_text(Core& core, const Served& target, const Stored& stored) {
  const std::string_view raw = scan_path(stored.bytes, {"apiVersion"});
  if (raw.size() == target.api_version.size() + 2 &&
      raw.substr(1, raw.size() - 2) == target.api_version)
    return stored.bytes;
  KUEUE_ASSIGN(const json::Value value, object_value(core, target, stored));
  return json::write(value);
}

std::string partial_text(std::string_view object_text, std::string_view meta_version,
                         std::string_view kind) {
  std::string text = "{\"kind\":\"";
  text.append(kind).append("\",\"apiVersion\":\"meta.k8s.io/").append(meta_version);
  text.append("\",\"metadata\":").append(scan_path(object_text, {"metadata"})).append("}");
  return text;
}

std::string list_kind(const Served& served) { return std::string(served.info->kind) + "List"; }

}  // namespace kueue::apiserver
