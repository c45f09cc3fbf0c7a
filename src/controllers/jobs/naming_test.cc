#include "controllers/jobs/naming.h"

#include <gtest/gtest.h>

namespace kueue::controllers::jobs {
namespace {

TEST(WorkloadName, IsKindNameAndHash) {
  const OwnerName job{"Job", "batch", "my-job", "uid-123"};
  EXPECT_EQ(workload_name(job), "job-my-job-cd350");
  EXPECT_EQ(workload_name(job, "100"), "job-my-job-cc2b3");
  EXPECT_EQ(workload_name(job, "1"), "job-my-job-da75e");
}

TEST(WorkloadName, IsCutToTheLimit) {
  const std::string name(300, 'a');
  EXPECT_EQ(workload_name({"Job", "batch", name, "u"}).size(), 253u);
  EXPECT_EQ(workload_name({"Job", "batch", name, "u"}, {}, true).size(), 63u);
}

}  // namespace
}  // namespace kueue::controllers::jobs
