#include "visibility/access.h"

#include <algorithm>

#include "json/json.h"
#include "wire/path.h"
#include "wire/status.h"

namespace kueue::visibility {
namespace {

constexpr Duration kRemember = Duration::seconds(10);
constexpr Duration kTimeout = Duration::seconds(10);
constexpr size_t kRemembered = 4096;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

// A JSON list of strings inside of a string, as the ConfigMap has them.
std::vector<std::string> texts_of(const json::Value& config_map, const char* key) {
  std::vector<std::string> out;
  const auto list = json::parse(config_map.get_string({"data", key}));
  if (!list.ok() || !list->is_array()) return out;
  for (const json::Value& text : list->as_array())
    if (text.is_string()) out.push_back(text.as_string());
  return out;
}

bool is_member(const wire::Identity& user, std::string_view group) {
  return std::find(user.groups.begin(), user.groups.end(), group) != user.groups.end();
}

void add_group(wire::Identity& user, const char* group) {
  if (!is_member(user, group)) user.groups.emplace_back(group);
}

json::Value list_of(const std::vector<std::string>& texts) {
  json::Value list = json::Value::array();
  for (const std::string& text : texts) list.as_array().emplace_back(text);
  return list;
}

}  // namespace

ProxyRules proxy_rules_of(const json::Value& config_map) {
  ProxyRules rules;
  rules.client_ca_pem = config_map.get_string({"data", "client-ca-file"});
  rules.proxy_ca_pem = config_map.get_string({"data", "requestheader-client-ca-file"});
  for (std::string& name : texts_of(config_map, "requestheader-allowed-names"))
    rules.allowed_names.insert(std::move(name));
  rules.user_headers = texts_of(config_map, "requestheader-username-headers");
  rules.group_headers = texts_of(config_map, "requestheader-group-headers");
  rules.extra_prefixes = texts_of(config_map, "requestheader-extra-headers-prefix");
  return rules;
}

wire::Identity user_of_proxy(const wire::Request& request, const ProxyRules& rules) {
  wire::Identity user;
  const std::string& proxy = request.identity.proxy;
  if (proxy.empty()) return user;
  if (!rules.allowed_names.empty() && !rules.allowed_names.contains(proxy)) return user;
  for (const std::string& header : rules.user_headers) {
    if (user.user.empty()) user.user = request.headers.get(header);
  }
  if (user.user.empty()) return user;
  for (const auto& [name, value] : request.headers.all()) {
    const std::string header = lower(name);
    for (const std::string& group : rules.group_headers)
      if (header == lower(group)) user.groups.push_back(value);
    for (const std::string& prefix : rules.extra_prefixes)
      if (header.starts_with(lower(prefix)))
        user.extra[wire::percent_decode(header.substr(prefix.size()), false)].push_back(value);
  }
  return user;
}

Access::Access(std::shared_ptr<wire::Transport> transport, const Clock& clock)
    : transport_(std::move(transport)), clock_(clock) {}

void Access::set_rules(ProxyRules rules) {
  std::lock_guard lock(mutex_);
  rules_ = std::move(rules);
}

ProxyRules Access::rules() const {
  std::lock_guard lock(mutex_);
  return rules_;
}

Result<wire::Identity> Access::authenticate(const wire::Request& request) {
  wire::Identity user = user_of_proxy(request, rules());
  if (user.user.empty() && !request.identity.user.empty()) user = request.identity;
  if (!user.user.empty()) {
    add_group(user,
              user.user == "system:anonymous" ? "system:unauthenticated" : "system:authenticated");
    return user;
  }
  const std::string_view header = request.headers.get("Authorization");
  if (!header.starts_with("Bearer ")) {
    user.user = "system:anonymous";
    user.groups = {"system:unauthenticated"};
    return user;
  }
  KUEUE_ASSIGN(const json::Value status,
               ask("/apis/authentication.k8s.io/v1/tokenreviews", "TokenReview",
                   json::Value::object({{"token", header.substr(7)}})));
  if (!status.get_bool({"authenticated"}))
    return make_error(ErrorCode::kUnauthorized, "Unauthorized");
  user.user = status.get_string({"user", "username"});
  if (const json::Value* groups = status.find_path({"user", "groups"});
      groups && groups->is_array())
    for (const json::Value& group : groups->as_array())
      user.groups.emplace_back(group.string_or(""));
  const json::Value* extra = status.find_path({"user", "extra"});
  if (extra != nullptr && extra->is_object())
    for (const auto& [key, values] : extra->as_object())
      if (values.is_array())
        for (const json::Value& value : values.as_array())
          user.extra[key].emplace_back(value.string_or(""));
  return user;
}

Result<bool> Access::allowed(const wire::Identity& user, const json::Value& attributes) {
  if (is_member(user, "system:masters")) return true;
  json::Value spec = attributes;
  spec["user"] = user.user;
  spec["groups"] = list_of(user.groups);
  for (const auto& [key, values] : user.extra) spec["extra"][key] = list_of(values);
  KUEUE_ASSIGN(const json::Value status, ask("/apis/authorization.k8s.io/v1/subjectaccessreviews",
                                             "SubjectAccessReview", std::move(spec)));
  return status.get_bool({"allowed"});
}

Result<json::Value> Access::ask(const std::string& path, const char* kind, json::Value spec) {
  const std::string key = path + json::write_sorted(spec);
  {
    std::lock_guard lock(mutex_);
    const auto it = known_.find(key);
    if (it != known_.end() && it->second.until > clock_.now()) return it->second.status;
  }
  const std::string group = path.substr(6, path.find('/', 6) - 6);
  wire::Request request;
  request.method = "POST";
  request.path = path;
  request.headers.set("Content-Type", "application/json");
  request.headers.set("Accept", "application/json");
  request.body = json::write(json::Value::object(
      {{"apiVersion", group + "/v1"}, {"kind", kind}, {"spec", std::move(spec)}}));
  KUEUE_ASSIGN(const wire::Response response, transport_->round_trip(request, kTimeout));
  if (response.status < 200 || response.status > 299) return wire::error_from_response(response);
  KUEUE_ASSIGN(const json::Value answer, json::parse(response.body));
  const json::Value* status = answer.find("status");
  json::Value found = status == nullptr ? json::Value::object() : *status;
  std::lock_guard lock(mutex_);
  if (known_.size() >= kRemembered) known_.clear();
  known_[key] = {found, clock_.now() + kRemember};
  return found;
}

}  // namespace kueue::visibility
