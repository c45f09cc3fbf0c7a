#include "controllers/metrics/registry.h"

#include <gtest/gtest.h>

#include <limits>

namespace kueue::controllers::metrics {
namespace {

TEST(MetricsRegistry, WritesFamiliesAndSeriesSorted) {
  Registry registry;
  registry.set_constant_label("replica_role", "standalone");
  Family& pending =
      registry.add({"kueue_pending", Type::kGauge, "waiting", {"cluster_queue", "status"}});
  Family& done = registry.add({"kueue_done_total", Type::kCounter, "a\nb", {}});
  pending.set({"b\"q", "active"}, 2);
  pending.set({"a", "inadmissible"}, std::numeric_limits<double>::infinity());
  done.add({}, 38654705664.0);
  EXPECT_EQ(
      registry.expose(),
      "# HELP kueue_done_total a\\nb\n# TYPE kueue_done_total counter\n"
      "kueue_done_total{replica_role=\"standalone\"} 38654705664\n"
      "# HELP kueue_pending waiting\n# TYPE kueue_pending gauge\n"
      "kueue_pending{cluster_queue=\"a\",replica_role=\"standalone\",status=\"inadmissible\"} "
      "+Inf\n"
      "kueue_pending{cluster_queue=\"b\\\"q\",replica_role=\"standalone\",status=\"active\"} 2\n");
}

TEST(MetricsRegistry, HistogramBucketsAreCumulative) {
  Registry registry;
  Family& wait = registry.add({"w", Type::kHistogram, "h", {"q"}, {1, 2.5}});
  wait.observe({"a"}, 1);
  wait.observe({"a"}, 2);
  wait.observe({"a"}, 7);
  EXPECT_EQ(registry.expose(),
            "# HELP w h\n# TYPE w histogram\nw_bucket{q=\"a\",le=\"1\"} "
            "1\nw_bucket{q=\"a\",le=\"2.5\"} 2\n"
            "w_bucket{q=\"a\",le=\"+Inf\"} 3\nw_sum{q=\"a\"} 10\nw_count{q=\"a\"} 3\n");
  EXPECT_EQ(wait.value({"a"}), 3);
}

TEST(MetricsRegistry, ErasesByPartOfTheLabels) {
  Registry registry;
  Family& family = registry.add({"g", Type::kGauge, "", {"q", "r"}});
  family.set({"a", "cpu"}, 1);
  family.set({"a", "memory"}, 1);
  family.set({"b", "cpu"}, 1);
  EXPECT_EQ(family.erase_matching({{"q", "a"}}), 2u);
  EXPECT_EQ(family.erase_matching({{"nosuch", "a"}}), 0u);
  EXPECT_EQ(family.size(), 1u);
  registry.clear_gauges();
  EXPECT_EQ(registry.expose(), "");
}

}  // namespace
}  // namespace kueue::controllers::metrics
