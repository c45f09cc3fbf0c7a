// kueue explain workload NAME: what the manager says about one Workload, as text or as it came.
#include <algorithm>
#include <map>

#include "cli/actions.h"
#include "cli/explanation.h"
#include "cli/lint.h"
#include "json/json.h"
#include "json/lists.h"

namespace kueue::cli {
namespace {

std::string workload_path(const std::string& ns, const std::string& name) {
  std::string path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/" + ns + "/workloads";
  return name.empty() ? path : path + "/" + name;
}

// The newest Workload that a job of this kind and name owns.
Result<std::string> workload_of(const Context& context, const ResourceType& type,
                                const std::string& name) {
  KUEUE_ASSIGN(const json::Value list,
               context.cluster.request("GET", workload_path(namespace_of(context), "")));
  const json::Value* newest = nullptr;
  for (const json::Value& one : json::list_at(list, {"items"})) {
    bool owned = false;
    if (const json::Value* meta = one.find("metadata"))
      for (const json::Value& owner : json::list_at(*meta, {"ownerReferences"}))
        owned |= owner.get_string({"kind"}) == type.kind && owner.get_string({"name"}) == name;
    if (!owned) continue;
    if (newest == nullptr || newest->get_string({"metadata", "creationTimestamp"}) <=
                                 one.get_string({"metadata", "creationTimestamp"}))
      newest = &one;
  }
  if (newest == nullptr) return why_no_workload(context, type, name);
  return std::string(newest->get_string({"metadata", "name"}));
}

// Adds which Pods of an admitted Workload have no node, and why. Without the right to list Pods
// nothing is said.
void add_pods_without_node(const Context& context, const json::Value& workload,
                           json::Value& explanation) {
  const json::Value* meta = workload.find("metadata");
  if (meta == nullptr || json::list_at(*meta, {"ownerReferences"}).empty()) return;
  const std::string owner(json::list_at(*meta, {"ownerReferences"})[0].get_string({"uid"}));
  const auto pods =
      context.cluster.request("GET", "/api/v1/namespaces/" + namespace_of(context) + "/pods",
                              {{"fieldSelector", "status.phase=Pending"}});
  if (!pods.ok()) return;
  std::map<std::string, std::vector<std::string>> reasons;  // message -> Pods
  for (const json::Value& pod : json::list_at(*pods, {"items"})) {
    const json::Value* pod_meta = pod.find("metadata");
    bool owned = false;
    if (pod_meta != nullptr)
      for (const json::Value& one : json::list_at(*pod_meta, {"ownerReferences"}))
        owned |= one.get_string({"uid"}) == owner;
    if (const std::string why = why_unscheduled(pod); owned && !why.empty())
      reasons[why].emplace_back(name_of(pod));
  }
  if (reasons.empty()) return;
  json::Array list;
  int64_t total = 0;
  for (auto& [message, names] : reasons) {
    std::sort(names.begin(), names.end());
    const auto count = static_cast<int64_t>(names.size());
    total += count;
    list.push_back(
        json::Value::object({{"message", message}, {"count", count}, {"example", names.front()}}));
  }
  explanation["podsWithoutNode"] =
      json::Value::object({{"count", total}, {"reasons", std::move(list)}});
}

Result<json::Value> explanation(const Context& context, const std::string& type_word,
                                std::string name) {
  KUEUE_ASSIGN(const ResourceType type, context.cluster.find_type(type_word));
  if (type.kind != "Workload") {
    KUEUE_ASSIGN(name, workload_of(context, type, name));
  }
  const std::string ns = namespace_of(context);
  auto found =
      context.cluster.request("GET", "/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/" + ns +
                                         "/workloads/" + name + "/explanation");
  const bool told = found.ok();
  if (!told && found.error().code != ErrorCode::kNotFound &&
      found.error().code != ErrorCode::kUnavailable)
    return found;
  if (told && found->get_string({"state"}) != "Admitted") return found;
  auto workload = context.cluster.request("GET", workload_path(ns, name));
  if (!told) {
    if (!workload.ok()) return workload;
    // Nobody explains it there: no such API, a manager of another kind, or none at all.
    if (!context.explain)
      return make_error(ErrorCode::kUnavailable,
                        "nobody explains it here: that takes a running manager of kueue-cpp with "
                        "its visibility API (feature gate VisibilityOnDemand) behind the API "
                        "server; kueue describe workload shows what the object says");
    found = context.explain(ns, name);
    if (!found.ok()) return found;
    (*found)["explainedBy"] = "this program, from the objects";
  }
  if (workload.ok() && found->get_string({"state"}) == "Admitted")
    add_pods_without_node(context, *workload, *found);
  return found;
}

}  // namespace

bool explains_object(const Arguments& arguments) {
  return arguments.positional().size() > 1 ||
         arguments.positional()[0].find('/') != std::string::npos;
}

int run_explain_object(const Context& context) {
  const std::vector<std::string>& words = context.arguments.positional();
  const size_t slash = words[0].find('/');
  if (slash != std::string::npos && words.size() > 1)
    return usage_error(context.terminal, "explain takes TYPE/NAME or TYPE NAME, not both");
  for (const char* flag : {"recursive", "api-version"})
    if (context.arguments.given(flag))
      return usage_error(context.terminal, "--" + std::string(flag) +
                                               " is about types: kueue explain TYPE[.FIELD..]");
  const std::string type = words[0].substr(0, slash);
  const std::string name = slash == std::string::npos ? words[1] : words[0].substr(slash + 1);
  if (type.empty() || name.empty() || name.find('/') != std::string::npos)
    return usage_error(context.terminal, "\"" + words[0] + "\" is not TYPE/NAME");
  const auto found = explanation(context, type, name);
  if (!found.ok()) return fail(context.terminal, found.error());
  const std::string format = context.arguments.text("output");
  if (format == "json") {
    context.terminal.out(json::write_pretty(*found) + "\n");
  } else if (format == "yaml") {
    context.terminal.out(json::write_yaml(*found));
  } else {
    if (found->find("explainedBy") != nullptr)
      context.terminal.err(
          "No manager answers here, so this is worked out from the objects as they are now; there "
          "is no history.\n");
    context.terminal.out(
        explanation_text(*found, context.terminal.colours(), context.terminal.width()));
  }
  return kOk;
}

}  // namespace kueue::cli
