// Each rule of Kueue's definitions with documents that it accepts and documents that it refuses,
// and the speed of a Workload's rules.
#include <gtest/gtest.h>

#include "api/registry.h"
#include "cel/rules.h"
#include "json/json.h"
#include "json/patch.h"
#include "schema/validate.h"

namespace kueue::cel {
namespace {

json::Value parse(std::string_view text) {
  auto parsed = json::parse(text);
  KUEUE_CHECK(parsed.ok(), std::string(text).c_str());
  return std::move(parsed).value();
}

// The Type of the node at a path of members; "0" steps into a list.
const schema::Type& node_type(const schema::Type& root, std::string_view path) {
  const schema::Type* type = &root;
  while (!path.empty()) {
    size_t dot = path.find('.');
    std::string_view name = path.substr(0, dot);
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
    if (name == "0") {
      type = &*type->element;
    } else {
      const schema::Field* field = type->field(name);
      KUEUE_CHECK(field != nullptr, std::string(name).c_str());
      type = &*field->type;
    }
  }
  return *type;
}

struct Case {
  const char* kind;
  const char* path;  // of the node that has the rule
  const char* self;
  const char* old_self;  // nullptr on create
  const char* message;   // the refusal; "" accepted
};

constexpr const char* kReserved =
    R"("status":{"conditions":[{"type":"QuotaReserved","status":"True"}]})";
constexpr const char* kAdmitted =
    R"("status":{"conditions":[{"type":"Admitted","status":"True"}]})";

std::vector<std::string> judge(const char* kind, const char* path, const json::Value& self,
                               const json::Value* old) {
  const schema::ResourceInfo* resource = api::find_kind("kueue.x-k8s.io", "v1beta2", kind);
  KUEUE_CHECK(resource != nullptr, kind);
  const schema::Type& type = node_type(*resource->type, path);
  auto programs = RulePrograms::compile(type);
  ObjectRules rules(*programs);
  std::vector<ErrorCause> errors;
  schema::Path at;
  rules.evaluate({.type = type, .self = self, .old_self = old, .path = at}, errors);
  std::vector<std::string> out;
  for (const ErrorCause& e : errors) {
    EXPECT_EQ(e.field, "<nil>");  // rules of the node itself, which stands alone here
    out.push_back(e.message);
  }
  return out;
}

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.kind) + " " + c.path + " " + c.self);
    json::Value self = parse(c.self), old;
    if (c.old_self != nullptr) old = parse(c.old_self);
    std::vector<std::string> found =
        judge(c.kind, c.path, self, c.old_self == nullptr ? nullptr : &old);
    std::string message = c.message;
    std::vector<std::string> expected;
    if (!message.empty()) expected.push_back("Invalid value: " + message);
    EXPECT_EQ(found, expected);
  }
}

