// The command line as a user sees it: output, errors and exit codes, against a server of canned
// answers.
#include "cli/commands.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/age.h"
#include "cli/cluster.h"
#include "cli/explanation.h"
#include "cli/table.h"
#include "cli/testing.h"
#include "json/json.h"
#include "kube/fake_transport.h"
#include "wire/path.h"
#include "wire/status.h"

namespace kueue::cli {
namespace {

// A kubeconfig that load_kubeconfig accepts; the transport does not look at it.
class Files {
 public:
  Files() {
    char name[] = "/tmp/kueue-cli-XXXXXX";
    folder_ = mkdtemp(name);
    kubeconfig = write("kubeconfig",
                       "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                       "clusters: [{name: k, cluster: {server: 'https://h:1'}}]\n"
                       "users: [{name: u, user: {token: t}}]\n"
                       "contexts: [{name: c, context: {cluster: k, user: u, namespace: work}}]\n");
  }
  ~Files() {
    for (const std::string& file : files_) unlink(file.c_str());
    rmdir(folder_.c_str());
  }
  std::string write(const std::string& name, const std::string& text) {
    files_.push_back(folder_ + "/" + name);
    std::ofstream(files_.back()) << text;
    return files_.back();
  }
  std::string kubeconfig;

 private:
  std::string folder_;
  std::vector<std::string> files_;
};

constexpr const char* kDiscovery = R"({"kind":"APIGroupDiscoveryList","items":[
 {"metadata":{"name":"kueue.x-k8s.io"},"versions":[
  {"version":"v1beta2","resources":[
   {"resource":"workloads","responseKind":{"kind":"Workload"},"scope":"Namespaced","singularResource":"workload",
    "shortNames":["kwl"],"verbs":["get","list"]},
   {"resource":"clusterqueues","responseKind":{"kind":"ClusterQueue"},"scope":"Cluster","singularResource":"clusterqueue",
    "shortNames":["cq"],"verbs":["get","list"],"categories":["all"]}]},
  {"version":"v1beta1","resources":[
   {"resource":"workloads","responseKind":{"kind":"Workload"},"scope":"Namespaced","singularResource":"workload",
    "verbs":["get","list"]}]}]}]})";

class CommandLine : public ::testing::Test {
 protected:
  CommandLine() {
    transport_->set_answer([this](const wire::Request& request) -> Result<wire::Response> {
      wire::Response response;
      const std::string key = request.method + " " + request.path;
      if (const auto it = answers_.find(key); it != answers_.end()) return it->second;
      if (request.path == "/api") {
        response.body = R"({"kind":"APIGroupDiscoveryList","items":[]})";
      } else if (request.path == "/apis") {
        response.body = kDiscovery;
      } else {
        return wire::error_response(Error{.code = ErrorCode::kNotFound,
                                          .message = "workloads.kueue.x-k8s.io \"x\" not found",
                                          .kind = "workloads",
                                          .name = "x"});
      }
      return response;
    });
    hooks_.connect = [this](const kube::ClientConfig&) -> Result<std::shared_ptr<wire::Transport>> {
      return std::shared_ptr<wire::Transport>(transport_);
    };
    hooks_.up = [](const Arguments&, Terminal&) { return 42; };
    hooks_.manager = [this](std::span<const std::string> arguments, Terminal&) {
      manager_arguments_.assign(arguments.begin(), arguments.end());
      return 43;
    };
  }

  void answer(const std::string& key, const std::string& body, int status = 200) {
    wire::Response response;
    response.status = status;
    response.body = body;
    answers_[key] = response;
  }

  int run_line(std::vector<std::string> arguments, bool with_kubeconfig = true) {
    terminal_.out_text.clear();
    terminal_.err_text.clear();
    if (with_kubeconfig) arguments.push_back("--kubeconfig=" + files_.kubeconfig);
    return run(arguments, hooks_, terminal_);
  }

  Files files_;
  TestTerminal terminal_;
  Hooks hooks_;
  std::map<std::string, wire::Response> answers_;
  std::shared_ptr<kube::FakeTransport> transport_ = std::make_shared<kube::FakeTransport>();
  std::vector<std::string> manager_arguments_;
};

constexpr const char* kTable =
    R"({"kind":"Table","metadata":{"resourceVersion":"7"},"columnDefinitions":[
 {"name":"Name","type":"string","priority":0},{"name":"Queue","type":"string","priority":0},
 {"name":"Secret","type":"string","priority":1}],"rows":[
 {"cells":["job-a","q",null],"object":{"metadata":{"name":"job-a","namespace":"work","labels":{"b":"2","a":"1"}}}},
 {"cells":["a-longer-name","queue","s"],"object":{"metadata":{"name":"a-longer-name","namespace":"work"}}}]})";
constexpr const char* kWorkloads = "/apis/kueue.x-k8s.io/v1beta2/namespaces/work/workloads";

