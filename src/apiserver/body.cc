#include "apiserver/body.h"

#include "api/registry.h"
#include "apiserver/canonical.h"
#include "apiserver/traits.h"
#include "json/json.h"
#include "schema/decode_check.h"
#include "schema/defaults.h"
#include "schema/proto.h"
#include "schema/prune.h"

namespace kueue::apiserver {

namespace {

std::string media_type(std::string_view text) {
  std::string type(text.substr(0, text.find(';')));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  for (char& c : type)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return type;
}

Error unreadable(const Call& call, std::string_view why) {
  if (call.served == nullptr) return make_error(ErrorCode::kBadRequest, std::string(why));
  return make_error(ErrorCode::kBadRequest,
                    "the object provided is unrecognized (must be of type " +
                        std::string(call.served->info->kind) +
                        "): couldn't get version/kind; json parse error: " + std::string(why));
}

Error options_error(const Call& call, std::string_view field, std::string message) {
  const std::string& method = call.request.method;
  const std::string kind = method == "POST"    ? "CreateOptions"
                           : method == "PUT"   ? "UpdateOptions"
                           : method == "PATCH" ? "PatchOptions"
                                               : "DeleteOptions";
  Error error =
      make_error(ErrorCode::kInvalid,
                 kind + ".meta.k8s.io \"\" is invalid: " + std::string(field) + ": " + message);
  error.group = "meta.k8s.io";
  error.kind = kind;
  error.causes.push_back({.reason = "FieldValueNotSupported",
                          .message = std::move(message),
                          .field = std::string(field)});
  return error;
}

// Defaults, then the form in which the object is kept. Defaults of the kind come before those of
// single fields: they may ask whether other fields were given.
void fill_in(json::Value& object, const Served& as) {
  const schema::Type& type = *as.info->type;
  if (!as.resource->custom()) schema::fill_values(type, object);
  if (as.resource->traits->set_defaults != nullptr) as.resource->traits->set_defaults(object);
  schema::apply_defaults(type, object);
  if (!as.resource->custom()) {
    canonicalize(type, object);
  } else if (const schema::Field* metadata = type.field("metadata")) {
    canonicalize(*metadata->type, object["metadata"]);
  }
}

// Kinds that have no path of their own: bodies of subresources (TokenRequest, Scale, Eviction) and
// of deletions.
const schema::Type* body_only_type(std::string_view group, std::string_view version,
                                   std::string_view kind) {
  if (kind == "DeleteOptions") {
    return api::find_type("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
  }
  const std::string_view package = group.empty() ? "core" : group.substr(0, group.find('.'));
  return api::find_type("io.k8s.api." + std::string(package) + "." + std::string(version) + "." +
                        std::string(kind));
}

}  // namespace

Result<Body> read_body(const Call& call) {
  if (call.request.body.size() > kMaxBody)
    return make_error(ErrorCode::kTooLarge, "Request entity too large: limit is 3145728");
  const std::string type = media_type(call.request.headers.get("Content-Type"));
  Body body;
  if (type == "application/vnd.kubernetes.protobuf") {
    const auto find_type = [&call](std::string_view api_version,
                                   std::string_view kind) -> const schema::Type* {
      const size_t slash = api_version.find('/');
      const std::string_view group =
          slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
      const std::string_view version =
          slash == std::string_view::npos ? api_version : api_version.substr(slash + 1);
      if (const Served* served = call.catalog->find_kind(group, version, kind))
        return &*served->info->type;
      return body_only_type(group, version, kind);
    };
    auto decoded = schema::decode_protobuf(call.request.body, find_type);
    if (!decoded.ok()) return unreadable(call, decoded.error().message);
    body.value = std::move(decoded).value();
    return body;
  }
  if (type == "application/yaml" || type == "application/apply-patch+yaml") {
    auto parsed = json::parse_yaml(
        call.request.body, json::YamlOptions{.max_bytes = kMaxBody, .reject_duplicate_keys = true});
    if (!parsed.ok()) return unreadable(call, parsed.error().message);
    body.value = std::move(parsed).value();
  } else if (type.empty() || type == "application/json" ||
             (type.ends_with("+json") && type.starts_with("application/"))) {
    json::ParseOptions options;
    options.max_bytes = kMaxBody;
    options.duplicates = &body.duplicates;
    auto parsed = json::parse(call.request.body, options);
    if (!parsed.ok()) return unreadable(call, parsed.error().message);
    body.value = std::move(parsed).value();
  } else {
    return make_error(ErrorCode::kUnsupportedMedia,
                      "the body of the request was in an unknown format - accepted media types "
                      "include: application/json, application/yaml, "
                      "application/vnd.kubernetes.protobuf");
  }
  return body;
}

Result<void> read_write_options(Call& call) {
  for (const auto& [key, value] : call.request.query) {
    if (key == "dryRun") {
      if (value != "All")
        return options_error(call, "dryRun",
                             "Unsupported value: [\"" + value + "\"]: supported values: \"All\"");
      call.dry_run = true;
    } else if (key == "fieldManager") {
      if (value.size() > 128)
        return make_error(ErrorCode::kInvalid,
                          "fieldManager: Too long: may not be more than 128 bytes");
      call.field_manager = value;
    } else if (key == "fieldValidation") {
      if (value == "Strict")
        call.validation = Call::Validation::kStrict;
      else if (value == "Ignore")
        call.validation = Call::Validation::kIgnore;
      else if (!value.empty() && value != "Warn")
        return options_error(call, "fieldValidation",
                             "Unsupported value: \"" + value +
                                 "\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"");
    }
  }
  if (call.field_manager.empty()) {
    const std::string_view agent = call.request.headers.get("User-Agent");
    call.field_manager = std::string(agent.substr(0, agent.find('/'))).substr(0, 128);
    if (call.field_manager.empty()) call.field_manager = "unknown";
  }
  return {};
}

Result<void> check_kind(const Call& call, json::Value& object, const Served& expected) {
  if (!object.is_object())
    return make_error(ErrorCode::kBadRequest, "the body is not a JSON object");
  const std::string kind(object.get_string({"kind"}));
  const std::string api_version(object.get_string({"apiVersion"}));
  const std::string wanted(expected.info->kind);
  if (!kind.empty() && kind != wanted) {
    const size_t slash = api_version.find('/');
    const std::string group = slash == std::string::npos ? "" : api_version.substr(0, slash);
    const std::string version =
        slash == std::string::npos ? api_version : api_version.substr(slash + 1);
    const bool known = call.catalog->find_kind(group, version, kind) != nullptr;
    return make_error(
        ErrorCode::kBadRequest,
        kind + " in version \"" + version + "\" cannot be handled as a " + wanted + ": " +
            (known ? "it is of another kind"
                   : "no kind \"" + kind + "\" is registered for version \"" + api_version + "\""));
  }
  if (!api_version.empty() && api_version != expected.api_version)
    return make_error(ErrorCode::kBadRequest, "the API version in the data (" + api_version +
                                                  ") does not match the expected API version (" +
                                                  expected.api_version + ")");
  object["kind"] = expected.info->kind;
  object["apiVersion"] = expected.api_version;
  json::Value& metadata = object["metadata"];
  if (metadata.is_null()) metadata = json::Value::object();
  return {};
}

Result<void> check_shape(const json::Value& object, const Served& as) {
  const schema::ResourceInfo& info = *as.info;
  const json::Value* metadata = object.find("metadata");
  if (metadata == nullptr || !metadata->is_object())
    return make_error(ErrorCode::kBadRequest, "metadata is not a JSON object");
  if (!as.resource->custom())
    return schema::check_types(*info.type, object, info.kind, info.version);
  const schema::Field* field = info.type->field("metadata");
  if (field == nullptr) return {};
  return schema::check_metadata_types(*field->type, *metadata, info.kind, info.version);
}

Result<void> take_in(Call& call, json::Value& object, const Served& as,
                     const std::vector<std::string>& duplicates) {
  const auto& info = *as.info;
  if (!as.resource->custom()) {
    KUEUE_TRY(schema::check_types(*info.type, object, info.kind, info.version));
  } else {
    if (const schema::Field* metadata = info.type->field("metadata"))
      KUEUE_TRY(schema::check_metadata_types(*metadata->type, object["metadata"], info.kind,
                                             info.version));
  }
  schema::drop_nulls(*info.type, object);
  const std::vector<std::string> unknown = schema::prune(*info.type, object);
  if (call.validation != Call::Validation::kIgnore && (!unknown.empty() || !duplicates.empty())) {
    const std::vector<std::string> messages = schema::strict_messages(duplicates, unknown);
    if (call.validation == Call::Validation::kStrict)
      return schema::strict_error(info.kind, info.version, messages);
    for (const std::string& m : messages) call.warn(m);
  }
  fill_in(object, as);
  return {};
}

void tidy_up(json::Value& object, const Served& as) {
  schema::drop_nulls(*as.info->type, object);
  schema::prune(*as.info->type, object);
  fill_in(object, as);
}

json::Value ordered(json::Value object) {
  json::Object out;
  json::Object& in = object.as_object();
  out.reserve(in.size());
  for (const char* first : {"apiVersion", "kind", "metadata"})
    if (json::Value* value = in.find(first)) out.append(first, std::move(*value));
  for (auto& [key, value] : in)
    if (key != "apiVersion" && key != "kind" && key != "metadata")
      out.append(key, std::move(value));
  return json::Value(std::move(out));
}

}  // namespace kueue::apiserver