TEST(KueueRules, QueuesFlavorsTopologies) {
  const char* immutable = "\"b\": field is immutable";
  check({
      {"AdmissionCheck", "spec.controllerName", "\"a\"", "\"a\"", ""},
      {"AdmissionCheck", "spec.controllerName", "\"b\"", "\"a\"", immutable},
      {"AdmissionCheck", "spec.controllerName", "\"b\"", nullptr, ""},
      {"LocalQueue", "spec.clusterQueue", "\"b\"", "\"a\"", immutable},
      {"ClusterQueue", "spec",
       R"({"cohortName":"c","resourceGroups":[{"flavors":[{"resources":[{"borrowingLimit":"1"}]}]}]})",
       nullptr, ""},
      {"ClusterQueue", "spec",
       R"({"resourceGroups":[{"flavors":[{"resources":[{"nominalQuota":"1"}]}]}]})", nullptr, ""},
      {"ClusterQueue", "spec", R"({})", nullptr, ""},
      {"ClusterQueue", "spec",
       R"({"resourceGroups":[{"flavors":[{"resources":[{"borrowingLimit":"1"}]}]}]})", nullptr,
       "borrowingLimit must be nil when cohort is empty"},
      {"ClusterQueue", "spec.flavorFungibility",
       R"({"preference":"x","whenCanBorrow":"TryNextFlavor","whenCanPreempt":"TryNextFlavor"})",
       nullptr, ""},
      {"ClusterQueue", "spec.flavorFungibility",
       R"({"preference":"x","whenCanBorrow":"TryNextFlavor","whenCanPreempt":"MayStopSearch"})",
       nullptr,
       "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor"},
      {"ClusterQueue", "spec.preemption",
       R"({"reclaimWithinCohort":"Any","borrowWithinCohort":{"policy":"LowerPriority"}})", nullptr,
       ""},
      {"ClusterQueue", "spec.preemption",
       R"({"reclaimWithinCohort":"Never","borrowWithinCohort":{"policy":"LowerPriority"}})",
       nullptr, "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"},
      {"ClusterQueue", "spec.resourceGroups.0",
       R"({"coveredResources":["a"],"flavors":[{"resources":[{"name":"a"}]}]})", nullptr, ""},
      {"ClusterQueue", "spec.resourceGroups.0",
       R"({"coveredResources":["a","b"],"flavors":[{"resources":[{"name":"a"}]}]})", nullptr,
       "flavors must have the same number of resources as the coveredResources"},
      {"Cohort", "spec.resourceGroups.0",
       R"({"coveredResources":[],"flavors":[{"resources":[{"name":"a"}]}]})", nullptr,
       "flavors must have the same number of resources as the coveredResources"},
      {"MultiKueueCluster", "spec.clusterSource", R"({"kubeConfig":{"location":"x"}})", nullptr,
       ""},
      {"MultiKueueCluster", "spec.clusterSource", R"({})", nullptr,
       "exactly one of the fields in [kubeConfig clusterProfileRef] must be set"},
      {"MultiKueueConfig", "spec.clusters", R"(["a","b"])", nullptr, ""},
      {"MultiKueueConfig", "spec.clusters", R"(["a","a"])", nullptr, "must be unique"},
      {"ResourceFlavor", "spec", R"({"topologyName":"t","nodeLabels":{"a":"b"}})",
       R"({"topologyName":"t"})", ""},
      {"ResourceFlavor", "spec", R"({"nodeLabels":{}})", R"({"topologyName":"t"})",
       "topologyName is immutable when topologyName is set"},
      {"ResourceFlavor", "spec", R"({"topologyName":"t","nodeLabels":{}})", nullptr,
       "at least one nodeLabel is required when topology is set"},
      {"ResourceFlavor", "spec", R"({"topologyName":"t"})", nullptr,
       "\"object\": no such key: nodeLabels evaluating rule: at least one nodeLabel is required "
       "when topology is set"},
      {"ResourceFlavor", "spec.nodeTaints", R"([{"effect":"NoSchedule"}])", nullptr, ""},
      {"ResourceFlavor", "spec.nodeTaints", R"([{"effect":"Never"}])", nullptr,
       "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"},
      {"Topology", "spec.levels", R"([{"nodeLabel":"a"},{"nodeLabel":"kubernetes.io/hostname"}])",
       R"([{"nodeLabel":"kubernetes.io/hostname"}])", ""},
      {"Topology", "spec.levels", R"([{"nodeLabel":"a"}])", R"([{"nodeLabel":"b"}])",
       "levels are mutable only when kubernetes.io/hostname is the lowest level both before and "
       "after the change"},
      {"Topology", "spec.levels", R"([{"nodeLabel":"a"},{"nodeLabel":"a"}])", nullptr,
       "must be unique"},
      {"Topology", "spec.levels", R"([{"nodeLabel":"kubernetes.io/hostname"},{"nodeLabel":"a"}])",
       nullptr,
       "the kubernetes.io/hostname label can only be used at the lowest level of topology"},
  });
}

TEST(KueueRules, Tolerations) {
  const char* path = "status.admissionChecks.0.podSetUpdates.0.tolerations";
  for (const auto& [kind, at] :
       {std::pair{"ResourceFlavor", "spec.tolerations"}, std::pair{"Workload", path}})
    check({
        {kind, at,
         R"([{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":1}])", nullptr,
         ""},
        {kind, at, R"([{"operator":"Exists"}])", nullptr, ""},
        {kind, at, R"([{"operator":"Equal"}])", nullptr,
         "operator must be Exists when 'key' is empty, which means 'match all values and all "
         "keys'"},
        {kind, at, R"([{"key":"a","effect":"NoSchedule","tolerationSeconds":1}])", nullptr,
         "effect must be 'NoExecute' when 'tolerationSeconds' is set"},
        {kind, at, R"([{"key":"a","operator":"Near"}])", nullptr,
         "supported toleration values: 'Equal'(default), 'Exists'"},
        {kind, at, R"([{"key":"a","operator":"Exists","value":"x"}])", nullptr,
         "a value must be empty when 'operator' is 'Exists'"},
        {kind, at, R"([{"key":"a","effect":"Never"}])", nullptr,
         "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"},
    });
}

