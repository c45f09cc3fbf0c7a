// The Configuration: the starts of the manager, and our own words. What Kueue's own tests recorded
// is judged by test/vectors.
#include "config/config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/flags.h"
#include "config/yaml_lines.h"
#include "json/json.h"

namespace kueue::config {
namespace {

using json::Value;

std::filesystem::path shared_folder() {
  if (const char* path = std::getenv("KUEUE_SHARED")) return path;
  return KUEUE_SOURCE_DIR "/../shared";
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Every start that tests of others make: flags parse, the Configuration loads and is valid.
TEST(ManagerStarts, AllParse) {
  auto path = shared_folder() / "manager-starts.yaml";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "NO MANAGER STARTS AT " << path;
  auto parsed = json::parse_yaml(read_text(path));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const json::Array& starts = parsed->find("starts")->as_array();
  EXPECT_GE(starts.size(), 184u);
  for (const Value& start : starts) {
    std::vector<std::string> arguments = {"--config=/c", "--kubeconfig=/k",
                                          "--metrics-plain-http=true"};
    for (const Value& flag : start.find("flags")->as_array()) arguments.push_back(flag.as_string());
    // CORE stands for a list in that file.
    for (std::string& argument : arguments)
      for (size_t at; (at = argument.find("CORE")) != std::string::npos;)
        argument.replace(at, 4,
                         argument.starts_with("--webhooks") ? "/convert" : "workload_controller");
    auto options = parse_manager_flags(arguments);
    ASSERT_TRUE(options.ok()) << options.error().message;
    EXPECT_TRUE(options->controllers.has_value() && options->webhooks.has_value());
    EXPECT_TRUE(options->metrics_plain_http);
    Value config =
        Value::object({{"apiVersion", "config.kueue.x-k8s.io/v1beta2"}, {"kind", "Configuration"}});
    for (const char* part : {"common", "configuration"}) {
      const Value* from =
          std::string_view(part) == "common" ? parsed->find(part) : start.find(part);
      if (from == nullptr || !from->is_object()) continue;
      for (const auto& [key, value] : from->as_object()) config[key] = value;
    }
    auto loaded = load(json::write_yaml(config));
    ASSERT_TRUE(loaded.ok()) << loaded.error().message << json::write(config);
    auto gates = effective_gates("", loaded->document);
    ASSERT_TRUE(gates.ok()) << gates.error().message;
    for (const ErrorCause& cause : validate(loaded->document, *gates))
      ADD_FAILURE() << cause.field << ": " << cause.message;
  }
}

TEST(Flags, Table) {
  struct Case {
    std::vector<std::string> arguments;
    const char* error;  // "" accepted
  };
  const Case cases[] = {
      {{}, ""},
      {{"--controllers="}, ""},
      {{"--scheduler=false", "-config", "x"}, ""},
      {{"--zap-log-level=5", "--zap-devel", "--zap-encoder=console"}, ""},
      {{"--schedular=false"}, "unknown flag: --schedular (did you mean --scheduler?)"},
      {{"--xyz"}, "unknown flag: --xyz"},
      {{"--scheduler=maybe"},
       "invalid value \"maybe\" for flag --scheduler: must be true or false"},
      {{"--webhooks=convert"},
       "invalid value \"convert\" for flag --webhooks: path \"convert\" must begin with '/'"},
      {{"--config"}, "flag needs an argument: --config"},
      {{"up"}, "unexpected argument \"up\""},
      {{"--requeue-batch-period=-1s"},
       "invalid value \"-1s\" for flag --requeue-batch-period: must not be negative"},
      {{"--zap-encoder=xml"},
       "invalid value \"xml\" for flag --zap-encoder: must be one of json|console"},
      {{"--zap-log-level=0"},
       "invalid value \"0\" for flag --zap-log-level: must be debug, info, error, panic or a "
       "number from 1 to 127"},
  };
  for (const Case& c : cases) {
    auto options = parse_manager_flags(c.arguments);
    EXPECT_EQ(options.ok() ? "" : options.error().message, c.error);
  }
  const std::vector<std::string> arguments = {"--controllers=a, b,", "--requeue-batch-period=100ms",
                                              "--controllers=c"};
  auto options = parse_manager_flags(arguments);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(*options->controllers, std::vector<std::string>{"c"});
  EXPECT_EQ(options->requeue_batch_period, Duration::millis(100));
  EXPECT_FALSE(options->webhooks.has_value());
  EXPECT_EQ(manager_flags().size(), 20u);
}

TEST(Load, SaysWhatIsWrongAndWhere) {
  struct Case {
    const char* yaml;
    const char* error;
  };
  const Case cases[] = {
      {"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nmetrics:\n  bindAdress: "
       "x\n",
       "strict decoding error: unknown field \"metrics.bindAdress\" (metrics.bindAdress line 4: "
       "did you mean "
       "\"bindAddress\"?)"},
      {"apiVersion: config.kueue.x-k8s.io/v1beta3\nkind: Configuration\n",
       "no kind \"Configuration\" is registered for version \"config.kueue.x-k8s.io/v1beta3\": "
       "expected Configuration of "
       "config.kueue.x-k8s.io/v1beta2"},
      {"kind: Configuration\n", "Object 'apiVersion' is missing in the Configuration"},
      {"[]", "the Configuration must be an object"},
  };
  for (const Case& c : cases) {
    auto loaded = load(c.yaml);
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().message, c.error);
    EXPECT_EQ(loaded.error().code, ErrorCode::kBadRequest);
  }
  EXPECT_FALSE(
      load(
          "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nwebhook:\n  port: abc\n")
          .ok());
  EXPECT_FALSE(load("a: [").ok());
  EXPECT_EQ(load_file("/nonexistent/x").error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(load_file("/").ok());
  ASSERT_TRUE(load("").ok());
  EXPECT_EQ(load("")->configuration.webhook->port, 9443);
}

TEST(Load, OldVersion) {
  auto loaded = load(
      "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\nfairSharing:\n  enable: "
      "true\n");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->warnings.size(), 1u);
  EXPECT_EQ(loaded->configuration.fair_sharing->preemption_strategies.size(), 2u);
  EXPECT_FALSE(loaded->configuration.wait_for_pods_ready.has_value());
  loaded = load(
      "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\nwaitForPodsReady:\n  "
      "enable: true\n");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->configuration.wait_for_pods_ready->timeout, Duration::seconds(300));
  EXPECT_EQ(loaded->configuration.wait_for_pods_ready->block_admission, true);
}

void places(Value& value, std::vector<Value*>* out) {
  out->push_back(&value);
  if (value.is_object())
    for (auto& [key, member] : value.as_object()) places(member, out);
  if (value.is_array())
    for (Value& item : value.as_array()) places(item, out);
}

// Whatever stands anywhere in a Configuration: an error or a value, and validation of what loads.
TEST(Load, JunkAnywhere) {
  auto parsed = json::parse(
      R"({"apiVersion":"config.kueue.x-k8s.io/v1beta2","kind":"Configuration","namespace":"n",
    "managedJobsNamespaceSelector":{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"k","operator":"In","values":["v"]}]},
    "webhook":{"port":1,"certDir":"d"},"metrics":{"bindAddress":"b","customLabels":[{"name":"n","sourceKind":"Workload",
    "sourceLabelKey":"k","trackedValues":["a"]}],"localQueueMetrics":{"localQueueSelector":{"matchLabels":{"a":"b"}}}},
    "leaderElection":{"leaseDuration":"1s"},"controller":{"groupKindConcurrency":{"Job.batch":5}},"tls":{"minVersion":
    "VersionTLS12","cipherSuites":["x"],"curvePreferences":[1]},"internalCertManagement":{"enable":true},
    "waitForPodsReady":{"timeout":"5m","requeuingStrategy":{"timestamp":"Creation","backoffLimitCount":1}},
    "clientConnection":{"qps":1,"burst":2},"integrations":{"frameworks":["pod"],"externalFrameworks":["A.b.c"],
    "labelKeysToCopy":["a"]},"multiKueue":{"gcInterval":"1m","dispatcherName":"kueue.x-k8s.io/multikueue-dispatcher-incremental",
    "incrementalDispatcherConfig":{"stepSize":1},"externalFrameworks":[{"name":"A.b.c"}],"clusterProfile":{"accessProviders":
    [{"name":"n","execConfig":{"command":"c","env":[{"name":"n","value":"v"}]}}]}},"fairSharing":{"preemptionStrategies":["x"]},
    "admissionFairSharing":{"usageHalfLifeTime":"1s","resourceWeights":{"cpu":1.5}},"resources":{"quotaCheckStrategy":"x",
    "excludeResourcePrefixes":["a"],"transformations":[{"input":"i","strategy":"Retain","outputs":{"o":"1"}}],
    "deviceClassMappings":[{"name":"n","deviceClassNames":["c"],"sources":[{"counter":{"name":"n","driver":"d",
    "deviceSelector":{"cel":{"expression":"e"}}}}]}]},"featureGates":{"MultiKueue":true},"objectRetentionPolicies":
    {"workloads":{"afterFinished":"1m"}},"visibilityServer":{"bindAddress":"::","bindPort":1}})");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  Value first = *parsed;
  std::vector<Value*> all;
  places(first, &all);
  const char* junk[] = {"null", "3",      "-1.5",      "true", "\"x\"",      "[]",
                        "{}",   "[null]", "{\"a\":1}", "[[]]", "99999999999"};
  int refused = 0, loads = 0;
  for (size_t i = 0; i < all.size(); ++i)
    for (const char* bad : junk) {
      Value document = *parsed;
      std::vector<Value*> spots;
      places(document, &spots);
      *spots[i] = *json::parse(bad);
      auto loaded = load(json::write(document), "n");
      if (!loaded.ok()) {
        ++refused;
        EXPECT_FALSE(loaded.error().message.empty());
        continue;
      }
      ++loads;
      auto gates = effective_gates("", loaded->document);
      (void)validate(loaded->document, gates.ok() ? *gates : FeatureGates());
    }
  EXPECT_GT(refused, 500);
  EXPECT_GT(loads, 50);
}

TEST(YamlLines, FindsMembers) {
  const char* text =
      "a: 1\nb:\n  c: 2\n  list:\n  - name: x\n    value: y\n  - name: z\n    deep:\n      er: "
      "1\nd:\n  c: 3\n";
  EXPECT_EQ(line_of(text, "a"), 1u);
  EXPECT_EQ(line_of(text, "b.c"), 3u);
  EXPECT_EQ(line_of(text, "d.c"), 11u);
  EXPECT_EQ(line_of(text, "b.list[0].value"), 6u);
  EXPECT_EQ(line_of(text, "b.list[1].name"), 7u);
  EXPECT_EQ(line_of(text, "b.list[1].deep.er"), 9u);
  EXPECT_EQ(line_of(text, "b.x"), 0u);
  EXPECT_EQ(line_of("", "a"), 0u);
}

}  // namespace
}  // namespace kueue::config