TEST_F(CommandLine, GetPrintsTheServersTable) {
  answer(std::string("GET ") + kWorkloads, kTable);
  EXPECT_EQ(run_line({"get", "workloads"}), kOk) << terminal_.err_text;
  EXPECT_EQ(terminal_.out_text,
            "NAME            QUEUE\n"
            "job-a           q\n"
            "a-longer-name   queue\n");
  EXPECT_EQ(run_line({"get", "kwl", "-o", "wide", "--show-labels", "--no-headers"}), kOk);
  EXPECT_EQ(terminal_.out_text,
            "job-a           q           a=1,b=2\n"
            "a-longer-name   queue   s   <none>\n");
  answer("GET /apis/kueue.x-k8s.io/v1beta2/workloads", kTable);
  EXPECT_EQ(run_line({"get", "Workload", "-A", "-Lb"}), kOk);
  EXPECT_EQ(terminal_.out_text,
            "NAMESPACE   NAME            QUEUE   B\n"
            "work        job-a           q       2\n"
            "work        a-longer-name   queue\n");
}

TEST_F(CommandLine, GetPrintsObjects) {
  answer(
      std::string("GET ") + kWorkloads + "/x",
      R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"x","managedFields":[1]}})");
  EXPECT_EQ(run_line({"get", "workload/x", "-o", "yaml"}), kOk);
  EXPECT_EQ(terminal_.out_text,
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata:\n  name: x\n");
  EXPECT_EQ(run_line({"get", "workloads", "x", "-oname"}), kOk);
  EXPECT_EQ(terminal_.out_text, "workload.kueue.x-k8s.io/x\n");
  answer(std::string("GET ") + kWorkloads,
         R"({"kind":"WorkloadList","items":[{"metadata":{"name":"x"}}]})");
  EXPECT_EQ(run_line({"get", "workloads.v1beta2.kueue.x-k8s.io", "-o=json"}), kOk);
  const auto list = json::parse(terminal_.out_text);
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->get_string({"kind"}), "List");
  EXPECT_EQ(list->find("items")->as_array()[0].get_string({"kind"}), "Workload");
}

TEST_F(CommandLine, GetErrors) {
  EXPECT_EQ(run_line({"get", "workload", "x"}), kFailed);
  EXPECT_EQ(terminal_.err_text,
            "Error from server (NotFound): workloads.kueue.x-k8s.io \"x\" not found\n");
  EXPECT_EQ(run_line({"get", "workload", "x", "--ignore-not-found"}), kOk);
  EXPECT_EQ(terminal_.err_text, "");
  EXPECT_EQ(run_line({"get", "worklods"}), kFailed);
  EXPECT_NE(terminal_.err_text.find("did you mean \"workloads\"?"), std::string::npos)
      << terminal_.err_text;
  EXPECT_EQ(run_line({"get", "wl", "x", "--ignore-not-found"}), kOk) << terminal_.err_text;
  EXPECT_EQ(run_line({"get", "kw"}), kFailed);
  EXPECT_NE(terminal_.err_text.find("did you mean \"kwl\"?"), std::string::npos)
      << terminal_.err_text;
  EXPECT_EQ(error_text(make_error(ErrorCode::kUnavailable,
                                  "cannot connect to 127.0.0.1:1: Connection refused")),
            "error: cannot connect to 127.0.0.1:1: Connection refused\n"
            "Does the server run? 'kueue up' starts a playground.\n");
  EXPECT_EQ(run_line({"get"}), kUsage);
  EXPECT_EQ(run_line({"get", "workloads", "--outptu=yaml"}), kUsage);
  EXPECT_NE(terminal_.err_text.find("did you mean --output?"), std::string::npos)
      << terminal_.err_text;
  EXPECT_EQ(run_line({"get", "workloads", "-o", "jsonpath"}), kUsage);
  EXPECT_EQ(run_line({"get", "workload/x", "y"}), kFailed);
  EXPECT_EQ(run_line({"get", "workload", "x", "-A"}), kUsage);
  answer(std::string("GET ") + kWorkloads, R"({"kind":"Table","columnDefinitions":[],"rows":[]})");
  EXPECT_EQ(run_line({"get", "workloads"}), kOk);
  EXPECT_EQ(terminal_.err_text, "No resources found in work namespace.\n");
}

TEST_F(CommandLine, ApplySaysWhatItDid) {
  const std::string path = std::string(kWorkloads) + "/x";
  const std::string body = R"({"metadata":{"name":"x","resourceVersion":"5"}})";
  const std::string file = files_.write(
      "w.yaml", "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {name: x}\n");
  answer("PATCH " + path, body, 201);
  EXPECT_EQ(run_line({"apply", "-f", file}), kOk) << terminal_.err_text;
  EXPECT_EQ(terminal_.out_text, "workload.kueue.x-k8s.io/x created\n");
  answer("GET " + path, body);
  answer("PATCH " + path, body);
  EXPECT_EQ(run_line({"apply", "-f", file}), kOk);
  EXPECT_EQ(terminal_.out_text, "workload.kueue.x-k8s.io/x unchanged\n");
  answer("PATCH " + path, R"({"metadata":{"name":"x","resourceVersion":"6"}})");
  EXPECT_EQ(run_line({"apply", "-f", file, "--dry-run=server"}), kOk);
  EXPECT_EQ(terminal_.out_text, "workload.kueue.x-k8s.io/x configured (server dry run)\n");
  const auto requests = transport_->requests();
  const wire::Request& last = requests.back();
  EXPECT_EQ(last.headers.get("Content-Type"), "application/apply-patch+yaml");
  EXPECT_EQ(last.query_value("dryRun"), "All");
  EXPECT_EQ(last.query_value("fieldManager"), "kueue-cli");
}