TEST(KueueRules, WorkloadParts) {
  const char* pods = "status.admission.podSetAssignments.0.topologyAssignment";
  std::string slice = std::string(pods) + ".slices.0", counts = slice + ".podCounts",
              values = slice + ".valuesPerLevel.0";
  check({
      {"Workload", "spec", R"({"priorityClassRef":{},"priority":1})", nullptr, ""},
      {"Workload", "spec", R"({"priorityClassRef":{}})", nullptr,
       "priority should not be nil when priorityClassRef is set"},
      {"Workload", "spec.podSets.0", R"({"count":2,"minCount":2})", nullptr, ""},
      {"Workload", "spec.podSets.0", R"({"count":2,"minCount":3})", nullptr,
       "minCount should be positive and less or equal to count"},
      {"Workload", "spec.priorityClassRef",
       R"({"group":"scheduling.k8s.io","kind":"PriorityClass"})", nullptr, ""},
      {"Workload", "spec.priorityClassRef", R"({"group":"scheduling.k8s.io","kind":"X"})", nullptr,
       "only the PriorityClass kind is allowed for the scheduling.k8s.io group"},
      {"Workload", "spec.priorityClassRef", R"({"group":"kueue.x-k8s.io","kind":"X"})", nullptr,
       "only the WorkloadPriorityClass kind is allowed for the kueue.x-k8s.io group"},
      {"Workload", "status", R"({"clusterName":"a"})", R"({"clusterName":"a"})", ""},
      {"Workload", "status", R"({"clusterName":"a"})", R"({"clusterName":"b"})",
       "clusterName is immutable once set"},
      {"Workload", "status", R"({"clusterName":"a","nominatedClusterNames":["b"]})", nullptr,
       "clusterName and nominatedClusterNames are mutually exclusive"},
      {"Workload", pods, R"({"levels":["a"],"slices":[{"valuesPerLevel":[{}]}]})", nullptr, ""},
      {"Workload", pods, R"({"levels":["a"],"slices":[{"valuesPerLevel":[]}]})", nullptr,
       "valuesPerLevel must have the same length as the number of levels in this "
       "TopologyAssignment"},
      {"Workload", slice.c_str(),
       R"({"domainCount":2,"podCounts":{"individual":[1,1]},"valuesPerLevel":[{"individual":{"roots":["a","b"]}}]})",
       nullptr, ""},
      {"Workload", slice.c_str(),
       R"({"domainCount":2,"podCounts":{"individual":[1]},"valuesPerLevel":[]})", nullptr,
       "podCounts.individual must have length equal to domainCount"},
      {"Workload", slice.c_str(),
       R"({"domainCount":2,"podCounts":{"universal":1},"valuesPerLevel":[{"individual":{"roots":["a"]}}]})",
       nullptr,
       "valuesPerLevel.individual, if set, must have roots of length equal to domainCount of this "
       "TopologyAssignmentSlice"},
      {"Workload", counts.c_str(), R"({"universal":1})", nullptr, ""},
      {"Workload", counts.c_str(), R"({"universal":1,"individual":[1]})", nullptr,
       "exactly one of the fields in [universal individual] must be set"},
      {"Workload", values.c_str(), R"({})", nullptr,
       "exactly one of the fields in [universal individual] must be set"},
  });
}

