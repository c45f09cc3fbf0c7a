// The table of hooks.
#include "webhooks/hook.h"

namespace kueue::webhooks {
namespace {

constexpr std::string_view kKueue = "kueue.x-k8s.io";

constexpr HookInfo kHooks[] = {
    {.name = "clusterqueue",
     .group = kKueue,
     .version = "v1beta2",
     .resource = "clusterqueues",
     .hook = cluster_queue_hook},
    {.name = "cohort",
     .group = kKueue,
     .version = "v1beta2",
     .resource = "cohorts",
     .mutates = false,
     .hook = cohort_hook},
    {.name = "resourceflavor",
     .group = kKueue,
     .version = "v1beta2",
     .resource = "resourceflavors",
     .hook = resource_flavor_hook},
    {.name = "workload",
     .group = kKueue,
     .version = "v1beta2",
     .resource = "workloads",
     .validates_status = true,
     .hook = workload_hook},
    {.name = "job",
     .group = "batch",
     .version = "v1",
     .resource = "jobs",
     .limits_namespaces = true,
     .framework = "batch/job",
     .hook = batch_job_hook},
};

std::string path_of(std::string_view verb, const HookInfo& info) {
  std::string group(info.group);
  for (char& c : group)
    if (c == '.') c = '-';
  return '/' + std::string(verb) + '-' + group + '-' + std::string(info.version) + '-' +
         std::string(info.name);
}

}  // namespace

std::span<const HookInfo> all_hooks() { return kHooks; }
std::string mutate_path(const HookInfo& info) { return path_of("mutate", info); }
std::string validate_path(const HookInfo& info) { return path_of("validate", info); }

Result<void> Hook::mutate(const Call&, json::Value&, std::vector<std::string>&) const { return {}; }
void Hook::validate(const Call&, schema::FieldErrors&, std::vector<std::string>&) const {}

}  // namespace kueue::webhooks