TEST_F(CommandLine, ApplyNamesTheDocumentThatIsWrong) {
  struct {
    const char* text;
    const char* error;
  } const cases[] = {
      {"kind: Workload\nmetadata: {name: x}\n", "standard input: apiVersion: is missing"},
      {"apiVersion: kueue.x-k8s.io/v1beta2\nmetadata: {name: x}\n",
       "standard input: kind: is missing"},
      {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\n",
       "standard input: metadata: is missing"},
      {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {}\n",
       "standard input: metadata.name: is missing"},
      {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {generateName: x-}\n",
       "'kueue create'"},
      {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: Worklaod\nmetadata: {name: x}\n",
       "did you mean kind \"Workload\"?"},
      {"a: 1\na: 2\n", "standard input: "},
      {"just text", "standard input: is no object"},
      {"a: [", "standard input: "},
      {"", "no objects passed"},
      {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {name: x, namespace: "
       "other}\n",
       "does not match the namespace"},
  };
  for (const auto& c : cases) {
    terminal_.input = c.text;
    EXPECT_EQ(run_line({"apply", "-f", "-", "-n", "work"}), kFailed) << c.text;
    EXPECT_NE(terminal_.err_text.find(c.error), std::string::npos) << c.text << "\n"
                                                                   << terminal_.err_text;
  }
  EXPECT_EQ(run_line({"apply", "-f", "/nowhere.yaml"}), kFailed);
  EXPECT_NE(terminal_.err_text.find("/nowhere.yaml: No such file or directory"), std::string::npos);
  EXPECT_EQ(run_line({"apply"}), kUsage);
}

TEST_F(CommandLine, ApplyGoesOnAfterAnError) {
  answer("PATCH /apis/kueue.x-k8s.io/v1beta2/clusterqueues/q", R"({"metadata":{"name":"q"}})", 201);
  terminal_.input =
      "kind: x\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: kueue.x-k8s.io/v1beta2, "
      "kind: ClusterQueue, metadata: {name: q}}\n";
  EXPECT_EQ(run_line({"apply", "-f", "-"}), kFailed);
  EXPECT_EQ(terminal_.out_text, "clusterqueue.kueue.x-k8s.io/q created\n");
  EXPECT_NE(terminal_.err_text.find("standard input, document 1: apiVersion"), std::string::npos);
}

TEST_F(CommandLine, DescribeWorkloadSaysWhyItWaits) {
  const auto describe = [&](const std::string& rest) {
    answer(
        std::string("GET ") + kWorkloads + "/x",
        R"({"metadata":{"name":"x","namespace":"work"},"spec":{"queueName":"lq","podSets":[{"name":"main","count":3,
              "template":{"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}}}]})" +
            rest + "}");
    EXPECT_EQ(run_line({"describe", "workload", "x"}), kOk) << terminal_.err_text;
    return terminal_.out_text;
  };
  const std::string waiting = describe(
      R"(,"status":{"conditions":[{"type":"QuotaReserved","status":"False","reason":"Pending","message":"insufficient unused quota for cpu"}]})");
  EXPECT_NE(waiting.find("Standing:     Waits (Pending): insufficient unused quota for cpu"),
            std::string::npos)
      << waiting;
  EXPECT_NE(waiting.find("main   3      cpu=1"), std::string::npos) << waiting;
  EXPECT_NE(describe("").find("LocalQueue \"lq\" does not exist in namespace \"work\""),
            std::string::npos);
  EXPECT_NE(
      describe(
          R"(,"status":{"admission":{"clusterQueue":"cq"},"conditions":[{"type":"QuotaReserved","status":"True"},
                        {"type":"Admitted","status":"True"}]})")
          .find("Admitted by ClusterQueue cq"),
      std::string::npos);
  const std::string fewer = describe(
      R"(,"status":{"admission":{"clusterQueue":"cq","podSetAssignments":[{"name":"main","count":2}]}})");
  EXPECT_NE(fewer.find("main   2 of 3   cpu=1"), std::string::npos) << fewer;
}

