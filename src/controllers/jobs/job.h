// What the job framework must know of a kind of job. One small folder per kind implements these two
// interfaces; the framework does the rest: Workloads, suspension, admission, eviction, completion.
// behaviour 15 and 20.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kueue.h"
#include "base/result.h"
#include "json/value.h"
#include "kube/client.h"
#include "kube/informer.h"

namespace kueue::controllers::jobs {

namespace v1beta2 = api::v1beta2;

// What the pods of one pod set get when the job starts, or had before it did.
struct PodSetInfo {
  std::string name;
  int32_t count = 0;
  schema::Map<std::string> labels;
  schema::Map<std::string> annotations;
  schema::Map<std::string> node_selector;
  std::vector<api::core::Toleration> tolerations;
  std::vector<api::core::PodSchedulingGate> scheduling_gates;
};

struct Completion {
  bool success = true;
  std::string message;
};

// The next write on the way to a stopped job.
struct StopStep {
  enum class Kind : uint8_t {
    kDone,   // the job is stopped and as it was before it started
    kWait,   // the job's own controller must move first; its change brings the next look
    kWrite,  // write `target`
  };
  Kind kind = Kind::kDone;
  json::Value target;   // the document as it should be
  bool status = false;  // write its status instead of the rest
};

// One job object as the cache has it. Immutable.
class Job {
 public:
  virtual ~Job() = default;

  virtual const api::meta::ObjectMeta& metadata() const = 0;
  // The whole object as a document; unknown fields may be missing, they are never written.
  virtual json::Value document() const = 0;

  // Wholly suspended: nothing of a stop is left to do before it may start.
  virtual bool suspended() const = 0;
  // A stop was begun and not ended: it neither runs nor may it start.
  virtual bool stopping() const { return false; }
  // Pods may be running.
  virtual bool active() const = 0;
  virtual std::optional<Completion> finished() const = 0;
  virtual bool pods_ready() const = 0;

  // Pod sets as its Workload should have them. An error is the user's to mend.
  virtual Result<std::vector<v1beta2::PodSet>> pod_sets() const = 0;
  virtual std::vector<v1beta2::ReclaimablePod> reclaimable_pods() const { return {}; }
  // The job's own PriorityClass, "" = look at the pod templates.
  virtual std::string priority_class() const { return ""; }

  // The document with the job unsuspended and `infos` (one per pod set, same order) merged into its
  // templates. kInvalid: it can never start like this.
  virtual Result<json::Value> started(const std::vector<PodSetInfo>& infos) const = 0;
  // The document with nothing but the suspend switch thrown: for children, which have no Workload
  // of their own.
  virtual json::Value suspended_document() const = 0;
  // What to write next to stop the job and bring its templates back to `original` (empty = unknown:
  // they stay).
  virtual StopStep stop(const std::vector<PodSetInfo>& original) const = 0;
  // Its templates hold what a start put in and no stop has taken out since, as when its user
  // suspended it while it ran, and that is other than what a start with `infos` would make of
  // `original` (both one per pod set; no infos: other than anything). Such a job must be stopped
  // before it starts, or before a Workload is made of it.
  virtual bool left_from_start(const std::vector<PodSetInfo>& original,
                               const std::vector<PodSetInfo>& infos) const = 0;
};

// A kind of job. Lives as long as the manager; thread safe.
class JobKind {
 public:
  virtual ~JobKind() = default;
  virtual std::string_view framework() const = 0;   // name in integrations.frameworks: "batch/job"
  virtual std::string_view controller() const = 0;  // name in --controllers: "job"
  virtual const kube::Resource& resource() const = 0;
  virtual kube::InformerCore& store() = 0;
  // Calls `changed` with the key of each job that comes, changes or goes. Before the store starts.
  virtual void watch(std::function<void(const kube::ObjectKey&)> changed) = 0;
  // Of all jobs in the cache.
  virtual std::vector<kube::ObjectKey> keys() const = 0;
  // nullptr when the cache has no such job.
  virtual std::unique_ptr<Job> get(const kube::ObjectKey& key) const = 0;
};

}  // namespace kueue::controllers::jobs
