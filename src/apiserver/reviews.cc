// Kinds that are asked and not kept: token and access reviews, and the old Binding.
#include "apiserver/body.h"
#include "apiserver/core.h"
#include "apiserver/rest.h"
#include "json/json.h"

namespace kueue::apiserver {

namespace {

json::Value list(const std::vector<std::string>& texts) {
  json::Array array;
  for (const std::string& t : texts) array.emplace_back(t);
  return json::Value(std::move(array));
}

json::Value user_of(const wire::Identity& identity) {
  json::Value user = json::Value::object({{"username", identity.user}});
  if (!identity.groups.empty()) user["groups"] = list(identity.groups);
  if (!identity.extra.empty())
    for (const auto& [key, values] : identity.extra) user["extra"][key] = list(values);
  return user;
}

// Everybody who is authenticated may do everything; RBAC objects are kept but not enforced.
json::Value access(std::string_view user) {
  const bool allowed = !user.empty() && user != "system:anonymous";
  json::Value status = json::Value::object({{"allowed", allowed}});
  if (allowed)
    status["reason"] = "this server allows everything to authenticated users; RBAC is not enforced";
  return status;
}

json::Value rules() {
  const json::Value all = json::Value::array({"*"});
  return json::Value::object(
      {{"resourceRules", json::Value::array({json::Value::object(
                             {{"verbs", all}, {"apiGroups", all}, {"resources", all}})})},
       {"nonResourceRules",
        json::Value::array({json::Value::object({{"verbs", all}, {"nonResourceURLs", all}})})},
       {"incomplete", false}});
}

}  // namespace

void rest_review(const CallPtr& call) {
  Core& core = *call->core;
  auto body = read_body(*call);
  if (!body.ok()) return reply_error(*call, body.error());
  json::Value review = std::move(body->value);
  if (const auto fits = check_kind(*call, review, *call->served); !fits.ok())
    return reply_error(*call, fits.error());
  if (const auto fits = check_shape(review, *call->served); !fits.ok())
    return reply_error(*call, fits.error());
  const std::string_view kind = call->served->info->kind;
  const wire::Identity& me = call->request.identity;
  if (kind == "Binding") {
    // POST of a Binding to the collection is the old form of pods/NAME/binding.
    auto binding = std::make_shared<Call>(*call);
    binding->request.body = json::write(review);
    binding->request.headers.set("Content-Type", "application/json");
    binding->path.resource = "pods";
    binding->path.name = review.get_string({"metadata", "name"});
    binding->path.subresource = "binding";
    binding->served = call->catalog->find("", "v1", "pods");
    if (binding->served != nullptr && rest_subresource(binding)) return;
    return reply_error(*call, make_error(ErrorCode::kNotFound,
                                         "the server could not find the requested resource"));
  }
  if (kind == "TokenReview") {
    const wire::Identity identity = core.identity_of_token(review.get_string({"spec", "token"}));
    json::Value status = json::Value::object();
    if (identity.user.empty())
      status["error"] = "invalid bearer token";
    else
      status["authenticated"] = true;
    status["user"] = identity.user.empty() ? json::Value::object() : user_of(identity);
    review["status"] = std::move(status);
  } else if (kind == "SelfSubjectReview") {
    review["metadata"]["creationTimestamp"] = format_time(core.now());
    review["status"] = json::Value::object({{"userInfo", user_of(me)}});
  } else if (kind == "SelfSubjectRulesReview") {
    review["status"] = rules();
  } else if (kind == "SelfSubjectAccessReview") {
    review["status"] = access(me.user);
  } else {
    std::string_view user = review.get_string({"spec", "user"});
    if (user.empty() && review.find_path({"spec", "groups"}) != nullptr) user = "group";
    review["status"] = access(user);
  }
  reply_value(*call, review, 201);
}

}  // namespace kueue::apiserver