TEST_F(CommandLine, DescribeOfAnUndecidedWorkloadLooksAtItsQueues) {
  const std::string base = "/apis/kueue.x-k8s.io/v1beta2/";
  answer(std::string("GET ") + kWorkloads + "/x",
         R"({"metadata":{"name":"x","namespace":"work"},"spec":{"queueName":"lq"}})");
  const auto standing = [&] {
    EXPECT_EQ(run_line({"describe", "workload", "x"}), kOk) << terminal_.err_text;
    const size_t start = terminal_.out_text.find("Waits");
    return terminal_.out_text.substr(start, terminal_.out_text.find('\n', start) - start);
  };
  const std::string local = "GET " + base + "namespaces/work/localqueues/lq";
  answer(local, R"({"spec":{"clusterQueue":"cq","stopPolicy":"Hold"}})");
  EXPECT_EQ(standing(), "Waits: LocalQueue \"lq\" is stopped: spec.stopPolicy is Hold");
  answer(local, R"({"spec":{"clusterQueue":"cq"}})");
  EXPECT_EQ(standing(), "Waits: ClusterQueue \"cq\" of LocalQueue \"lq\" does not exist");
  const struct {
    const char* queue;
    const char* text;
  } cases[] = {
      {"{}", "Waits: no decision yet; ClusterQueue \"cq\" has no status: does the manager run?"},
      {R"({"status":{"conditions":[{"type":"Active","status":"False","message":"is stopped."}]}})",
       "Waits: ClusterQueue \"cq\" is inactive: is stopped."},
      {R"({"spec":{"queueingStrategy":"StrictFIFO"},
           "status":{"pendingWorkloads":2,"conditions":[{"type":"Active","status":"True"}]}})",
       "Waits: not its turn yet in ClusterQueue \"cq\" (2 pending; StrictFIFO: none passes the "
       "first)"},
      {R"({"status":{"pendingWorkloads":3,"conditions":[{"type":"Active","status":"True"}]}})",
       "Waits: not its turn yet in ClusterQueue \"cq\" (3 pending; those before it wait for "
       "quota)"},
  };
  for (const auto& c : cases) {
    answer("GET " + base + "clusterqueues/cq", c.queue);
    EXPECT_EQ(standing(), c.text);
  }
}

TEST_F(CommandLine, DescribeAlignsFieldsAndKeepsKeysAsTheyAre) {
  answer("GET /apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq",
         R"({"metadata":{"name":"cq","uid":"u","annotations":{"a":"b",
              "kubectl.kubernetes.io/last-applied-configuration":"{}\n"}},
             "spec":{"cohortName":"c","stopPolicy":"None","labels":{"x.io/job-name":"j"}}})");
  EXPECT_EQ(run_line({"describe", "cq", "cq"}), kOk) << terminal_.err_text;
  EXPECT_EQ(terminal_.out_text,
            "Name:         cq\n"
            "Labels:       <none>\n"
            "Annotations:  a=b\n"
            "API Version:  kueue.x-k8s.io/v1beta2\n"
            "Kind:         ClusterQueue\n"
            "Metadata:\n"
            "  UID:  u\n"
            "Spec:\n"
            "  Cohort Name:  c\n"
            "  Labels:\n"
            "    x.io/job-name:  j\n"
            "  Stop Policy:  None\n"
            "Events:       <none>\n");
}

TEST_F(CommandLine, DescribeShowsAges) {
  answer(std::string("GET ") + kWorkloads + "/x",
         R"({"metadata":{"name":"x","namespace":"work"},"status":{"conditions":[
              {"type":"Admitted","status":"False","reason":"R","lastTransitionTime":"2001-01-01T00:00:00Z","message":"m"}]}})");
  answer("GET /api/v1/namespaces/work/events",
         R"({"items":[{"type":"Normal","reason":"E","eventTime":"2001-01-01T00:00:00.000000Z",
              "reportingComponent":"c","message":"m"}]})");
  EXPECT_EQ(run_line({"describe", "workload", "x"}), kOk) << terminal_.err_text;
  const std::string years =
      human_duration(system_clock().now() - *parse_time("2001-01-01T00:00:00Z"));
  EXPECT_NE(terminal_.out_text.find("Admitted   False    R        " + years + "   m\n"),
            std::string::npos)
      << terminal_.out_text;
  EXPECT_NE(terminal_.out_text.find("Normal   E        " + years + "   c      m\n"),
            std::string::npos)
      << terminal_.out_text;
}

TEST_F(CommandLine, DeleteWaitsUntilGone) {
  const std::string path = std::string(kWorkloads) + "/x";
  answer("DELETE " + path, R"({"metadata":{"name":"x","uid":"u1"}})");
  EXPECT_EQ(run_line({"delete", "workload", "x"}), kOk) << terminal_.err_text;
  EXPECT_EQ(terminal_.out_text, "workload.kueue.x-k8s.io \"x\" deleted from work namespace\n");
  // Another object of that name is there: the old one is gone.
  answer("GET " + path, R"({"metadata":{"name":"x","uid":"u2"}})");
  EXPECT_EQ(run_line({"delete", "workload/x"}), kOk);
  EXPECT_EQ(run_line({"delete", "workloads"}), kUsage);
  EXPECT_EQ(run_line({"delete"}), kUsage);
  EXPECT_EQ(run_line({"delete", "workload", "x", "--cascade=sideways"}), kUsage);
  EXPECT_EQ(run_line({"delete", "clusterqueue", "none", "--ignore-not-found"}), kOk);
}

