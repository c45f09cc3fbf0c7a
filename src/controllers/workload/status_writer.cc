#include "controllers/workload/status_writer.h"

#include <algorithm>
#include <array>

#include "controllers/names.h"
#include "json/patch.h"
#include "schema/codec.h"

namespace kueue::controllers {
namespace {

constexpr int kAttempts = 5;

constexpr std::array<std::string_view, 11> kOwnedConditions = {
    kQuotaReserved,     kBlockedOnPreemptionGates, kEvicted,  kAdmitted,  kPreempted,
    kRequeued,          kDeactivationTarget,       kFinished, kPodsReady, kTerminationOverdue,
    kPreemptionOverdue,
};
constexpr std::array<std::string_view, 10> kOwnedFields = {
    "admission",
    "requeueState",
    "resourceRequests",
    "admissionChecks",
    "accumulatedPastExecutionTimeSeconds",
    "schedulingStats",
    "preemptionGates",
    "clusterName",
    "nominatedClusterNames",
    "unhealthyNodes",
};

kube::Resource workloads() { return kube::Resource::of(v1beta2::Workload::resource()); }

Result<WorkloadPointer> decode(const json::Value& document) {
  auto decoded = schema::decode<v1beta2::Workload>(document);
  if (!decoded.ok()) return std::move(decoded).error();
  return WorkloadPointer(std::make_shared<const v1beta2::Workload>(std::move(decoded).value()));
}

}  // namespace

json::Value status_apply_document(const v1beta2::Workload& workload) {
  json::Value document = json::Value::object(
      {{"apiVersion", kube::Resource::of(v1beta2::Workload::resource()).api_version()},
       {"kind", "Workload"},
       {"metadata",
        json::Value::object({{"name", workload.metadata.name},
                             {"namespace", workload.metadata.namespace_},
                             {"uid", workload.metadata.uid},
                             {"resourceVersion", workload.metadata.resource_version}})}});
  json::Value full = schema::encode(workload.status);
  json::Value& status = document["status"];
  status = json::Value::object();
  for (std::string_view field : kOwnedFields) {
    json::Value* value = full.find(field);
    // An object that is applied empty where it had members of ours becomes null in Kubernetes'
    // merge, which then refuses its own result.
    if (value == nullptr || (value->is_object() && value->as_object().empty())) continue;
    status[field] = std::move(*value);
  }
  json::Array conditions;
  if (json::Value* all = full.find("conditions")) {
    for (json::Value& condition : all->as_array()) {
      const std::string_view type = condition.get_string({"type"});
      if (std::find(kOwnedConditions.begin(), kOwnedConditions.end(), type) !=
          kOwnedConditions.end())
        conditions.push_back(std::move(condition));
    }
  }
  if (!conditions.empty()) status["conditions"] = std::move(conditions);
  return document;
}

Result<WorkloadPointer> newest_workload(Context& context, const kube::ObjectKey& key, bool live) {
  if (!live) {
    if (WorkloadPointer cached = context.stores->workloads.get(key)) return cached;
    return make_error(ErrorCode::kNotFound, "workload " + key.to_string() + " not found");
  }
  KUEUE_ASSIGN(json::Value document, context.client->get(workloads(), key));
  context.stores->workloads.absorb(document);
  return decode(document);
}

Result<WorkloadPointer> write_status(Context& context, const v1beta2::Workload& before,
                                     const v1beta2::Workload& changed) {
  const kube::ObjectKey key{changed.metadata.namespace_, changed.metadata.name};
  kube::WriteOptions options;
  options.subresource = "status";
  json::Value body;
  kube::PatchType type = kube::PatchType::kApply;
  if (context.gates().on(Gate::kWorkloadRequestUseMergePatch)) {
    type = kube::PatchType::kMerge;
    body["metadata"] =
        json::Value::object({{"resourceVersion", changed.metadata.resource_version}});
    body["status"] =
        json::make_merge_patch(schema::encode(before.status), schema::encode(changed.status));
  } else {
    options.field_manager = kAdmissionManager;
    options.force = true;
    body = status_apply_document(changed);
  }
  KUEUE_ASSIGN(json::Value document, context.client->patch(workloads(), key, type, body, options));
  context.stores->workloads.absorb(document);
  return decode(document);
}

Result<void> apply_status_field(const Context& context, const v1beta2::Workload& workload,
                                std::string_view manager, std::string_view field,
                                json::Value value) {
  json::Value document = json::Value::object(
      {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
       {"kind", "Workload"},
       {"metadata", json::Value::object({{"name", workload.metadata.name},
                                         {"namespace", workload.metadata.namespace_},
                                         {"uid", workload.metadata.uid}})}});
  document["status"] = json::Value::object({});
  if (!value.is_null()) document.at_path({"status", field}) = std::move(value);
  kube::WriteOptions options;
  options.field_manager = std::string(manager);
  options.force = true;
  options.subresource = "status";
  auto written =
      context.client->patch(workloads(), {workload.metadata.namespace_, workload.metadata.name},
                            kube::PatchType::kApply, document, options);
  if (!written.ok())
    return written.error().code == ErrorCode::kNotFound ? Result<void>() : written.error();
  context.stores->workloads.absorb(*written);
  return {};
}

Result<WorkloadPointer> edit_status(Context& context, const kube::ObjectKey& key,
                                    std::string_view uid,
                                    const std::function<StatusEdit(v1beta2::Workload&)>& edit) {
  Error last = make_error(ErrorCode::kConflict, "workload " + key.to_string() + " keeps changing");
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Result<WorkloadPointer> current = newest_workload(context, key, attempt > 0);
    if (!current.ok()) {
      if (current.error().code == ErrorCode::kNotFound) return WorkloadPointer();
      return current;
    }
    if (!uid.empty() && (*current)->metadata.uid != uid) return WorkloadPointer();
    v1beta2::Workload copy = **current;
    switch (edit(copy)) {
      case StatusEdit::kObsolete:
        return WorkloadPointer();
      case StatusEdit::kUnchanged:
        return current;
      case StatusEdit::kWrite:
        break;
    }
    Result<WorkloadPointer> written = write_status(context, **current, copy);
    if (written.ok()) return written;
    if (written.error().code == ErrorCode::kNotFound) return WorkloadPointer();
    if (written.error().code != ErrorCode::kConflict) return written;
    last = written.error();
  }
  return last;
}

}  // namespace kueue::controllers
