// Walking up owner references.
#include "webhooks/jobs/owners.h"

#include <algorithm>

#include "webhooks/checks.h"
#include "webhooks/jobs/job_kind.h"
#include "webhooks/names.h"

namespace kueue::webhooks {
namespace {

constexpr OwnerKind kKinds[] = {
    {"batch", "Job", "jobs", "batch/job"},
    {"apps", "Deployment", "deployments", "deployment"},
    {"apps", "ReplicaSet", "replicasets", ""},
    {"apps", "StatefulSet", "statefulsets", "statefulset"},
    {"", "Pod", "pods", "pod"},
    {"jobset.x-k8s.io", "JobSet", "jobsets", "jobset.x-k8s.io/jobset"},
    {"leaderworkerset.x-k8s.io", "LeaderWorkerSet", "leaderworkersets",
     "leaderworkerset.x-k8s.io/leaderworkerset"},
    {"kubeflow.org", "MPIJob", "mpijobs", "kubeflow.org/mpijob"},
    {"kubeflow.org", "PyTorchJob", "pytorchjobs", "kubeflow.org/pytorchjob"},
    {"kubeflow.org", "TFJob", "tfjobs", "kubeflow.org/tfjob"},
    {"kubeflow.org", "PaddleJob", "paddlejobs", "kubeflow.org/paddlejob"},
    {"kubeflow.org", "XGBoostJob", "xgboostjobs", "kubeflow.org/xgboostjob"},
    {"kubeflow.org", "JAXJob", "jaxjobs", "kubeflow.org/jaxjob"},
    {"ray.io", "RayCluster", "rayclusters", "ray.io/raycluster"},
    {"ray.io", "RayJob", "rayjobs", "ray.io/rayjob"},
    {"ray.io", "RayService", "rayservices", "ray.io/rayservice"},
    {"trainer.kubeflow.org", "TrainJob", "trainjobs", "trainer.kubeflow.org/trainjob"},
    {"workload.codeflare.dev", "AppWrapper", "appwrappers", "workload.codeflare.dev/appwrapper"},
    {"sparkoperator.k8s.io", "SparkApplication", "sparkapplications",
     "sparkoperator.k8s.io/sparkapplication"},
};

constexpr size_t kMaxAncestors = 10;

std::string_view group_of(std::string_view api_version) {
  size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

}  // namespace

std::span<const OwnerKind> owner_kinds() { return kKinds; }

const json::Value* controller_of(const json::Value& object) {
  for (const json::Value& owner : list_at(object, {"metadata", "ownerReferences"}))
    if (owner.get_bool({"controller"})) return &owner;
  return nullptr;
}

const OwnerKind* owner_kind(const json::Value& owner) {
  std::string_view group = group_of(owner.get_string({"apiVersion"})),
                   kind = owner.get_string({"kind"});
  for (const OwnerKind& known : kKinds)
    if (known.group == group && known.kind == kind) return &known;
  return nullptr;
}

Result<std::optional<json::Value>> managed_ancestor(const Call& call, const json::Value& object) {
  std::optional<json::Value> top;
  json::Value current = object;
  std::vector<std::string> seen = {std::string(object.get_string({"metadata", "uid"}))};
  for (size_t depth = 0; depth < kMaxAncestors; ++depth) {
    const json::Value* owner = controller_of(current);
    const OwnerKind* kind = owner == nullptr ? nullptr : owner_kind(*owner);
    if (kind == nullptr) return top;
    std::string uid(owner->get_string({"uid"}));
    if (!uid.empty() && std::find(seen.begin(), seen.end(), uid) != seen.end())
      return make_error(ErrorCode::kInternal, "cyclic ownership");
    seen.push_back(uid);
    std::string name(owner->get_string({"name"}));
    KUEUE_ASSIGN(auto parent, call.lookup.get_object(owner->get_string({"apiVersion"}),
                                                     owner->get_string({"kind"}), call.ns, name));
    if (!parent.has_value()) {
      std::string resource(kind->plural);
      if (!kind->group.empty()) resource += '.' + std::string(kind->group);
      return make_error(ErrorCode::kNotFound,
                        "workload owner not found\n" + resource + " \"" + name + "\" not found");
    }
    // A reference that names another object than the one that is there leads nowhere.
    if (uid != parent->get_string({"metadata", "uid"})) return top;
    bool managed =
        !label_of(*parent, kQueueName).empty() || call.settings.manage_jobs_without_queue_name;
    if (managed && !kind->framework.empty()) top = *parent;
    current = std::move(*parent);
  }
  return make_error(ErrorCode::kInternal, "managed owners search depth limit of " +
                                              std::to_string(kMaxAncestors) + " exceeded");
}

}  // namespace kueue::webhooks