TEST_F(CommandLine, OtherCommands) {
  EXPECT_EQ(run_line({"up"}, false), 42);
  EXPECT_EQ(run_line({"manager", "--config=x", "--scheduler", "false"}, false), 43);
  EXPECT_EQ(manager_arguments_, (std::vector<std::string>{"--config=x", "--scheduler", "false"}));
  EXPECT_EQ(run_line({}, false), kUsage);
  EXPECT_EQ(run_line({"--help"}, false), kOk);
  EXPECT_EQ(run_line({"help", "get"}, false), kOk);
  EXPECT_NE(terminal_.out_text.find("--field-selector"), std::string::npos);
  EXPECT_EQ(run_line({"help", "manager"}, false), 43);
  EXPECT_EQ(manager_arguments_, (std::vector<std::string>{"--help"}));
  EXPECT_EQ(run_line({"get", "-h"}, false), kOk);
  EXPECT_EQ(run_line({"aply"}, false), kUsage);
  EXPECT_NE(terminal_.err_text.find("did you mean \"apply\"?"), std::string::npos);
  EXPECT_EQ(run_line({"version", "--client"}, false), kOk);
  EXPECT_EQ(run_line({"crds", "-o", "json"}, false), kOk);
  EXPECT_EQ(json::parse(terminal_.out_text)->find("items")->as_array().size(), 11u);
  EXPECT_EQ(run_line({"install", "-n", "queues", "--image", "r/kueue:1"}, false), kOk);
  EXPECT_NE(terminal_.out_text.find("image: r/kueue:1\n"), std::string::npos);
  EXPECT_EQ(terminal_.out_text.find("kueue-system"), std::string::npos);
  EXPECT_EQ(run_line({"install", "--only", "crd"}, false), kUsage);
  EXPECT_NE(terminal_.err_text.find("the parts are: namespace, crds"), std::string::npos);
  EXPECT_EQ(run_line({"install", "--namespace", "No"}, false), kUsage);
  EXPECT_EQ(run_line({"install", "--only", "webhooks"}, false), kOk);
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_EQ(run_line({"completion", shell}, false), kOk);
    for (const Command& command : commands()) {
      EXPECT_NE(terminal_.out_text.find(command.name), std::string::npos) << shell << command.name;
    }
  }
  EXPECT_EQ(run_line({"completion", "tcsh"}, false), kUsage);
}

TEST_F(CommandLine, Config) {
  const std::string folder = ::testing::TempDir();
  const auto check = [&](const std::string& text) {
    const std::string file = folder + "/kueue-config-check.yaml";
    std::ofstream(file) << "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
                        << text;
    const int code = run_line({"config", "check", file}, false);
    std::filesystem::remove(file);
    return code;
  };
  EXPECT_EQ(check("waitForPodsReady: {timeout: 5m}\n"), kOk);
  EXPECT_EQ(check("metrics:\n  bindAddres: ':1'\n"), kFailed);
  EXPECT_NE(terminal_.err_text.find(":4: metrics.bindAddres: "), std::string::npos)
      << terminal_.err_text;
  terminal_.err_text.clear();
  EXPECT_EQ(check("leaderElection: {}\nvisibilityServer:\n  bindPort: 70000\n"), kFailed);
  EXPECT_NE(terminal_.err_text.find("check.yaml:5: visibilityServer.bindPort: "), std::string::npos)
      << terminal_.err_text;
  EXPECT_EQ(run_line({"config", "check", folder + "/no-such-file"}, false), kFailed);
  EXPECT_EQ(run_line({"config", "explain", "waitForPodsReady"}, false), kOk);
  EXPECT_NE(terminal_.out_text.find("FIELD: waitForPodsReady"), std::string::npos);
  EXPECT_EQ(run_line({"config", "defaults"}, false), kOk);
  EXPECT_NE(terminal_.out_text.find("bindAddress: :8443"), std::string::npos);
  EXPECT_EQ(run_line({"config", "chek"}, false), kUsage);
  // All at once, from standard input; what is not there yet is a warning.
  terminal_.err_text.clear();
  terminal_.input =
      "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nwebhook: {port: abc}\n"
      "integrations: {frameworks: [pod, nope]}\nhealt: {}\n";
  EXPECT_EQ(run_line({"config", "check", "-"}, false), kFailed);
  for (const char* one :
       {"standard input:3: webhook.port: must be a whole number, not the text \"abc\"\n",
        "standard input:4: integrations.frameworks[1]: Unsupported value: \"nope\"",
        "standard input:4: warning: integrations.frameworks[0]: \"pod\" is not there yet",
        "standard input:5: healt: unknown field; did you mean \"health\"?\n"})
    EXPECT_NE(terminal_.err_text.find(one), std::string::npos) << one << terminal_.err_text;
  terminal_.err_text.clear();
  EXPECT_EQ(run_line({"config", "defaults", "-"}, false), kFailed);
  EXPECT_EQ(terminal_.err_text.find("Error from server"), std::string::npos);
  terminal_.input = "# nothing\n";
  terminal_.out_text.clear();
  EXPECT_EQ(run_line({"config", "check", "-"}, false), kOk);
  EXPECT_NE(terminal_.out_text.find("valid, but it says nothing"), std::string::npos);
}

