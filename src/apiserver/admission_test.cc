// Webhooks: in process through a registered service; rules, selectors, policies, patches, texts.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "apiserver/encoding.h"
#include "apiserver/testing.h"
#include "json/json.h"
#include "wire/status.h"

namespace kueue::apiserver {
namespace {

using testing::Answer;
using testing::Client;

constexpr std::string_view kMaps = "/api/v1/namespaces/default/configmaps";

// Answers AdmissionReviews: labels what it mutates, denies what is named "bad".
class Hook : public wire::Handler {
 public:
  void handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) override {
    auto review = json::parse(request.body);
    json::Value in = *review->find("request");
    {
      std::lock_guard lock(mutex);
      last = in;
    }
    ++calls;
    json::Value response = json::Value::object({{"uid", in.get_string({"uid"})}});
    response["allowed"] = in.get_string({"name"}) != "bad";
    if (in.get_string({"name"}) == "bad")
      response["status"] = json::Value::object({{"message", "no bad ones"}, {"code", 403}});
    if (request.path == "/mutate") {
      const std::string patch =
          in.find_path({"object", "metadata", "labels"}) == nullptr
              ? R"([{"op":"add","path":"/metadata/labels","value":{"hooked":"yes"}}])"
              : R"([{"op":"add","path":"/metadata/labels/hooked","value":"yes"}])";
      response["patch"] = base64_encode(patch);
      response["patchType"] = "JSONPatch";
      response["warnings"] = json::Value::array({"hooked"});
    }
    (*review)["response"] = std::move(response);
    sink->respond(wire::json_response(*review));
  }
  std::atomic<int> calls = 0;
  std::mutex mutex;
  json::Value last;
};

class Webhooks : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = Server::open(testing::memory_options());
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    server = std::move(opened).value();
    server->register_service("hooks", "hook", &hook);
    client = std::make_unique<Client>(*server);
  }
  void TearDown() override { server->stop(); }
  void configure(bool mutating, const std::string& path, const std::string& more,
                 const std::string& service = "hook",
                 const std::string& resources = "[\"configmaps\"]") {
    const std::string kind =
        mutating ? "mutatingwebhookconfigurations" : "validatingwebhookconfigurations";
    const Answer made = client->post(
        "/apis/admissionregistration.k8s.io/v1/" + kind,
        R"({"metadata":{"name":"c"},"webhooks":[{"name":"h.example.com","clientConfig":{"service":{)"
        R"("namespace":"hooks","name":")" +
            service + R"(","path":")" + path +
            R"("}},"rules":[{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":)" +
            resources + R"(}],"sideEffects":"None","admissionReviewVersions":["v1"])" + more +
            "}]}");
    ASSERT_EQ(made.status, 201) << made.body;
  }
  Answer create(const std::string& name, const std::string& more = "") {
    return client->post(kMaps, "{\"metadata\":{\"name\":\"" + name + "\"" + more + "}}");
  }
  Hook hook;
  std::unique_ptr<Server> server;
  std::unique_ptr<Client> client;
};

TEST_F(Webhooks, MutatesAndWarns) {
  configure(true, "/mutate", "");
  const Answer made = create("x");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json.get_string({"metadata", "labels", "hooked"}), "yes");
  EXPECT_EQ(made.headers.get("Warning"), "299 - \"hooked\"");
  EXPECT_EQ(hook.last.get_string({"operation"}), "CREATE");
  EXPECT_EQ(hook.last.get_string({"userInfo", "username"}), "admin");
  EXPECT_EQ(hook.last.get_string({"kind", "kind"}), "ConfigMap");
}