TEST(KueueRules, WorkloadTransitions) {
  auto workload = [](std::string spec, std::string status) {
    return "{\"spec\":" + spec + "," + status + "}";
  };
  std::string reserved = kReserved, admitted = kAdmitted, idle = R"("status":{})";
  struct Transition {
    std::string self, old_self, message;
  };
  const std::string ref =
      R"({"podSets":[{}],"priorityClassRef":{"group":"scheduling.k8s.io","kind":"PriorityClass","name":"a"}})";
  const std::string other =
      R"({"podSets":[{}],"priorityClassRef":{"group":"scheduling.k8s.io","kind":"PriorityClass","name":"b"}})";
  const std::string kueue =
      R"({"podSets":[{}],"priorityClassRef":{"group":"kueue.x-k8s.io","kind":"WorkloadPriorityClass","name":"a"}})";
  const std::string kueue_b =
      R"({"podSets":[{}],"priorityClassRef":{"group":"kueue.x-k8s.io","kind":"WorkloadPriorityClass","name":"b"}})";
  const std::string kind =
      R"({"podSets":[{}],"priorityClassRef":{"group":"scheduling.k8s.io","kind":"X","name":"a"}})";
  const std::string group =
      R"({"podSets":[{}],"priorityClassRef":{"group":"x","kind":"WorkloadPriorityClass","name":"a"}})";
  const std::string plain = R"({"podSets":[{}]})", queue_a = R"({"podSets":[{}],"queueName":"a"})",
                    queue_b = R"({"podSets":[{}],"queueName":"b"})",
                    seconds = R"({"podSets":[{}],"maximumExecutionTimeSeconds":5})";
  const Transition cases[] = {
      {workload(ref, reserved), workload(ref, reserved), ""},
      {workload(plain, reserved), workload(ref, reserved),
       "priorityClassRef is immutable while workload quota reserved"},
      {workload(plain, idle), workload(ref, idle), ""},
      {workload(kind, reserved), workload(ref, reserved),
       "priorityClassRef.kind is immutable while workload quota reserved"},
      {workload(group, reserved), workload(kueue, reserved),
       "priorityClassRef.group is immutable while workload quota reserved"},
      {workload(other, reserved), workload(ref, reserved),
       "priorityClassRef.name is immutable for scheduling.k8s.io/priorityclass while workload "
       "quota reserved"},
      {workload(kueue_b, reserved), workload(kueue, reserved), ""},
      {workload(queue_b, reserved), workload(queue_a, reserved),
       "queueName is immutable while workload quota reserved"},
      {workload(plain, reserved), workload(queue_a, reserved),
       "queueName is immutable while workload quota reserved"},
      {workload(queue_b, idle), workload(queue_a, reserved), ""},
      {workload(seconds, admitted), workload(plain, admitted),
       "maximumExecutionTimeSeconds is immutable while workload quota reserved"},
      {workload(seconds, reserved), workload(plain, reserved), ""},
  };
  for (const Transition& c : cases)
    check({{"Workload", "", c.self.c_str(), c.old_self.c_str(), c.message.c_str()}});
  std::string assigned =
      R"({"spec":{"podSets":[{},{}]},"status":{"conditions":[{"type":"QuotaReserved","status":"True"}],
      "admission":{"podSetAssignments":[{}]}}})";
  check({{"Workload", "", assigned.c_str(), nullptr,
          "podSetAssignments must have the same number of podSets as the spec"}});
}

// The whole way through schema::validate: paths, root rules and the budget are put together as an
// API server does.
TEST(KueueRules, ThroughValidation) {
  const schema::ResourceInfo* resource =
      api::find_kind("kueue.x-k8s.io", "v1beta2", "ClusterQueue");
  auto programs = RulePrograms::compile(*resource->type);
  json::Value document =
      parse(R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue","metadata":{"name":"x"},
    "spec":{"resourceGroups":[{"coveredResources":["cpu","memory"],"flavors":[{"name":"f","resources":
    [{"name":"cpu","nominalQuota":"1"}]}]}]}})");
  ObjectRules rules(*programs);
  std::vector<ErrorCause> causes = schema::validate(*resource->type, document, {.rules = &rules});
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].field, "spec.resourceGroups[0]");
  EXPECT_EQ(
      causes[0].message,
      "Invalid value: flavors must have the same number of resources as the coveredResources");
}

TEST(KueueRules, BudgetOfAnObject) {
  schema::Rule rule{.rule = "self.all(x, self.all(y, x == y))", .message = "m"};
  schema::Type item{.kind = schema::Kind::kInt64};
  schema::Type list{.kind = schema::Kind::kList, .element = &item, .rules = {&rule, 1}};
  auto programs = RulePrograms::compile(list);
  json::Array items(300, json::Value(1));
  json::Value self(items);
  schema::Path at;
  {
    ObjectRules rules(
        *programs);  // 300 x 300 x several units per step: one call is within its limit
    std::vector<ErrorCause> errors;
    for (int i = 0; i < 100; ++i) rules.evaluate({.type = list, .self = self, .path = at}, errors);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].message,
              "Invalid value: \"array\": validation failed due to running out of cost budget, no "
              "further validation "
              "rules will be run");
  }
  json::Array many(2000, json::Value(1));
  json::Value large(many);
  ObjectRules rules(*programs);
  std::vector<ErrorCause> errors;
  rules.evaluate({.type = list, .self = large, .path = at}, errors);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].message,
            "Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no "
            "further validation rules "
            "will be run due to call cost exceeds limit for rule: m");
}

}  // namespace
}  // namespace kueue::cel