TEST_F(CommandLine, Explain) {
  EXPECT_EQ(run_line({"explain", "workload.spec.podSets"}, false), kOk);
  EXPECT_NE(terminal_.out_text.find("FIELD: podSets <[]PodSet>"), std::string::npos)
      << terminal_.out_text;
  EXPECT_EQ(run_line({"explain", "job.spec", "--recursive"}, false), kOk);
  EXPECT_NE(terminal_.out_text.find("parallelism\t<integer>"), std::string::npos);
  EXPECT_EQ(run_line({"explain", "workload.spec.podSet"}, false), kFailed);
  EXPECT_NE(terminal_.err_text.find("did you mean \"podSets\"?"), std::string::npos);
  EXPECT_EQ(run_line({"explain", "nonsense"}, false), kFailed);
}

TEST_F(CommandLine, ExplainsWorkloads) {
  const std::string now = format_time(system_clock().now());
  const std::string path =
      "GET /apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/work/workloads/w/explanation";
  answer(path, R"({"kind":"WorkloadExplanation","metadata":{"name":"w","namespace":"work"},
      "state":"Pending","summary":"WaitingForQuota: too little","localQueue":"main",
      "clusterQueue":"team","priority":3,"standing":"set aside until something changes",
      "position":{"clusterQueue":1,"localQueue":0,"waiting":5,"rightBefore":["work/a"]},
      "start":{"unknown":"no end is known of work/b"},
      "podSets":[{"podSet":"main","flavors":[{"flavor":"plain","firstFailure":"insufficient",
        "quota":[{"resource":"cpu","requested":"2","available":"1","capacity":"4",
          "holders":[{"clusterQueue":"team","used":"3","borrowed":"0"}]}],
        "whyNoPreemption":"never"}]}],
      "changes":["free 1 of cpu"],
      "history":[{"time":")" +
                   now +
                   R"(","what":"Preempted","workload":"work/z","message":"InClusterQueue"}]})");
  EXPECT_EQ(run_line({"explain", "workload", "w"}), kOk) << terminal_.err_text;
  EXPECT_EQ(terminal_.out_text,
            "Workload:   work/w\n"
            "State:      Pending: WaitingForQuota: too little\n"
            "Queue:      main -> ClusterQueue team, priority 3\n"
            "Position:   2 of 5, set aside until something changes; right before it: work/a\n"
            "Starts:     unknown: no end is known of work/b\n"
            "\nFlavors, in the order they are tried:\n"
            "  main, flavor plain: insufficient\n"
            "    cpu: wants 2, 1 free of at most 4; held by team 3\n"
            "    no preemption: never\n"
            "\nWould help:\n"
            "  - free 1 of cpu\n"
            "\nHistory:\n"
            "  Age   What        Message\n"
            "  0s    Preempted   for work/z: InClusterQueue\n");
  EXPECT_EQ(run_line({"explain", "kwl/w", "-o", "json"}), kOk);
  EXPECT_EQ(json::parse(terminal_.out_text)->get_string({"state"}), "Pending");
  EXPECT_EQ(run_line({"explain", "workloads", "w", "-o", "yaml"}), kOk);
  // Neither form takes the other's flags.
  EXPECT_EQ(run_line({"explain", "workload", "-o", "json"}), kUsage);
  EXPECT_EQ(run_line({"explain", "workload", "w", "--recursive"}), kUsage);
  EXPECT_EQ(run_line({"explain", "workload/w", "x"}), kUsage);
  EXPECT_EQ(run_line({"explain", "workload/"}), kUsage);
  // Not there; or there, and nobody explains.
  EXPECT_EQ(run_line({"explain", "workload", "x"}), kFailed);
  EXPECT_NE(terminal_.err_text.find("not found"), std::string::npos) << terminal_.err_text;
  answer("GET /apis/kueue.x-k8s.io/v1beta2/namespaces/work/workloads/x", R"({"kind":"Workload"})");
  EXPECT_EQ(run_line({"explain", "workload", "x"}), kFailed);
  EXPECT_NE(terminal_.err_text.find("VisibilityOnDemand"), std::string::npos);
  // By what owns it.
  answer("GET /apis/kueue.x-k8s.io/v1beta2/namespaces/work/workloads", R"({"items":[
      {"metadata":{"name":"v","creationTimestamp":"2024-01-01T00:00:00Z",
        "ownerReferences":[{"kind":"ClusterQueue","name":"owner"}]}},
      {"metadata":{"name":"w","creationTimestamp":"2024-01-02T00:00:00Z",
        "ownerReferences":[{"kind":"ClusterQueue","name":"owner"}]}}]})");
  EXPECT_EQ(run_line({"explain", "cq", "owner"}), kOk) << terminal_.err_text;
  EXPECT_EQ(run_line({"explain", "cq", "other"}), kFailed);
}

