#include "apiserver/admission_match.h"

#include <algorithm>

#include "apiserver/core.h"
#include "apiserver/json_scan.h"

namespace kueue::apiserver {

std::vector<std::string> string_list(const json::Value* list) {
  std::vector<std::string> out;
  if (list != nullptr && list->is_array())
    for (const json::Value& v : list->as_array()) out.emplace_back(v.string_or(""));
  return out;
}

namespace {

bool contains(const std::vector<std::string>& list, std::string_view wanted) {
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& s) { return s == "*" || s == wanted; });
}

// "jobs", "jobs/status", "*", "*/status", "jobs/*", "*/*".
bool resource_fits(const std::vector<std::string>& patterns, std::string_view resource,
                   std::string_view subresource) {
  for (const std::string& p : patterns) {
    const size_t slash = p.find('/');
    const std::string_view head = std::string_view(p).substr(0, slash);
    const std::string_view tail =
        slash == std::string::npos ? std::string_view() : std::string_view(p).substr(slash + 1);
    const bool head_fits = head == "*" || head == resource;
    const bool tail_fits =
        subresource.empty() ? tail.empty() || tail == "*" : tail == "*" || tail == subresource;
    // "*" alone means all resources without their subresources; "*/*" means both.
    if (head_fits && tail_fits) return true;
  }
  return false;
}

wire::LabelMap labels_of(const json::Value* object) {
  wire::LabelMap map;
  const json::Value* labels =
      object == nullptr ? nullptr : object->find_path({"metadata", "labels"});
  if (labels != nullptr && labels->is_object())
    for (const auto& [key, value] : labels->as_object()) map.emplace(key, value.string_or(""));
  return map;
}

std::vector<MatchRule> read_rules(const json::Value* list) {
  std::vector<MatchRule> rules;
  if (list == nullptr || !list->is_array()) return rules;
  for (const json::Value& r : list->as_array())
    rules.push_back({.operations = string_list(r.find("operations")),
                     .groups = string_list(r.find("apiGroups")),
                     .versions = string_list(r.find("apiVersions")),
                     .resources = string_list(r.find("resources")),
                     .names = string_list(r.find("resourceNames")),
                     .scope = std::string(r.get_string({"scope"}, "*"))});
  return rules;
}

// Everything but the version.
bool rule_fits(const MatchRule& rule, const Call& call, std::string_view operation,
               std::string_view subresource) {
  const schema::ResourceInfo& info = *call.served->info;
  if (!contains(rule.operations, operation) || !contains(rule.groups, info.group)) return false;
  if (!resource_fits(rule.resources, info.plural, subresource)) return false;
  if (!rule.names.empty() &&
      std::find(rule.names.begin(), rule.names.end(), call.path.name) == rule.names.end())
    return false;
  const bool namespaced = call.resource().namespaced && call.resource().collection != "/namespaces";
  return rule.scope == "*" || (rule.scope == "Namespaced") == namespaced;
}

bool namespace_fits(const Match& match, const Call& call, const Attempt& attempt) {
  if (match.namespaces.empty()) return true;
  const bool is_namespace = call.resource().collection == "/namespaces";
  if (is_namespace)
    return match.namespaces.matches(labels_of(attempt.object ? attempt.object : attempt.old));
  if (!call.resource().namespaced) return true;
  const StoredPtr stored = call.core->store->get("/namespaces", call.path.namespace_);
  wire::LabelMap map;
  if (stored != nullptr)
    for (Members m(scan_path(stored->bytes, {"metadata", "labels"})); m.next();)
      map.emplace(std::string(m.key()), scan_text(m.value()));
  return match.namespaces.matches(map);
}

bool object_fits(const Match& match, const Attempt& attempt) {
  if (match.objects.empty()) return true;
  return (attempt.object != nullptr && match.objects.matches(labels_of(attempt.object))) ||
         (attempt.old != nullptr && match.objects.matches(labels_of(attempt.old)));
}

json::Value user_info(const wire::Identity& identity) {
  json::Array groups;
  for (const std::string& g : identity.groups) groups.emplace_back(g);
  json::Value user = json::Value::object(
      {{"username", identity.user}, {"groups", json::Value(std::move(groups))}});
  if (!identity.extra.empty()) {
    json::Value& extra = user["extra"];
    extra = json::Value::object();
    for (const auto& [key, values] : identity.extra) {
      json::Array list;
      for (const std::string& v : values) list.emplace_back(v);
      extra[key] = json::Value(std::move(list));
    }
  }
  return user;
}

}  // namespace