TEST_F(Webhooks, DeniesInKubernetesWords) {
  configure(false, "/validate", "");
  EXPECT_EQ(create("good").status, 201);
  const Answer denied = create("bad");
  EXPECT_EQ(denied.status, 403);
  EXPECT_EQ(denied.json.get_string({"message"}),
            "admission webhook \"h.example.com\" denied the request: no bad ones");
  EXPECT_EQ(client->remove(std::string(kMaps) + "/good").status, 200);
  EXPECT_EQ(hook.last.get_string({"operation"}), "DELETE");
  EXPECT_EQ(hook.last.get_string({"oldObject", "metadata", "name"}), "good");
}

TEST_F(Webhooks, SelectsByLabelsAndConditions) {
  configure(false, "/validate",
            R"(,"objectSelector":{"matchLabels":{"a":"b"}},"matchConditions":[{"name":"n",)"
            R"("expression":"object.metadata.name != 'skip'"}])");
  create("plain");
  EXPECT_EQ(hook.calls, 0);
  create("skip", R"(,"labels":{"a":"b"})");
  EXPECT_EQ(hook.calls, 0);
  create("hit", R"(,"labels":{"a":"b"})");
  EXPECT_EQ(hook.calls, 1);
}

TEST_F(Webhooks, FailurePolicy) {
  configure(false, "/validate", "", "absent");
  const Answer failed = create("x");
  EXPECT_EQ(failed.status, 500);
  EXPECT_TRUE(failed.json.get_string({"message"})
                  .starts_with("Internal error occurred: failed calling webhook \"h.example.com\": "
                               "failed to call webhook: Post "
                               "\"https://absent.hooks.svc:443/validate?timeout=10s\": "))
      << failed.body;
  client->remove("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/c");
  configure(false, "/validate", R"(,"failurePolicy":"Ignore")", "absent");
  EXPECT_EQ(create("x").status, 201);
}

TEST_F(Webhooks, SubresourcesHaveRulesOfTheirOwn) {
  configure(false, "/validate", "", "hook", "[\"pods/status\"]");
  const std::string pods = "/api/v1/namespaces/default/pods";
  const Answer made = client->post(
      pods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(hook.calls, 0);
  EXPECT_EQ(client->merge(pods + "/p/status", R"({"status":{"phase":"Running"}})").status, 200);
  EXPECT_EQ(hook.calls, 1);
  EXPECT_EQ(hook.last.get_string({"subResource"}), "status");
}

TEST_F(Webhooks, ManyCallersAtOnce) {
  configure(true, "/mutate", "");
  std::vector<std::thread> threads;
  std::atomic<int> made = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Client own(*server);
      for (int i = 0; i < 50; ++i)
        if (own.post(kMaps, "{\"metadata\":{\"name\":\"t" + std::to_string(t) + "-" +
                                std::to_string(i) + "\"}}")
                .status == 201)
          ++made;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(made, 200);
}

TEST_F(Webhooks, ValidatingAdmissionPolicies) {
  const std::string base = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic";
  const Answer policy = client->post(
      base + "ies",
      R"({"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],)"
      R"("apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]},"validations":[)"
      R"({"expression":"object.metadata.name != 'no'","message":"not that name"}]}})");
  ASSERT_EQ(policy.status, 201) << policy.body;
  EXPECT_EQ(create("no").status, 201);
  client->remove(std::string(kMaps) + "/no");
  const Answer binding = client->post(
      base + "ybindings",
      R"({"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"]}})");
  ASSERT_EQ(binding.status, 201) << binding.body;
  const Answer denied = create("no");
  EXPECT_EQ(denied.status, 422);
  EXPECT_EQ(denied.json.get_string({"message"}),
            "configmaps \"no\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied "
            "request: not that name");
  EXPECT_EQ(create("yes").status, 201);
}

// Answers for a group of its own.
class OtherServer : public wire::Handler {
 public:
  void handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) override {
    if (request.path == "/apis/other.example.com/v1")
      return sink->respond(wire::json_response(*json::parse(
          R"({"kind":"APIResourceList","groupVersion":"other.example.com/v1","resources":[{)"
          R"("name":"things","namespaced":true,"kind":"Thing","verbs":["get"]}]})")));
    sink->respond(wire::json_response(
        json::Value::object({{"path", request.path},
                             {"user", request.headers.get("X-Remote-User")},
                             {"token", request.headers.get("Authorization")}})));
  }
};