// Without an API that explains it is worked out by the program itself, and said so.
TEST_F(CommandLine, ExplainsWithoutAManager) {
  hooks_.explain = [](const kube::ClientConfig&, const std::string& ns,
                      const std::string& name) -> Result<json::Value> {
    return json::Value::object(
        {{"state", "Pending"},
         {"metadata", json::Value::object({{"namespace", ns}, {"name", name}})},
         {"start", json::Value::object({{"never", "too much"}})},
         {"podSets", json::Value::array({json::Value::object(
                         {{"podSet", "main"}, {"flavors", json::Value::array()}})})}});
  };
  answer("GET /apis/kueue.x-k8s.io/v1beta2/namespaces/work/workloads/x", R"({"kind":"Workload"})");
  EXPECT_EQ(run_line({"explain", "workload", "x"}), kOk) << terminal_.err_text;
  EXPECT_NE(terminal_.err_text.find("worked out from the objects"), std::string::npos);
  EXPECT_NE(
      terminal_.out_text.find("Starts:     never with the present quota and flavors: too much\n"),
      std::string::npos)
      << terminal_.out_text;
  // A list with nothing in it has no title.
  EXPECT_EQ(terminal_.out_text.find("Flavors, in"), std::string::npos) << terminal_.out_text;
}

TEST_F(CommandLine, ExplainNamesPodsWithoutNode) {
  answer("GET /apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/work/workloads/w/explanation",
         R"({"metadata":{"name":"w","namespace":"work"},"state":"Admitted","summary":"in q"})");
  answer("GET /apis/kueue.x-k8s.io/v1beta2/namespaces/work/workloads/w",
         R"({"metadata":{"name":"w","ownerReferences":[{"kind":"Job","uid":"u"}]}})");
  std::string pods;
  for (const char* name : {"b", "a", "c"})
    pods += std::string(pods.empty() ? "" : ",") + R"({"metadata":{"name":")" + name +
            R"(","ownerReferences":[{"uid":")" + (*name == 'c' ? "other" : "u") +
            R"("}]},"status":{"conditions":[{"type":"PodScheduled","status":"False",
            "reason":"Unschedulable","message":"0/4 nodes"}]}})";
  answer("GET /api/v1/namespaces/work/pods", R"({"items":[)" + pods + "]}");
  EXPECT_EQ(run_line({"explain", "workload", "w"}), kOk) << terminal_.err_text;
  EXPECT_NE(
      terminal_.out_text.find("Pods:       2 have no node: Unschedulable: 0/4 nodes (a, ...)\n"),
      std::string::npos)
      << terminal_.out_text;
  EXPECT_EQ(run_line({"explain", "workload", "w", "-o", "json"}), kOk);
  EXPECT_NE(terminal_.out_text.find("\"podsWithoutNode\""), std::string::npos);
}

// Each line within the terminal, each word still there.
TEST(ExplanationText, IsAsWideAsTheTerminal) {
  std::string message, cut;
  for (int i = 0; i < 60; ++i) message += (i == 0 ? "" : " ") + ("word" + std::to_string(i));
  const json::Value document = json::Value::object(
      {{"metadata", json::Value::object({{"namespace", "work"}, {"name", "w"}})},
       {"state", "Pending"},
       {"summary", message},
       {"changes", json::Value::array({json::Value(message)})},
       {"historySince", format_time(system_clock().now())},
       {"history",
        json::Value::array({json::Value::object({{"time", format_time(system_clock().now())},
                                                 {"what", "Waits"},
                                                 {"message", message}})})}});
  const auto words = [](const std::string& text) {
    std::vector<std::string> out;
    for (size_t at = 0; (at = text.find("word", at)) != std::string::npos; ++at)
      out.push_back(text.substr(at, text.find_first_of(" \n", at) - at));
    return out;
  };
  for (const size_t width : {40u, 80u, 133u}) {
    const std::string text = explanation_text(document, false, width);
    size_t longest = 0;
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      longest = std::max(longest, end - at);
      at = end + 1;
    }
    EXPECT_LE(longest, width) << text;
    EXPECT_EQ(words(text), words(explanation_text(document, false, 0)));
    EXPECT_NE(text.find("It goes back to"), std::string::npos);
  }
}

