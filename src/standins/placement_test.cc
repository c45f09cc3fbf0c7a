#include "standins/placement.h"

#include <gtest/gtest.h>

#include "json/json.h"
#include "standins/affinity.h"
#include "standins/nodes.h"
#include "standins/pod_life.h"

namespace kueue::standins {
namespace {

json::Value parsed(std::string_view text) {
  Result<json::Value> value = json::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? *value : json::Value();
}

TEST(PodRequests, InitContainersSidecarsAndOverhead) {
  json::Value pod = parsed(R"({"spec":{
    "initContainers":[
      {"name":"side","restartPolicy":"Always","resources":{"requests":{"cpu":"100m"}}},
      {"name":"init","resources":{"requests":{"cpu":"3"}}}],
    "containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}},
                  {"name":"b","resources":{"requests":{"cpu":"500m","memory":"1Gi"}}}],
    "overhead":{"cpu":"50m"}}})");
  Amounts requests = pod_requests(pod);
  EXPECT_EQ(requests["cpu"].to_string(), "3150m");
  EXPECT_EQ(requests["memory"].to_string(), "1Gi");
  EXPECT_EQ(requests["pods"].to_string(), "1");
}

std::map<std::string, NodeState> world(std::string_view spec) {
  std::map<std::string, NodeState> states;
  Result<std::vector<json::Value>> nodes = parse_nodes(spec, Instant{1});
  EXPECT_TRUE(nodes.ok());
  for (const json::Value& node : *nodes) {
    NodeState state;
    state.node = node;
    for (const auto& [name, value] : node.find_path({"status", "allocatable"})->as_object())
      state.allocatable[name] = *api::Quantity::from_json(value);
    states[std::string(node.get_string({"metadata", "name"}))] = std::move(state);
  }
  return states;
}

TEST(ChooseNode, SpreadsAndSaysWhyNot) {
  std::map<std::string, NodeState> states = world("2x4cpu,8Gi");
  json::Value pod = parsed(R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"3"}}}]}})");
  std::string why;
  EXPECT_EQ(choose_node(pod, pod_requests(pod), states, {}, why), "node-1");
  add_amounts(states["node-1"].used, pod_requests(pod));
  EXPECT_EQ(choose_node(pod, pod_requests(pod), states, {}, why), "node-2");
  add_amounts(states["node-2"].used, pod_requests(pod));
  EXPECT_EQ(choose_node(pod, pod_requests(pod), states, {}, why), std::nullopt);
  EXPECT_TRUE(why.starts_with("0/2 nodes are available: 2 Insufficient cpu.")) << why;
}

TEST(ChooseNode, TaintsSelectorsAndAffinity) {
  std::map<std::string, NodeState> states = world("1x4cpu,8Gi");
  states["node-1"].node.at_path({"spec", "taints"}) =
      parsed(R"([{"key":"gpu","value":"yes","effect":"NoSchedule"}])");
  std::string why;
  json::Value plain = parsed(R"({"spec":{"containers":[]}})");
  EXPECT_EQ(choose_node(plain, pod_requests(plain), states, {}, why), std::nullopt);
  EXPECT_TRUE(why.find("untolerated taint(s) {gpu=yes}") != std::string::npos) << why;
  json::Value tolerant = parsed(
      R"({"spec":{"containers":[],"tolerations":[{"key":"gpu","operator":"Exists"}],
          "nodeSelector":{"kubernetes.io/hostname":"node-1"}}})");
  EXPECT_EQ(choose_node(tolerant, pod_requests(tolerant), states, {}, why), "node-1");
  tolerant.at_path({"spec", "nodeSelector", "zone"}) = "a";
  EXPECT_EQ(choose_node(tolerant, pod_requests(tolerant), states, {}, why), std::nullopt);
}

