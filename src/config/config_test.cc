// The Configuration: the starts of the manager, and our own words. What Kueue's own tests recorded
// is judged by test/vectors.
#include "config/config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "api/registry.h"
#include "config/flags.h"
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

std::vector<std::string> texts_of(const std::vector<Fault>& faults) {
  std::vector<std::string> out;
  for (const Fault& fault : faults)
    out.push_back(std::to_string(fault.line) + " " + fault.field + ": " + fault.message);
  return out;
}

constexpr const char* kHead = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";

// Shape, values and gates in one go, in our words, each with its line.
TEST(Check, SaysEverythingAtOnce) {
  const std::string text = std::string(kHead) +
                           "metrics:\n  bindAdress: x\n"
                           "webhook: {port: \"9443\"}\n"
                           "leaderElection: yes\n"
                           "waitForPodsReady:\n  timeout: 5 minutes\n  blockAdmission: 1\n"
                           "integrations:\n  frameworks: [batch/job, podd, 7]\n"
                           "multiKueue:\n  gcInterval: -1s\n"
                           "featureGates:\n  NoSuchGate: true\n"
                           "resources:\n  transformations:\n  - input: a/b\n    strategy: Keep\n"
                           "    outputs: {a/c: lots}\n";
  const std::vector<std::string> wanted = {
      "4 metrics.bindAdress: unknown field; did you mean \"bindAddress\"?",
      "5 webhook.port: must be a whole number, not the text \"9443\"; write it without quotes",
      "6 leaderElection: must be an object (fields below it), not true",
      "8 waitForPodsReady.timeout: must be a time such as 30s, 5m or 1h30m, not the text \"5 "
      "minutes\"",
      "9 waitForPodsReady.blockAdmission: must be true or false, not the number 1",
      "11 integrations.frameworks[2]: must be a text, not the number 7; write it in quotes",
      "13 multiKueue.gcInterval: Invalid value: \"-1s\": must be greater than or equal to 0",
      "20 resources.transformations[0].outputs.a/c: must be a quantity such as 500m, 2 or 4Gi, not "
      "the text \"lots\"",
  };
  const std::vector<std::string> found = texts_of(check(text).faults);
  for (const std::string& one : wanted)
    EXPECT_NE(std::find(found.begin(), found.end(), one), found.end())
        << one << "\n"
        << ::testing::PrintToString(found);
  const auto has = [&](std::string_view start) {
    return std::any_of(found.begin(), found.end(),
                       [&](const std::string& one) { return one.starts_with(start); });
  };
  EXPECT_TRUE(has("11 integrations.frameworks[1]: Unsupported value: \"podd\""));
  EXPECT_TRUE(has("15 featureGates.NoSuchGate: "));
  EXPECT_TRUE(has("19 resources.transformations[0].strategy: Unsupported value: \"Keep\""));
  EXPECT_EQ(found.size(), wanted.size() + 3) << ::testing::PrintToString(found);
}

TEST(Check, HeadersAndText) {
  EXPECT_EQ(texts_of(check("metrics: {bind: x}\n").faults),
            (std::vector<std::string>{"0 apiVersion: Object 'apiVersion' is missing in the "
                                      "Configuration",
                                      "0 kind: Object 'Kind' is missing in the Configuration",
                                      "1 metrics.bind: unknown field"}));
  EXPECT_EQ(check("apiVersion: v1\nkind: ConfigMap\ndata: {}\n").faults.size(), 1u);
  EXPECT_EQ(check("a: [").faults.size(), 1u);
  EXPECT_EQ(check("[]").faults.size(), 1u);
  EXPECT_TRUE(check("").empty);
  EXPECT_TRUE(check("# nothing\n---\n").empty);
  EXPECT_FALSE(check(kHead).empty);
  EXPECT_TRUE(check(kHead).faults.empty());
  const Checked extensions =
      check(std::string(kHead) +
            "---\napiVersion: config.kueue-cpp.dev/v1alpha1\nkind: Extensions\nbound: 1\n");
  ASSERT_EQ(extensions.faults.size(), 1u);
  EXPECT_TRUE(extensions.faults[0].message.starts_with("Extensions: bound: unknown field"));
}

// Whatever is asked for and is not there is named; the Configuration stays valid.
TEST(Check, NamesWhatIsNotBuilt) {
  std::string text = std::string(kHead) + "integrations:\n  frameworks:\n";
  for (const std::string_view one : known_frameworks()) text += "  - " + std::string(one) + "\n";
  text +=
      "  externalFrameworks: [Job.v1.example.com]\nmultiKueue: {origin: here}\n"
      "managedJobsNamespaceSelector: {matchLabels: {a: b}}\n"
      "featureGates: {ConcurrentAdmission: true, MultiKueue: true}\n";
  const Checked checked = check(text);
  EXPECT_TRUE(checked.faults.empty()) << ::testing::PrintToString(texts_of(checked.faults));
  const auto found = texts_of(checked.warnings);
  EXPECT_EQ(found.size(), known_frameworks().size() - built_frameworks().size() + 4);
  EXPECT_EQ(found[0],
            "6 integrations.frameworks[1]: \"deployment\" is not there yet: jobs of this kind are "
            "neither held nor given quota");
  EXPECT_EQ(load(text)->not_built.size(), found.size());
  EXPECT_TRUE(load("")->not_built.empty());
  // What `kueue config defaults` prints asks for nothing.
  EXPECT_TRUE(load(json::write_yaml(load("")->document))->not_built.empty());
  EXPECT_TRUE(
      check(std::string(kHead) + "integrations: {frameworks: [batch/job]}").warnings.empty());
}

void undocumented(const schema::Type& type, const std::string& path,
                  std::vector<std::string>* out) {
  for (const schema::Field& field : type.fields) {
    const std::string at = path + "." + std::string(field.name);
    if (field.doc.empty() && field.type->doc.empty()) out->push_back(at);
    const schema::Type* inner = &*field.type;
    while (inner->element) inner = &*inner->element;
    if (inner->kind == schema::Kind::kStruct && !inner->name.starts_with("io.k8s."))
      undocumented(*inner, at, out);
  }
}

// `kueue config explain` has something to say of each.
TEST(Docs, EveryFieldHasOne) {
  std::vector<std::string> without;
  for (const char* version : {"v1beta1", "v1beta2"})
    undocumented(*api::find_kind("config.kueue.x-k8s.io", version, "Configuration")->type, version,
                 &without);
  std::erase_if(without, [](const std::string& at) {
    return at.ends_with(".apiVersion") || at.ends_with(".kind");
  });
  EXPECT_EQ(without, std::vector<std::string>());
}

TEST(Check, JunkAnywhereTakesNothingDown) {
  const char* junk[] = {"null", "3", "true", "\"x\"", "[]", "{}", "[null]", "{\"a\":1}", "[[]]"};
  const char* fields[] = {"namespace",   "webhook",       "metrics",          "integrations",
                          "tls",         "multiKueue",    "featureGates",     "resources",
                          "fairSharing", "health",        "waitForPodsReady", "apiVersion",
                          "kind",        "leaderElection"};
  for (const char* field : fields)
    for (const char* bad : junk) (void)check(std::string(kHead) + field + ": " + bad + "\n");
}

}  // namespace
}  // namespace kueue::config