TEST_F(Webhooks, ApiServicesArePassedOn) {
  OtherServer other;
  server->register_service("kueue-system", "other", &other);
  const std::string path = "/apis/other.example.com/v1/namespaces/default/things/x";
  EXPECT_EQ(client->get(path).status, 404);
  const Answer made = client->post(
      "/apis/apiregistration.k8s.io/v1/apiservices",
      R"({"metadata":{"name":"v1.other.example.com"},"spec":{"group":"other.example.com",)"
      R"("version":"v1","service":{"namespace":"kueue-system","name":"other"},)"
      R"("groupPriorityMinimum":100,"versionPriority":100}})");
  ASSERT_EQ(made.status, 201) << made.body;
  const Answer answer = client->get(path);
  EXPECT_EQ(answer.json.get_string({"path"}), path) << answer.body;
  EXPECT_EQ(answer.json.get_string({"user"}), "admin");
  client->accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  EXPECT_NE(client->get("/apis").body.find("\"resource\":\"things\""), std::string::npos);
  client->accept = "";
  EXPECT_NE(client->get("/apis").body.find("other.example.com"), std::string::npos);
}

TEST(Plugins, PodsGetPriorityAndTolerations) {
  auto server = Server::open(testing::memory_options());
  ASSERT_TRUE(server.ok());
  Client client(**server);
  client.post("/apis/scheduling.k8s.io/v1/priorityclasses",
              R"({"metadata":{"name":"high"},"value":1000})");
  const std::string pods = "/api/v1/namespaces/default/pods";
  const auto pod = [](const std::string& name, const std::string& more) {
    return "{\"metadata\":{\"name\":\"" + name +
           "\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]" + more + "}}";
  };
  const Answer made = client.post(pods, pod("p", R"(,"priorityClassName":"high")"));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json.get_int({"spec", "priority"}), 1000);
  EXPECT_EQ(made.json.find_path({"spec", "tolerations"})->as_array().size(), 2u);
  EXPECT_EQ(made.json.get_string({"status", "qosClass"}), "BestEffort");
  EXPECT_EQ(
      client.post(pods, pod("q", R"(,"priorityClassName":"none")")).json.get_string({"message"}),
      "pods \"q\" is forbidden: no PriorityClass with name none was found");
  const Answer gated =
      client.post(pods, pod("g", R"(,"schedulingGates":[{"name":"example.com/g"}])"));
  ASSERT_EQ(gated.status, 201) << gated.body;
  EXPECT_EQ(client.merge(pods + "/g", R"({"spec":{"nodeSelector":{"a":"b"}}})").status, 200);
  EXPECT_EQ(client.merge(pods + "/g", R"({"spec":{"schedulingGates":null}})").status, 200);
  EXPECT_EQ(client.merge(pods + "/g", R"({"spec":{"nodeSelector":{"a":"c"}}})").status, 422);
  const Answer bound =
      client.post(pods + "/p/binding", R"({"metadata":{"name":"p"},"target":{"name":"n1"}})");
  EXPECT_EQ(bound.status, 201) << bound.body;
  EXPECT_EQ(client.get(pods + "/p").json.get_string({"spec", "nodeName"}), "n1");
  const Answer deleting = client.remove(pods + "/p");
  EXPECT_EQ(deleting.json.get_int({"metadata", "deletionGracePeriodSeconds"}), 30) << deleting.body;
  EXPECT_EQ(client.get(pods + "/p").status, 200);
  EXPECT_EQ(client.remove(pods + "/p?gracePeriodSeconds=0").status, 200);
  EXPECT_EQ(client.get(pods + "/p").status, 404);
}

}  // namespace
}  // namespace kueue::apiserver
