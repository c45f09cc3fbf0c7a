// batch/v1 Job as a kind of the job framework: one pod set "main", suspended by spec.suspend.
// behaviour 20.
#pragma once

#include <memory>

#include "base/feature_gates.h"
#include "controllers/jobs/job.h"
#include "kube/executor.h"

namespace kueue::controllers::jobs {

std::unique_ptr<JobKind> make_batch_job_kind(std::shared_ptr<kube::Client> client,
                                             kube::Executor& executor, const FeatureGates& gates);

// Number of indexes in one of two lists such as "0-3,7", or in both, only those below
// `completions`; malformed parts count for nothing.
int64_t ended_indexes(std::string_view completed, std::string_view failed, int64_t completions);

}  // namespace kueue::controllers::jobs
