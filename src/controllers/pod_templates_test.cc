#include "controllers/pod_templates.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "json/json.h"
#include "schema/codec.h"

namespace kueue::controllers {
namespace {

json::Value document(int number, const std::string& image, const std::string& more = "") {
  return json::parse(
             R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"w-)" +
             std::to_string(number) +
             R"("},"spec":{"queueName":"q","podSets":[{"name":"main","count":2,"template":{"spec":{
                     "containers":[{"name":"c","image":")" +
             image + R"("}]}}})" + more + "]}}")
      .value();
}

api::v1beta2::Workload decode(PodTemplates& pool, json::Value from) {
  api::v1beta2::Workload workload;
  const Result<void> decoded = pool.decode(from, workload);
  EXPECT_TRUE(decoded.ok());
  return workload;
}

TEST(PodTemplates, GiveWhatTheCodecGives) {
  PodTemplates pool;
  const std::string second =
      R"(,{"name":"other","template":{"spec":{"restartPolicy":"Never"}}},{"name":"bare"})";
  for (int i = 0; i < 3; ++i) {
    const json::Value from = document(i, "busybox", second);
    EXPECT_EQ(decode(pool, from), schema::decode<api::v1beta2::Workload>(from).value());
  }
  EXPECT_EQ(pool.size(), 2u);  // busybox and the second
}

TEST(PodTemplates, EqualOnesAreOneAndAnEditStaysPrivate) {
  PodTemplates pool;
  auto first = decode(pool, document(1, "a"));
  auto second = decode(pool, document(2, "a"));
  const auto other = decode(pool, document(3, "b"));
  EXPECT_TRUE(first.spec.pod_sets[0].template_.same(second.spec.pod_sets[0].template_));
  EXPECT_FALSE(first.spec.pod_sets[0].template_.same(other.spec.pod_sets[0].template_));
  second.spec.pod_sets[0].template_.edit().spec.containers[0].image = "c";
  EXPECT_EQ(first.spec.pod_sets[0].template_.open()->spec.containers[0].image, "a");
  const auto fourth = decode(pool, document(4, "a"));
  EXPECT_EQ(fourth.spec.pod_sets[0].template_.open()->spec.containers[0].image, "a");
}

TEST(PodTemplates, WhatNobodyUsesGoesAway) {
  PodTemplates pool;
  const auto kept = decode(pool, document(0, "kept"));
  for (int i = 0; i < 5000; ++i) decode(pool, document(i, "image-" + std::to_string(i)));
  EXPECT_LT(pool.size(), 600u);
  const auto again = decode(pool, document(1, "kept"));
  EXPECT_TRUE(again.spec.pod_sets[0].template_.same(kept.spec.pod_sets[0].template_));
}

TEST(PodTemplates, FoldedOnesAreEqualToWhatTheyWere) {
  PodTemplates pool;
  std::vector<api::v1beta2::Workload> workloads;
  for (int i = 0; i < 2000; ++i)
    workloads.push_back(decode(pool, document(i, "image-" + std::to_string(i))));
  std::weak_ptr<const api::core::PodTemplateSpec> first =
      workloads[0].spec.pod_sets[0].template_.open();
  for (int i = 0; i < 2000; ++i)
    EXPECT_EQ(
        workloads[static_cast<size_t>(i)],
        schema::decode<api::v1beta2::Workload>(document(i, "image-" + std::to_string(i))).value());
  EXPECT_TRUE(first.expired()) << "those that were opened long ago are folded";
}

TEST(PodTemplates, ErrorsNameTheField) {
  PodTemplates pool;
  json::Value wrong = document(1, "a", R"(,{"name":"b","template":{"spec":{"containers":7}}})");
  api::v1beta2::Workload workload;
  const Result<void> decoded = pool.decode(wrong, workload);
  ASSERT_FALSE(decoded.ok());
  ASSERT_FALSE(decoded.error().causes.empty());
  EXPECT_EQ(decoded.error().causes[0].field, "spec.podSets[1].template.spec.containers");
  EXPECT_EQ(pool.size(), 0u);
}

}  // namespace
}  // namespace kueue::controllers
