// Why a job has no Workload.
#include "cli/explanation.h"
#include "cli/lease.h"
#include "cli/lint.h"

namespace kueue::cli {
namespace {

constexpr std::string_view kQueueLabel = "kueue.x-k8s.io/queue-name";
constexpr std::string_view kPrebuiltLabel = "kueue.x-k8s.io/prebuilt-workload-name";

std::string label_of(const json::Value& object, std::string_view key) {
  return std::string(object.get_string({"metadata", "labels", key}));
}

// Other namespaces that have such an object: -n is easily forgotten.
std::string elsewhere(const Context& context, const ResourceType& type, const std::string& name) {
  const auto all = context.cluster.request("GET", Cluster::path(type, "", ""),
                                           {{"fieldSelector", "metadata.name=" + name}});
  if (!all.ok()) return "";
  std::vector<std::string> namespaces;
  for (const json::Value& one : json::list_at(*all, {"items"}))
    namespaces.emplace_back(cli::namespace_of(one));
  return namespaces.empty() ? "" : "; there is one in namespace " + some_of(namespaces) + " (-n)";
}

bool ended(const json::Value& job) {
  for (const char* type : {"Complete", "Failed", "SuccessCriteriaMet"}) {
    const json::Value* found = condition_of(job, type);
    if (found != nullptr && found->get_string({"status"}) == "True") return true;
  }
  return false;
}

// Nobody works, or who works cannot be asked.
std::string who_is_missing(const Context& context) {
  const auto lease = context.cluster.request(
      "GET",
      "/apis/coordination.k8s.io/v1/namespaces/kueue-system/leases/" + std::string(kLeaseName));
  if (!lease.ok() && lease.error().code != ErrorCode::kNotFound) return "";
  return leader_problem(lease.ok() ? &*lease : nullptr, system_clock().now());
}

std::string cause(const Context& context, const ResourceType& type, const json::Value& job) {
  const std::string ns = namespace_of(context);
  if (type.kind != "Job" || type.group != "batch")
    return "jobs of kind " + type.kind +
           " are not managed by this program yet (README has the list)";
  for (const json::Value& owner : json::list_at(job, {"metadata", "ownerReferences"}))
    if (owner.get_bool({"controller"}))
      return "it belongs to " + std::string(owner.get_string({"kind"})) + " " +
             std::string(owner.get_string({"name"})) + ", which would have the Workload";
  const std::string prebuilt = label_of(job, kPrebuiltLabel);
  if (!prebuilt.empty())
    return "its label " + std::string(kPrebuiltLabel) + " names the Workload " + prebuilt +
           ", which somebody else has to make";
  const std::string queue = label_of(job, kQueueLabel);
  const bool suspended = job.get_bool({"spec", "suspend"});
  if (queue.empty()) {
    std::string text = "it names no queue: the label " + std::string(kQueueLabel) + " is missing";
    if (ended(job)) return text;
    return text + (suspended ? "; whoever suspended it has to resume it"
                             : ", so it runs without waiting for quota");
  }
  if (ns == "kube-system" || ns == "kueue-system")
    return "namespace " + ns +
           " is not managed (managedJobsNamespaceSelector of the Configuration)";
  if (ended(job)) return "it has ended, and its Workload was deleted since";
  const std::string nobody = who_is_missing(context);
  const std::string running =
      suspended ? "" : "; it runs without quota, as nobody suspended it when it came";
  if (!nobody.empty()) return nobody + running;
  return "the manager has made none yet, or does not manage namespace " + ns +
         " (managedJobsNamespaceSelector), or has other kinds in integrations.frameworks" + running;
}

}  // namespace

Error why_no_workload(const Context& context, const ResourceType& type, const std::string& name) {
  const std::string ns = namespace_of(context);
  const std::string what = type.object_name(name);
  const auto job = context.cluster.request("GET", Cluster::path(type, ns, name));
  if (!job.ok()) {
    if (job.error().code != ErrorCode::kNotFound) return job.error();
    return make_error(ErrorCode::kNotFound, "there is no " + what + " in namespace " + ns +
                                                elsewhere(context, type, name));
  }
  return make_error(ErrorCode::kNotFound, "there is no Workload of " + what + " in namespace " +
                                              ns + ": " + cause(context, type, *job));
}

}  // namespace kueue::cli
