// Webhooks: what Kueue sets and refuses when objects are written, beyond what tables and rules of
// the definitions say. A Hook serves one kind; it works on documents, so that fields we do not know
// are never lost. Hooks are immutable and thread safe; what they ask of the cluster goes through
// Lookup, which must be thread safe too.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/feature_gates.h"
#include "base/result.h"
#include "json/value.h"
#include "schema/field_errors.h"
#include "wire/selector.h"

namespace kueue::webhooks {

// What hooks ask of the cluster: the manager answers from its caches.
class Lookup {
 public:
  virtual ~Lookup() = default;
  virtual bool local_queue_exists(std::string_view ns, std::string_view name) = 0;
  // The LocalQueue leads to a ClusterQueue with an admission check of MultiKueue.
  virtual bool uses_multikueue(std::string_view ns, std::string_view local_queue) = 0;
  virtual bool workload_priority_class_exists(std::string_view name) = 0;
  // nullopt when there is no such namespace.
  virtual std::optional<wire::LabelMap> namespace_labels(std::string_view name) = 0;
  // An object by kind, to follow owner references. nullopt when there is none. Errors: the API
  // could not be asked.
  virtual Result<std::optional<json::Value>> get_object(std::string_view api_version,
                                                        std::string_view kind, std::string_view ns,
                                                        std::string_view name) = 0;
};

struct Settings {
  FeatureGates gates;
  bool manage_jobs_without_queue_name = false;
  wire::LabelSelector managed_jobs_namespace_selector;
  std::set<std::string, std::less<>> frameworks = {"batch/job"};
};

enum class Operation : uint8_t { kCreate, kUpdate, kDelete, kConnect };

// One admission request, as a hook sees it.
struct Call {
  Operation operation = Operation::kCreate;
  const json::Value& object;
  const json::Value* old_object = nullptr;  // updates
  std::string_view subresource = {};
  std::string_view ns = {};
  const Settings& settings;
  Lookup& lookup;
};

class Hook {
 public:
  virtual ~Hook() = default;
  // Changes `object`, which begins as call.object. Warnings go to the user. An error ends the
  // request with that error.
  virtual Result<void> mutate(const Call& call, json::Value& object,
                              std::vector<std::string>& warnings) const;
  virtual void validate(const Call& call, schema::FieldErrors& errors,
                        std::vector<std::string>& warnings) const;
};

// What a hook serves and when, for routing and for the webhook configurations.
struct HookInfo {
  std::string_view name;   // "clusterqueue": in mclusterqueue.kb.io
  std::string_view group;  // "" = core
  std::string_view version;
  std::string_view resource;  // plural
  bool mutates = true;
  bool mutates_updates = false;  // also UPDATE
  bool validates = true;
  bool validates_status = false;    // also resource/status
  bool limits_namespaces = false;   // not in kube-system and Kueue's own namespace
  std::string_view framework = {};  // of a job kind: "batch/job"; "" = always on
  const Hook& (*hook)() = nullptr;
};

// All kinds that have hooks, in the order of Kueue's configurations.
std::span<const HookInfo> all_hooks();
// "/mutate-batch-v1-job".
std::string mutate_path(const HookInfo& info);
std::string validate_path(const HookInfo& info);

// The hooks, one per file.
const Hook& cluster_queue_hook();
const Hook& cohort_hook();
const Hook& resource_flavor_hook();
const Hook& workload_hook();
const Hook& batch_job_hook();

}  // namespace kueue::webhooks
