// Who may do what: the manager exactly what its controllers do, people what their role needs.
#include <set>
#include <string>

#include "install/objects.h"
#include "webhooks/hook.h"
#include "webhooks/jobs/owners.h"

namespace kueue::install {
namespace {

using json::Value;
using Texts = std::vector<std::string>;

constexpr std::string_view kGroup = "kueue.x-k8s.io";
constexpr std::string_view kRbac = "rbac.authorization.k8s.io";
constexpr std::string_view kVisibility = "visibility.kueue.x-k8s.io";
constexpr std::string_view kBatchAdmin = "rbac.kueue.x-k8s.io/batch-admin";
constexpr std::string_view kBatchUser = "rbac.kueue.x-k8s.io/batch-user";
constexpr const char* kServiceAccount = "kueue-controller-manager";
constexpr const char* kNamespace = "${NAMESPACE}";

struct Right {
  std::string group;
  Texts resources;
  Texts verbs;
  Texts names = {};
};

const Texts kRead = {"get", "list", "watch"};

// Of the manager, cluster wide, besides those of job kinds.
std::vector<Right> manager_rights() {
  std::vector<Right> rights = {
      {"", {"limitranges", "namespaces"}, kRead},
      // Failure recovery: Pods on lost nodes are ended.
      {"", {"nodes"}, {"get"}},
      {"", {"pods"}, {"delete", "get", "list", "watch"}},
      {"", {"pods/status"}, {"patch"}},
      {"node.k8s.io", {"runtimeclasses"}, kRead},
      {"scheduling.k8s.io", {"priorityclasses"}, kRead},
      {"events.k8s.io", {"events"}, {"create", "patch"}},
      // Finalizers: an apply patch, hence create is not needed.
      {std::string(kGroup),
       {"admissionchecks", "clusterqueues", "resourceflavors", "topologies"},
       {"get", "list", "patch", "update", "watch"}},
      {std::string(kGroup), {"cohorts", "localqueues", "workloadpriorityclasses"}, kRead},
      {std::string(kGroup),
       {"workloads"},
       {"create", "delete", "get", "list", "patch", "update", "watch"}},
      {std::string(kGroup),
       {"admissionchecks/status", "clusterqueues/status", "cohorts/status", "localqueues/status",
        "workloads/status"},
       {"get", "patch", "update"}},
      // Where OwnerReferencesPermissionEnforcement is on.
      {std::string(kGroup), {"workloads/finalizers"}, {"update"}},
      // The authority of own certificates goes into these.
      {"admissionregistration.k8s.io",
       {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"},
       {"get", "list", "watch"}},
      {"admissionregistration.k8s.io",
       {"mutatingwebhookconfigurations"},
       {"update"},
       {"kueue-mutating-webhook-configuration"}},
      {"admissionregistration.k8s.io",
       {"validatingwebhookconfigurations"},
       {"update"},
       {"kueue-validating-webhook-configuration"}},
      {"apiregistration.k8s.io", {"apiservices"}, {"get", "list", "watch"}},
      {"apiregistration.k8s.io",
       {"apiservices"},
       {"update"},
       {"v1beta1.visibility.kueue.x-k8s.io", "v1beta2.visibility.kueue.x-k8s.io"}},
      {"apiextensions.k8s.io",
       {"customresourcedefinitions"},
       {"get", "list", "update", "watch"},
       {"clusterqueues.kueue.x-k8s.io", "cohorts.kueue.x-k8s.io", "localqueues.kueue.x-k8s.io",
        "multikueueclusters.kueue.x-k8s.io", "workloads.kueue.x-k8s.io"}},
  };
  return rights;
}

// Of the manager on job kinds: those it has controllers for, and to look at their owners.
std::vector<Right> job_rights() {
  std::vector<Right> rights;
  std::set<std::string_view> managed;
  for (const webhooks::HookInfo& hook : webhooks::all_hooks()) {
    if (hook.framework.empty()) continue;
    managed.insert(hook.framework);
    const std::string group(hook.group), resource(hook.resource);
    rights.push_back({group, {resource}, {"delete", "get", "list", "patch", "update", "watch"}});
    rights.push_back({group, {resource + "/status"}, {"get", "patch", "update"}});
    rights.push_back({group, {resource + "/finalizers"}, {"get", "update"}});
  }
  for (const webhooks::OwnerKind& kind : webhooks::owner_kinds())
    if (!managed.contains(kind.framework))
      rights.push_back({std::string(kind.group), {std::string(kind.plural)}, {"get"}});
  return rights;
}

Value list_of(const Texts& texts) {
  Value list = Value::array();
  for (const std::string& text : texts) list.as_array().emplace_back(text);
  return list;
}

Value rule(const Right& right) {
  Value rule = Value::object({{"apiGroups", list_of({right.group})},
                              {"resources", list_of(right.resources)},
                              {"verbs", list_of(right.verbs)}});
  if (!right.names.empty()) rule["resourceNames"] = list_of(right.names);
  return rule;
}

Value role(const char* kind, const std::string& name, const std::vector<Right>& rights) {
  Value rules = Value::array();
  for (const Right& right : rights) rules.as_array().push_back(rule(right));
  Value out =
      Value::object({{"apiVersion", std::string(kRbac) + "/v1"},
                     {"kind", kind},
                     {"metadata", Value::object({{"name", name}, {"labels", common_labels()}})}});
  if (std::string_view(kind) == "Role") out["metadata"]["namespace"] = kNamespace;
  out["rules"] = std::move(rules);
  return out;
}

// To the manager's service account. `in` "" makes a ClusterRoleBinding.
Value binding(const char* role_kind, const std::string& role, const std::string& name,
              const std::string& in = {}) {
  Value out = Value::object(
      {{"apiVersion", std::string(kRbac) + "/v1"},
       {"kind", in.empty() ? "ClusterRoleBinding" : "RoleBinding"},
       {"metadata", Value::object({{"name", name}, {"labels", common_labels()}})},
       {"roleRef", Value::object({{"apiGroup", kRbac}, {"kind", role_kind}, {"name", role}})},
       {"subjects", Value::array({Value::object({{"kind", "ServiceAccount"},
                                                 {"name", kServiceAccount},
                                                 {"namespace", kNamespace}})})}});
  if (!in.empty()) out["metadata"]["namespace"] = in;
  return out;
}

// Roles that people get by name or through batch-admin and batch-user.
struct PeopleKind {
  std::string_view singular, group, plural;
  bool user_views = false, user_edits = false;
};

constexpr PeopleKind kPeopleKinds[] = {
    {"admissioncheck", kGroup, "admissionchecks"},
    {"clusterqueue", kGroup, "clusterqueues"},
    {"cohort", kGroup, "cohorts"},
    {"localqueue", kGroup, "localqueues", true},
    {"multikueuecluster", kGroup, "multikueueclusters"},
    {"multikueueconfig", kGroup, "multikueueconfigs"},
    {"provisioningrequestconfig", kGroup, "provisioningrequestconfigs"},
    {"resourceflavor", kGroup, "resourceflavors"},
    {"topology", kGroup, "topologies"},
    {"workload", kGroup, "workloads", true},
    {"workloadpriorityclass", kGroup, "workloadpriorityclasses", true},
    {"appwrapper", "workload.codeflare.dev", "appwrappers", true, true},
    {"jaxjob", "kubeflow.org", "jaxjobs", true, true},
    {"job", "batch", "jobs", true, true},
    {"jobset", "jobset.x-k8s.io", "jobsets", true, true},
    {"leaderworkerset", "leaderworkerset.x-k8s.io", "leaderworkersets", true, true},
    {"mpijob", "kubeflow.org", "mpijobs", true, true},
    {"paddlejob", "kubeflow.org", "paddlejobs", true, true},
    {"pytorchjob", "kubeflow.org", "pytorchjobs", true, true},
    {"raycluster", "ray.io", "rayclusters", true, true},
    {"rayjob", "ray.io", "rayjobs", true, true},
    {"rayservice", "ray.io", "rayservices", true, true},
    {"sparkapplication", "sparkoperator.k8s.io", "sparkapplications", true, true},
    {"tfjob", "kubeflow.org", "tfjobs", true, true},
    {"trainjob", "trainer.kubeflow.org", "trainjobs", true, true},
    {"xgboostjob", "kubeflow.org", "xgboostjobs", true, true},
};

Value people_role(const std::string& name, const std::vector<Right>& rights, bool user) {
  Value out = role("ClusterRole", name, rights);
  out["metadata"]["labels"][kBatchAdmin] = "true";
  if (user) out["metadata"]["labels"][kBatchUser] = "true";
  return out;
}

void add_people_roles(std::vector<Value>& out) {
  for (const auto& [name, label] : {std::pair{"kueue-batch-admin-role", kBatchAdmin},
                                    std::pair{"kueue-batch-user-role", kBatchUser}}) {
    Value aggregated = role("ClusterRole", name, {});
    aggregated["aggregationRule"] = Value::object(
        {{"clusterRoleSelectors",
          Value::array({Value::object({{"matchLabels", Value::object({{label, "true"}})}})})}});
    // Filled in by the cluster; to name them would be to own them.
    aggregated.erase_path({"rules"});
    out.push_back(std::move(aggregated));
  }
  for (const PeopleKind& kind : kPeopleKinds) {
    const std::string prefix = "kueue-" + std::string(kind.singular);
    const std::string group(kind.group), plural(kind.plural);
    out.push_back(people_role(
        prefix + "-editor-role",
        {{group, {plural}, {"create", "delete", "get", "list", "patch", "update", "watch"}},
         {group, {plural + "/status"}, {"get"}}},
        kind.user_edits));
    out.push_back(people_role(prefix + "-viewer-role",
                              {{group, {plural}, kRead}, {group, {plural + "/status"}, {"get"}}},
                              kind.user_views));
  }
  out.push_back(people_role(
      "kueue-pending-workloads-cq-viewer-role",
      {{std::string(kVisibility), {"clusterqueues/pendingworkloads"}, {"get", "list", "watch"}}},
      false));
  out.push_back(people_role(
      "kueue-pending-workloads-lq-viewer-role",
      {{std::string(kVisibility), {"localqueues/pendingworkloads"}, {"get", "list", "watch"}}},
      true));
  // Ours. It names other people's Workloads: those that hold quota, go before or are preempted.
  out.push_back(people_role("kueue-workload-explanation-viewer-role",
                            {{std::string(kVisibility), {"workloads/explanation"}, {"get"}}},
                            true));
}

}  // namespace

std::vector<Value> rbac_objects() {
  std::vector<Value> out;
  out.push_back(Value::object({{"apiVersion", "v1"},
                               {"kind", "ServiceAccount"},
                               {"metadata", Value::object({{"name", kServiceAccount},
                                                           {"namespace", kNamespace},
                                                           {"labels", common_labels()}})}}));
  std::vector<Right> rights = manager_rights();
  for (Right& right : job_rights()) rights.push_back(std::move(right));
  out.push_back(role("ClusterRole", "kueue-manager-role", rights));
  out.push_back(binding("ClusterRole", "kueue-manager-role", "kueue-manager-rolebinding"));
  // Who asks for metrics or pending workloads: their tokens and rights are looked up.
  out.push_back(role("ClusterRole", "kueue-metrics-auth-role",
                     {{"authentication.k8s.io", {"tokenreviews"}, {"create"}},
                      {"authorization.k8s.io", {"subjectaccessreviews"}, {"create"}}}));
  out.push_back(
      binding("ClusterRole", "kueue-metrics-auth-role", "kueue-metrics-auth-rolebinding"));
  Value reader = role("ClusterRole", "kueue-metrics-reader", {});
  reader["rules"] = Value::array({Value::object(
      {{"nonResourceURLs", Value::array({"/metrics"})}, {"verbs", Value::array({"get"})}})});
  out.push_back(std::move(reader));
  out.push_back(role("Role", "kueue-leader-election-role",
                     {{"coordination.k8s.io", {"leases"}, {"create", "get", "update"}}}));
  out.push_back(binding("Role", "kueue-leader-election-role", "kueue-leader-election-rolebinding",
                        kNamespace));
  out.push_back(
      role("Role", "kueue-manager-secrets-role",
           {{"", {"secrets"}, {"create"}},
            {"", {"secrets"}, {"get", "list", "update", "watch"}, {"kueue-webhook-server-cert"}}}));
  out.push_back(binding("Role", "kueue-manager-secrets-role", "kueue-manager-secrets-rolebinding",
                        kNamespace));
  add_people_roles(out);
  return out;
}

}  // namespace kueue::install
