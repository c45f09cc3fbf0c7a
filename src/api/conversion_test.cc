// Conversion of our kinds, and packing of topology assignments, against recorded cases and both
// ways.
#include "api/conversion.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "api/topology_assignment.h"
#include "json/json.h"
#include "schema/codec.h"

namespace kueue::api {
namespace {

using json::Value;

std::filesystem::path vectors() {
  const char* env = std::getenv("KUEUE_SHARED");
  const std::filesystem::path shared =
      env != nullptr ? std::filesystem::path(env)
                     : std::filesystem::path(KUEUE_SOURCE_DIR) / ".." / "shared";
  return shared / "vectors" / "tables";
}

Value read(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  Result<Value> value = json::parse(text.str());
  EXPECT_TRUE(value.ok()) << path;
  return value.ok() ? *value : Value();
}

Value parse(std::string_view text) {
  Result<Value> value = json::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? *value : Value();
}

// Missing, null, empty list and empty object are the same in the recorded cases.
Value without_empties(const Value& value) {
  if (value.is_array()) {
    json::Array out;
    for (const Value& item : value.as_array()) out.push_back(without_empties(item));
    return out;
  }
  if (!value.is_object()) return value;
  json::Object out;
  for (const auto& [key, member] : value.as_object()) {
    Value inner = without_empties(member);
    const bool empty = inner.is_null() || (inner.is_array() && inner.as_array().empty()) ||
                       (inner.is_object() && inner.as_object().empty());
    if (!empty) out.set(key, std::move(inner));
  }
  return out;
}

constexpr const char* kWorkload =
    R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"w"},
  "spec":{"podSets":[{"name":"main","topologyRequest":{"required":"rack"}}],
          "priorityClassRef":{"group":"kueue.x-k8s.io","kind":"WorkloadPriorityClass","name":"p"}},
  "status":{"admission":{"clusterQueue":"cq","podSetAssignments":[{"name":"main","topologyAssignment":{
    "levels":["rack","kubernetes.io/hostname"],
    "slices":[{"domainCount":3,"podCounts":{"individual":[1,2,1]},
               "valuesPerLevel":[{"universal":"r1"},{"individual":{"prefix":"n-","roots":["1","2","3"]}}]}]}}]}}})";

TEST(Conversion, WorkloadTopologyBothWays) {
  const Value v2 = parse(kWorkload);
  Result<Value> v1 = convert_kueue(v2, "v1beta1");
  ASSERT_TRUE(v1.ok()) << v1.error().message;
  const Value& assignment =
      v1->find_path({"status", "admission", "podSetAssignments"})->as_array()[0];
  EXPECT_EQ(*assignment.find("topologyAssignment"),
            parse(R"({"levels":["rack","kubernetes.io/hostname"],"domains":[
      {"count":1,"values":["r1","n-1"]},{"count":2,"values":["r1","n-2"]},{"count":1,"values":["r1","n-3"]}]})"));
  Result<Value> again = convert_kueue(*v1, "v1beta2");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, v2);
}

TEST(Conversion, Lists) {
  Value list = parse(
      R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueueList","metadata":{},"items":[
      {"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueue","spec":{"cohort":"c"}}]})");
  Result<Value> out = convert_kueue(list, "v1beta2");
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->find("items")->as_array()[0].get_string({"spec", "cohortName"}), "c");
}

TEST(Conversion, RefusesWhatItDoesNotKnow) {
  EXPECT_FALSE(convert_kueue(parse(R"({"apiVersion":"batch/v1","kind":"Job"})"), "v1beta2").ok());
  EXPECT_FALSE(
      convert_kueue(parse(R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"Nothing"})"), "v1beta2")
          .ok());
  EXPECT_FALSE(
      convert_kueue(parse(R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"Cohort"})"), "v2")
          .ok());
  EXPECT_FALSE(convert_kueue(parse("[]"), "v1beta2").ok());
  EXPECT_FALSE(
      convert_kueue(
          parse(R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","status":{"admission":{
      "podSetAssignments":[{"topologyAssignment":{"levels":["a"],"slices":[{"domainCount":2000000000,
      "podCounts":{"universal":1},"valuesPerLevel":[{"universal":"x"}]}]}}]}}})"),
          "v1beta1")
          .ok());
}

