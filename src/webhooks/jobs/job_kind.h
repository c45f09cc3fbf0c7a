// What the rules for jobs need to know of a kind, and the rules themselves. A new kind is one file
// with a JobKind and a Hook (jobs/batch_job.cc shows how), and a line in hooks.cc. Pure but for
// Lookup; thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "webhooks/hook.h"

namespace kueue::webhooks {

// One template of a job.
struct PodSetView {
  std::string name;
  std::string metadata_field;             // "spec.template.metadata"
  const json::Value* metadata = nullptr;  // of the template; may be null
  std::optional<int64_t> count;
};

struct JobKind {
  std::string_view group, version, kind;
  bool prebuilt_workloads = true;  // may run as a prebuilt Workload
  bool elastic = false;            // may be an elastic job
};

// True for jobs that are to run as slices.
bool is_elastic(const Call& call, const json::Value& object);

// Defaults, in Kueue's order.
// The queue label "default", where that LocalQueue exists and no owner is managed.
void default_queue(const Call& call, json::Value& object);
// The priority class label "default", where that class exists and no owner is managed.
void default_priority_class(const Call& call, json::Value& object);
// Whether Kueue is to hold the job. kNotFound when an owner that could be managed is missing.
Result<bool> should_suspend(const Call& call, const json::Value& object,
                            std::vector<std::string>& warnings);
// The value of spec.managedBy to set; "" when it stays.
std::string_view default_managed_by(const Call& call, const json::Value& object,
                                    std::string_view current, std::string_view own_controller);
// The topmost owner that Kueue manages; nullopt when there is none.
Result<std::optional<json::Value>> managed_ancestor(const Call& call, const json::Value& object);

// Rules for creations and, with suspended (the new object is), updates.
void check_job_create(const Call& call, const JobKind& kind, schema::FieldErrors& errors);
void check_job_update(const Call& call, bool suspended, bool was_suspended,
                      schema::FieldErrors& errors);
// Groups of pod sets: exactly two, one of them a single pod, that ask for the same topology.
void check_pod_set_groups(const Call& call, const std::vector<PodSetView>& pod_sets,
                          schema::FieldErrors& errors);
// Topology annotations of templates, each for itself.
void check_topology(const Call& call, const std::vector<PodSetView>& pod_sets,
                    schema::FieldErrors& errors);

}  // namespace kueue::webhooks