json::Value admission_request(const Call& call, const Attempt& attempt, const Served& version,
                              std::string_view uid) {
  const schema::ResourceInfo& info = *version.info;
  const schema::ResourceInfo& asked = *call.served->info;
  const auto kind = [](const schema::ResourceInfo& i) {
    return json::Value::object({{"group", i.group}, {"version", i.version}, {"kind", i.kind}});
  };
  const auto resource = [](const schema::ResourceInfo& i) {
    return json::Value::object(
        {{"group", i.group}, {"version", i.version}, {"resource", i.plural}});
  };
  json::Value request = json::Value::object({{"uid", uid},
                                             {"kind", kind(info)},
                                             {"resource", resource(info)},
                                             {"requestKind", kind(asked)},
                                             {"requestResource", resource(asked)}});
  if (!attempt.subresource.empty()) {
    request["subResource"] = attempt.subresource;
    request["requestSubResource"] = attempt.subresource;
  }
  std::string name = call.path.name;
  const json::Value* named = attempt.object != nullptr ? attempt.object : attempt.old;
  if (name.empty() && named != nullptr) name = named->get_string({"metadata", "name"});
  if (!name.empty()) request["name"] = name;
  std::string namespace_ = call.path.namespace_;
  if (call.resource().collection == "/namespaces") namespace_ = name;
  if (!namespace_.empty()) request["namespace"] = namespace_;
  request["operation"] = attempt.operation;
  request["userInfo"] = user_info(call.request.identity);
  request["object"] = nullptr;
  request["oldObject"] = nullptr;
  request["dryRun"] = call.dry_run;
  if (attempt.options != nullptr) {
    request["options"] = *attempt.options;
  } else {
    json::Value options =
        json::Value::object({{"kind", attempt.operation == "CREATE"    ? "CreateOptions"
                                      : call.request.method == "PATCH" ? "PatchOptions"
                                                                       : "UpdateOptions"},
                             {"apiVersion", "meta.k8s.io/v1"}});
    if (call.dry_run) options["dryRun"] = json::Value::array({"All"});
    if (!call.field_manager.empty()) options["fieldManager"] = call.field_manager;
    request["options"] = std::move(options);
  }
  return request;
}

Match Match::read(const json::Value& source, std::string_view rules_key) {
  Match match;
  match.rules = read_rules(source.find(rules_key));
  match.excluded = read_rules(source.find("excludeResourceRules"));
  const auto selector = [&](std::string_view key) {
    const json::Value* s = source.find(key);
    if (s == nullptr) return wire::LabelSelector();
    auto parsed = wire::LabelSelector::from_object(s);
    return parsed.ok() ? std::move(parsed).value() : wire::LabelSelector::nothing();
  };
  match.namespaces = selector("namespaceSelector");
  match.objects = selector("objectSelector");
  match.equivalent = source.get_string({"matchPolicy"}, "Equivalent") == "Equivalent";
  return match;
}

const Served* Match::version(const Call& call, std::string_view operation,
                             std::string_view subresource) const {
  for (const MatchRule& rule : excluded)
    if (rule_fits(rule, call, operation, subresource) &&
        contains(rule.versions, call.served->info->version))
      return nullptr;
  for (const MatchRule& rule : rules)
    if (rule_fits(rule, call, operation, subresource) &&
        contains(rule.versions, call.served->info->version))
      return call.served;
  if (!equivalent) return nullptr;
  for (const MatchRule& rule : rules)
    if (rule_fits(rule, call, operation, subresource))
      for (const Served& other : call.resource().versions)
        if (other.served && contains(rule.versions, other.info->version)) return &other;
  return nullptr;
}

const Served* Match::fits(const Call& call, const Attempt& attempt) const {
  const Served* served = version(call, attempt.operation, attempt.subresource);
  if (served == nullptr || !namespace_fits(*this, call, attempt) || !object_fits(*this, attempt))
    return nullptr;
  return served;
}

}  // namespace kueue::apiserver
