// create, update and patch.
#include "apiserver/body.h"
#include "apiserver/core.h"
#include "apiserver/managed.h"
#include "apiserver/rest.h"
#include "apiserver/traits.h"
#include "apiserver/write.h"
#include "json/json.h"
#include "json/patch.h"
#include "schema/merge.h"

namespace kueue::apiserver {

namespace {

// Reads options and body; nullopt after an error was replied.
std::optional<Body> begin(const CallPtr& call) {
  if (const auto options = read_write_options(*call); !options.ok()) {
    reply_error(*call, options.error());
    return std::nullopt;
  }
  auto body = read_body(*call);
  if (!body.ok()) {
    reply_error(*call, body.error());
    return std::nullopt;
  }
  call->request.body = std::string();
  return std::move(body).value();
}

std::string patch_type(std::string_view content_type) {
  std::string type(content_type.substr(0, content_type.find(';')));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  return type;
}

Result<json::Value> apply_patch(const Call& call, std::string_view type, const json::Value& current,
                                const json::Value& patch) {
  if (type == "application/json-patch+json") {
    auto patched = json::apply_json_patch(current, patch);
    if (patched.ok() || patched.error().code != ErrorCode::kInvalid) return patched;
    // Kubernetes' words, and behind them what it does not tell: which operation, where, and why.
    return make_error(ErrorCode::kInvalid,
                      "the server rejected our request due to an error in our request: " +
                          patched.error().message);
  }
  if (type == "application/merge-patch+json") {
    if (!patch.is_object())
      return make_error(ErrorCode::kBadRequest,
                        std::string("error decoding patch: json: cannot unmarshal ") +
                            (patch.is_array()    ? "array"
                             : patch.is_string() ? "string"
                                                 : "number") +
                            " into Go value of type map[string]interface {}");
    return json::apply_merge_patch(current, patch);
  }
  return schema::strategic_merge(*call.served->info->type, current, patch);
}

}  // namespace

void rest_create(const CallPtr& call) {
  auto body = begin(call);
  if (!body) return;
  json::Value object = std::move(body->value);
  Result<void> taken = check_kind(*call, object, *call->served);
  if (taken.ok()) taken = take_in(*call, object, *call->served, body->duplicates);
  if (!taken.ok()) return reply_error(*call, taken.error());
  run_write(call, "CREATE", [call, object = std::move(object)]() mutable {
    create_object(call, std::move(object));
  });
}

void rest_update(const CallPtr& call) {
  auto body = begin(call);
  if (!body) return;
  auto object = std::make_shared<json::Value>(std::move(body->value));
  if (const auto fits = check_kind(*call, *object, *call->served); !fits.ok())
    return reply_error(*call, fits.error());
  Update update;
  update.subresource = call->path.subresource;
  update.duplicates = std::move(body->duplicates);
  update.change = [object](const json::Value&) -> Result<json::Value> { return *object; };
  if (call->resource().traits->create_on_update && call->path.subresource.empty())
    update.create = [object]() -> Result<json::Value> {
      json::Value fresh = *object;
      fresh.erase_path({"metadata", "resourceVersion"});
      return fresh;
    };
  run_write(call, "UPDATE", [call, update = std::move(update)]() mutable {
    update_object(call, std::move(update));
  });
}

namespace {

void apply_now(const CallPtr& call, std::shared_ptr<const json::Value> patch, bool force) {
  Update update;
  update.subresource = call->path.subresource;
  update.applied = true;
  const std::string subresource = call->path.subresource;
  update.change = [call, patch, force, subresource](const json::Value& current) {
    return apply(*call, subresource, &current, *patch, force);
  };
  if (subresource.empty())
    update.create = [call, patch, force]() { return apply(*call, "", nullptr, *patch, force); };
  update_object(call, std::move(update));
}

void rest_apply(const CallPtr& call) {
  if (call->request.query_value("fieldManager").empty()) {
    Error error = make_error(
        ErrorCode::kInvalid,
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for "
        "apply patch");
    error.group = "meta.k8s.io";
    error.kind = "PatchOptions";
    error.causes.push_back({.reason = "FieldValueRequired",
                            .message = "Required value: is required for apply patch",
                            .field = "fieldManager"});
    return reply_error(*call, error);
  }
  auto body = begin(call);
  if (!body) return;
  auto patch = std::make_shared<json::Value>(std::move(body->value));
  if (!patch->is_object())
    return reply_error(*call, make_error(ErrorCode::kBadRequest,
                                         "error decoding YAML: the patch is not an object"));
  if (patch->get_string({"apiVersion"}).empty() || patch->get_string({"kind"}).empty())
    return reply_error(
        *call,
        make_error(ErrorCode::kBadRequest,
                   "invalid object type: apiVersion and kind are required in an apply patch"));
  if (const auto fits = check_kind(*call, *patch, *call->served); !fits.ok())
    return reply_error(*call, fits.error());
  const json::Value* managed = patch->find_path({"metadata", "managedFields"});
  if (managed != nullptr && !managed->is_null())
    return reply_error(*call,
                       make_error(ErrorCode::kBadRequest, "metadata.managedFields must be nil"));
  const std::string_view force = call->request.query_value("force");
  run_write(call, "UPDATE", [call, patch, force = force == "true" || force == "1"] {
    apply_now(call, patch, force);
  });
}

}  // namespace

void rest_patch(const CallPtr& call) {
  const std::string type = patch_type(call->request.headers.get("Content-Type"));
  if (type == "application/apply-patch+yaml") return rest_apply(call);
  const bool strategic = type == "application/strategic-merge-patch+json";
  if ((strategic && call->resource().custom()) ||
      (!strategic && type != "application/json-patch+json" &&
       type != "application/merge-patch+json"))
    return reply_error(
        *call, make_error(ErrorCode::kUnsupportedMedia,
                          // Servers of built-in and of custom kinds differ in their words.
                          call->resource().custom()
                              ? "the body of the request was in an unknown format - accepted media "
                                "types include: application/json-patch+json, "
                                "application/merge-patch+json, application/apply-patch+yaml"
                              : "415: Unsupported Media Type"));
  auto body = begin(call);
  if (!body) return;
  auto patch = std::make_shared<json::Value>(std::move(body->value));
  Update update;
  update.subresource = call->path.subresource;
  update.duplicates = std::move(body->duplicates);
  update.change = [call, patch, type](const json::Value& current) {
    return apply_patch(*call, type, current, *patch);
  };
  run_write(call, "UPDATE", [call, update = std::move(update)]() mutable {
    update_object(call, std::move(update));
  });
}

}  // namespace kueue::apiserver