// What stands between a job and its Workload.
TEST_F(CommandLine, ExplainsWhyThereIsNoWorkload) {
  answer("GET /apis", R"({"kind":"APIGroupDiscoveryList","items":[
      {"metadata":{"name":"batch"},"versions":[{"version":"v1","resources":[{"resource":"jobs",
        "responseKind":{"kind":"Job"},"scope":"Namespaced","singularResource":"job","verbs":["get","list"]}]}]},
      {"metadata":{"name":"apps"},"versions":[{"version":"v1","resources":[{"resource":"deployments",
        "responseKind":{"kind":"Deployment"},"scope":"Namespaced","singularResource":"deployment",
        "verbs":["get","list"]}]}]}]})");
  answer("GET /apis/kueue.x-k8s.io/v1beta2/namespaces/work/workloads", R"({"items":[]})");
  const std::string lease =
      "GET /apis/coordination.k8s.io/v1/namespaces/kueue-system/leases/c1f6bfd2.kueue.x-k8s.io";
  const auto leads = [&](Duration ago) {
    answer(lease, R"({"spec":{"holderIdentity":"m","leaseDurationSeconds":15,"renewTime":")" +
                      format_micro_time(system_clock().now() - ago) + R"("}})");
  };
  const auto says = [&](const char* object, const std::string& text, const char* type = "job") {
    const std::string path = std::string(type) == "job" ? "batch/v1/namespaces/work/jobs/j"
                                                        : "apps/v1/namespaces/work/deployments/j";
    if (object != nullptr) answer("GET /apis/" + path, object);
    terminal_.err_text.clear();
    EXPECT_EQ(run_line({"explain", type, "j"}), kFailed);
    EXPECT_NE(terminal_.err_text.find(text), std::string::npos) << terminal_.err_text;
  };
  leads(Duration::seconds(1));
  answer("GET /apis/batch/v1/jobs", R"({"items":[{"metadata":{"name":"j","namespace":"other"}}]})");
  says(nullptr, "there is no job.batch/j in namespace work; there is one in namespace other (-n)");
  says(R"({"metadata":{},"spec":{}})",
       "the label kueue.x-k8s.io/queue-name is missing, so it runs");
  says(R"({"metadata":{},"spec":{"suspend":true}})", "whoever suspended it has to resume it");
  constexpr const char* kQueued =
      R"({"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"q"}},"spec":{"suspend":true}})";
  says(kQueued, "the manager has made none yet, or does not manage namespace work");
  says(R"({"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"q"}},"spec":{}})",
       "it runs without quota");
  says(R"({"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"q"}},
           "status":{"conditions":[{"type":"Complete","status":"True"}]}})",
       "it has ended");
  says(R"({"metadata":{"ownerReferences":[{"controller":true,"kind":"CronJob","name":"c"}]}})",
       "it belongs to CronJob c");
  says(R"({"metadata":{}})", "jobs of kind Deployment are not managed by this program yet",
       "deployment");
  leads(Duration::seconds(100));
  says(kQueued, "no manager leads: m renewed its Lease 100s ago for the last time");
  answers_.erase(lease);
  says(kQueued, "no manager has ever led");
}

TEST_F(CommandLine, VersionWithoutServer) {
  hooks_.connect = [](const kube::ClientConfig&) -> Result<std::shared_ptr<wire::Transport>> {
    return make_error(ErrorCode::kUnavailable, "Connection refused");
  };
  EXPECT_EQ(run_line({"version"}), kOk);
  EXPECT_TRUE(terminal_.out_text.starts_with("kueue ")) << terminal_.out_text;
  EXPECT_EQ(terminal_.err_text, "server: unreachable: Connection refused\n");
}

TEST_F(CommandLine, FoldersBelowAreReadWhenAsked) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "kueue-below";
  std::filesystem::create_directories(folder / "a" / "b");
  std::ofstream(folder / "a" / "b" / "q.yaml")
      << "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: l}\n"
         "spec: {clusterQueue: none}\n";
  EXPECT_EQ(run_line({"lint", "-f", folder.string()}, false), kFailed);
  EXPECT_NE(terminal_.out_text.find("missing-cluster-queue"), std::string::npos)
      << terminal_.out_text << terminal_.err_text;
  EXPECT_EQ(run_line({"apply", "-f", folder.string()}), kFailed);
  EXPECT_NE(terminal_.err_text.find("--recursive looks into those below"), std::string::npos)
      << terminal_.err_text;
  std::filesystem::remove_all(folder);
}

TEST(Arguments, Forms) {
  constexpr Flag flags[] = {{.name = "yes", .letter = 'y', .kind = FlagKind::kBool},
                            {.name = "all", .letter = 'A', .kind = FlagKind::kBool},
                            {.name = "number", .kind = FlagKind::kInt, .fallback = "7"},
                            {.name = "file", .letter = 'f', .kind = FlagKind::kList}};
  const Command command{.name = "c", .flags = flags, .cluster = false};
  const auto parse = [&](std::vector<std::string> words) {
    return parse_arguments(command, {}, words);
  };
  const auto good = parse({"a", "-yA", "-f", "x", "-fy", "--file=z,w", "b", "--", "-c"});
  ASSERT_TRUE(good.ok()) << good.error().message;
  EXPECT_TRUE(good->is_set("yes"));
  EXPECT_TRUE(good->is_set("all"));
  EXPECT_EQ(good->list("file"), (std::vector<std::string>{"x", "y", "z", "w"}));
  EXPECT_EQ(good->positional(), (std::vector<std::string>{"a", "b", "-c"}));
  EXPECT_EQ(good->number("number"), 7);
  EXPECT_FALSE(parse({"--yes=false"})->is_set("yes"));
  EXPECT_EQ(parse({"--number", "-3"})->number("number"), -3);
  for (const std::vector<std::string>& bad : std::vector<std::vector<std::string>>{
           {"--file"}, {"--number=x"}, {"--yes=maybe"}, {"-z"}, {"--unknown"}, {"-yz"}}) {
    EXPECT_FALSE(parse(bad).ok()) << bad[0];
  }
}

}  // namespace
}  // namespace kueue::cli