std::vector<TopologyDomain> domains_of(const Value& internal) {
  std::vector<TopologyDomain> domains;
  const Value* list = internal.find("domains");
  if (list == nullptr || !list->is_array()) return domains;
  for (const Value& item : list->as_array()) {
    TopologyDomain& domain = domains.emplace_back();
    domain.count = static_cast<int32_t>(item.get_int({"count"}));
    for (const Value& value : item.find("values")->as_array())
      domain.values.push_back(value.as_string());
  }
  return domains;
}

void check_topology_step(const std::string& id, const Value& step, bool by_prefix,
                         size_t& checked) {
  const std::string call(step.get_string({"call"}));
  const Value* in = step.find_path({"args", "ta"});
  const Value* result = step.find_path({"expect", "result"});
  if (in == nullptr || !in->is_object() || result == nullptr || !result->is_object()) return;
  if (call == "tas.V1Beta2From" || call == "tas.singleCompactTopologyAssignmentEncoding") {
    auto levels = schema::decode<std::vector<std::string>>(*in->find("levels"));
    const bool prefix = by_prefix && call == "tas.V1Beta2From";
    const Value ours = schema::encode(pack_topology(*levels, domains_of(*in), prefix));
    EXPECT_EQ(without_empties(ours), without_empties(*result)) << id << " " << call;
    ++checked;
  } else if (call == "tas.InternalFrom") {
    auto packed = schema::decode<v1beta2::TopologyAssignment>(*in);
    ASSERT_TRUE(packed.ok()) << id;
    Result<std::vector<TopologyDomain>> domains = unpack_topology(*packed);
    ASSERT_TRUE(domains.ok()) << id << domains.error().message;
    EXPECT_EQ(*domains, domains_of(*result)) << id;
    ++checked;
  }
}

TEST(TopologyAssignment, RecordedCases) {
  const std::filesystem::path folder = vectors() / "util-tas";
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << "SKIPPED: no vectors at " << folder << " (set KUEUE_SHARED)";
  size_t checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const Value file = read(entry.path());
    for (const Value& c : file.find("cases")->as_array()) {
      const std::string id(c.get_string({"id"}));
      const bool by_prefix =
          c.get_bool({"featureGates", "TASAssignmentsEncodingByHostnamePrefix"}, true);
      if (const Value* steps = c.find("steps")) {
        for (const Value& step : steps->as_array())
          check_topology_step(id, step, by_prefix, checked);
      } else {
        Value step = *c.find("input");
        step["expect"] = *c.find("expect");
        check_topology_step(id, step, by_prefix, checked);
      }
    }
  }
  EXPECT_GT(checked, 15u);
}

TEST(TopologyAssignment, PrefixRunsWhereShorter) {
  std::vector<TopologyDomain> domains;
  for (int i = 0; i < 200; ++i)
    domains.push_back(
        {{"pool-" + std::string(i < 100 ? "a" : "b") + "-node-" + std::to_string(10000 + i)}, 1});
  v1beta2::TopologyAssignment packed = pack_topology({"kubernetes.io/hostname"}, domains);
  EXPECT_EQ(packed.slices.size(), 2u);
  EXPECT_EQ(packed.slices[0].values_per_level[0].individual->prefix, "pool-a-node-100");
  EXPECT_EQ(*unpack_topology(packed), domains);
  EXPECT_EQ(pack_topology({"kubernetes.io/hostname"}, domains, false).slices.size(), 1u);
  EXPECT_EQ(pack_topology({"rack"}, domains).slices.size(), 1u);
}

TEST(TopologyAssignment, AlternatingPrefixesBackOff) {
  std::vector<TopologyDomain> domains;
  for (int i = 0; i < 1500; ++i)
    domains.push_back({{std::string(i % 2 ? "a-y-" : "a-x-") + std::to_string(10000 + i)}, 1});
  v1beta2::TopologyAssignment packed = pack_topology({"kubernetes.io/hostname"}, domains);
  EXPECT_EQ(packed.slices.size(), 1u);
  EXPECT_EQ(*unpack_topology(packed), domains);
}

TEST(TopologyAssignment, LongAssignmentsAreChunked) {
  std::vector<TopologyDomain> domains(100'001, {{"x"}, 1});
  v1beta2::TopologyAssignment packed = pack_topology({"rack"}, domains, false);
  ASSERT_EQ(packed.slices.size(), 2u);
  EXPECT_EQ(packed.slices[1].domain_count, 1);
}

}  // namespace
}  // namespace kueue::api