TEST(ChooseNode, AffinityBetweenPods) {
  std::map<std::string, NodeState> states = world("4x4cpu,8Gi");
  for (auto& [name, state] : states)
    state.node.at_path({"metadata", "labels", "rack"}) = name < "node-3" ? "r1" : "r2";
  auto make = [](std::string_view app, std::string_view affinity) {
    return parsed(R"({"metadata":{"namespace":"n","labels":{"app":")" + std::string(app) +
                  R"("}},"spec":{"containers":[],"affinity":)" + std::string(affinity) + "}}");
  };
  constexpr std::string_view kTogether =
      R"({"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
          {"topologyKey":"rack","labelSelector":{"matchLabels":{"app":"a"}}}]}})";
  constexpr std::string_view kApart =
      R"({"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
          {"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"b"}}}]}})";
  std::map<std::string, PlacedPod> placed;
  std::string why;
  auto choose = [&](const json::Value& pod) {
    return choose_node(pod, pod_requests(pod), states, placed, why).value_or("none");
  };
  EXPECT_EQ(choose(make("a", kTogether)), "node-1") << "the first of the group starts anywhere";
  EXPECT_EQ(choose(make("c", kTogether)), "none");
  EXPECT_EQ(why,
            "0/4 nodes are available: 4 node(s) didn't match pod affinity rules. no new claims to "
            "deallocate, preemption: 0/4 nodes are available: 4 Preemption is not helpful for "
            "scheduling.");
  placed["1"] = placed_pod(make("a", kTogether), "node-3");
  EXPECT_EQ(choose(make("c", kTogether)), "node-3");
  placed["2"] = placed_pod(make("b", kApart), "node-1");
  EXPECT_EQ(choose(make("b", kApart)), "node-2");
  EXPECT_EQ(choose(make("b", "{}")), "node-2") << "those that run keep others away too";
  EXPECT_EQ(choose(make("d", "{}")), "node-1");
  json::Value elsewhere = make("b", "{}");
  elsewhere.at_path({"metadata", "namespace"}) = "m";
  EXPECT_EQ(choose(elsewhere), "node-1");
  for (int i = 2; i <= 4; ++i)
    placed["p" + std::to_string(i)] = placed_pod(make("b", "{}"), "node-" + std::to_string(i));
  EXPECT_EQ(choose(make("b", kApart)), "none");
  EXPECT_TRUE(why.starts_with(
      "0/4 nodes are available: 4 node(s) didn't match pod anti-affinity rules. no new claims to "
      "deallocate, preemption: 0/4 nodes are available: 4 No preemption victims found for "
      "incoming pod."))
      << why;
}

TEST(ParseNodes, TextsAndErrors) {
  EXPECT_EQ(parse_nodes("4x8cpu,32Gi", Instant{1})->size(), 4u);
  EXPECT_EQ(parse_nodes("1x8cpu,32Gi+2x64cpu,256Gi,nvidia.com/gpu=8", Instant{1})->size(), 3u);
  EXPECT_EQ(parse_nodes("none", Instant{1})->size(), 0u);
  for (std::string_view bad : {"8cpu", "x8cpu,1Gi", "0x8cpu,1Gi", "4x8cpu", "4x8cpu,32Gb",
                               "4x8cpu,1Gi,1Gi", "20000x1cpu,1Gi"}) {
    Result<std::vector<json::Value>> result = parse_nodes(bad, Instant{1});
    ASSERT_FALSE(result.ok()) << bad;
    EXPECT_TRUE(result.error().message.starts_with("--nodes: ")) << result.error().message;
  }
}

TEST(PodLife, TimesAndExitCodes) {
  struct Case {
    const char* container;
    std::optional<Duration> run_for;
    int exit_code;
  };
  const Case cases[] = {
      {R"({"command":["sleep","2"]})", Duration::seconds(2), 0},
      {R"({"command":["sh","-c","echo hi; sleep 1m && exit 3"]})", Duration::seconds(60), 3},
      {R"({"args":["sleep","0.5"]})", Duration::millis(500), 0},
      {R"({"command":["sleep","infinity"]})", std::nullopt, 0},
      {R"({"args":["pause"]})", std::nullopt, 0},
      {R"({"args":["entrypoint-tester","hello"]})", kDefaultRun, 0},
  };
  for (const Case& each : cases) {
    json::Value pod = parsed(R"({"spec":{"restartPolicy":"Never","containers":[)" +
                             std::string(each.container) + "]}}");
    PodLife life = pod_life(pod);
    EXPECT_EQ(life.run_for, each.run_for) << each.container;
    EXPECT_EQ(life.exit_code, each.exit_code) << each.container;
  }
  json::Value told = parsed(
      R"({"metadata":{"annotations":{"kueue-cpp.dev/run-for":"90s","kueue-cpp.dev/exit-code":"7"}},
          "spec":{"containers":[{"command":["sleep","1"]}]}})");
  EXPECT_EQ(pod_life(told).run_for, Duration::seconds(90));
  EXPECT_EQ(pod_life(told).exit_code, 7);
}

}  // namespace
}  // namespace kueue::standins
