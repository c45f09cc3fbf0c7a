// Documents with values of wrong types at random places, sent to every verb: the server answers,
// and lives.
#include <gtest/gtest.h>

#include <random>

#include "api/crd_manifest.h"
#include "apiserver/testing.h"
#include "json/json.h"

namespace kueue::apiserver {
namespace {

using testing::Answer;
using testing::Client;

// Every place of the document, the root too.
void places(json::Value& value, std::vector<json::Value*>& out) {
  out.push_back(&value);
  if (value.is_object())
    for (auto& [key, member] : value.as_object()) places(member, out);
  if (value.is_array())
    for (json::Value& item : value.as_array()) places(item, out);
}

json::Value odd_value(std::mt19937& random) {
  switch (random() % 9) {
    case 0:
      return {};
    case 1:
      return json::Value(-7);
    case 2:
      return json::Value("x y");
    case 3:
      return json::Value::array();
    case 4:
      return json::Value::object();
    case 5:
      return json::Value(true);
    case 6:
      return json::Value::array({json::Value(1), json::Value()});
    case 7:
      return json::Value::object({{"a", 1}, {"", json::Value()}});
    default:
      return json::Value(1.5e300);
  }
}

struct Case {
  std::string_view path, body;
};

constexpr std::string_view kPod =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b"},"finalizers":["a/b"],)"
    R"("ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u"}]},"spec":{"nodeSelector":)"
    R"({"a":"b"},"tolerations":[{"key":"k","operator":"Exists"}],"schedulingGates":[{"name":"a/g"}],)"
    R"("volumes":[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}],"containers":)"
    R"([{"name":"c","image":"i","ports":[{"containerPort":1}],"env":[{"name":"A","valueFrom":{"fieldRef":)"
    R"({"fieldPath":"metadata.name"}}}],"livenessProbe":{"httpGet":{"port":1}},"resources":{"limits":)"
    R"({"cpu":"1"}}}]},"status":{"podIP":"1.2.3.4","conditions":[{"type":"Ready","status":"True"}]}})";
constexpr std::string_view kJob =
    R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"completions":2,"parallelism":1,)"
    R"("podFailurePolicy":{"rules":[{"action":"Ignore","onPodConditions":[{"type":"X"}]}]},"template":)"
    R"({"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}},)"
    R"("status":{"active":1,"conditions":[{"type":"Suspended","status":"True"}]}})";
constexpr std::string_view kDeployment =
    R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":1,"strategy":)"
    R"({"rollingUpdate":{"maxSurge":1}},"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":)"
    R"({"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})";
constexpr std::string_view kHook =
    R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration","metadata":)"
    R"({"name":"h"},"webhooks":[{"name":"a.b.c","clientConfig":{"service":{"namespace":"n","name":"s"}},"rules":)"
    R"([{"operations":["CREATE"],"apiGroups":["none"],"apiVersions":["v1"],"resources":["none"]}],"sideEffects":)"
    R"("None","failurePolicy":"Ignore","admissionReviewVersions":["v1"]}]})";
constexpr std::string_view kQueue =
    R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueue","metadata":{"name":"cq"},"spec":{"cohort":"c",)"
    R"("namespaceSelector":{},"resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"f","resources":)"
    R"([{"name":"cpu","nominalQuota":9}]}]}]},"status":{"conditions":[{"type":"Active","status":"True"}]}})";
constexpr std::string_view kWorkload =
    R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"w"},"spec":{"queueName":"q",)"
    R"("podSets":[{"name":"m","count":1,"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}]},"status":)"
    R"({"conditions":[{"type":"Finished","status":"True"}]}})";
constexpr std::string_view kCrd =
    R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"xs.y.io"},)"
    R"("spec":{"group":"y.io","scope":"Namespaced","names":{"plural":"xs","kind":"X","shortNames":["x"]},)"
    R"("versions":[{"name":"v1","served":true,"storage":true,"additionalPrinterColumns":[{"name":"A","type":)"
    R"("string","jsonPath":".spec.a"}],"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":)"
    R"("object","properties":{"a":{"type":"string","default":"b"}},"x-kubernetes-validations":[{"rule":)"
    R"("self.a != ''"}]}}}}}]}})";

constexpr Case kCases[] = {
    {"/api/v1/namespaces/default/pods", kPod},
    {"/apis/batch/v1/namespaces/default/jobs", kJob},
    {"/apis/apps/v1/namespaces/default/deployments", kDeployment},
    {"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", kHook},
    {"/apis/kueue.x-k8s.io/v1beta1/clusterqueues", kQueue},
    {"/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads", kWorkload},
    {"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", kCrd},
    {"/api/v1/namespaces", R"({"metadata":{"name":"n"},"spec":{"finalizers":["kubernetes"]}})"},
    {"/api/v1/nodes", R"({"metadata":{"name":"n"},"spec":{},"status":{"capacity":{"cpu":"1"}}})"},
    {"/api/v1/namespaces/default/secrets",
     R"({"metadata":{"name":"s"},"stringData":{"a":"b"},"data":{"c":"ZA=="}})"},
    {"/api/v1/namespaces/default/services",
     R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80}],"selector":{"a":"b"}}})"},
    {"/apis/events.k8s.io/v1/namespaces/default/events",
     R"({"metadata":{"name":"e"},"regarding":{"namespace":"default"},"series":{"count":1},"note":"n"})"},
    {"/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
     R"({"metadata":{"name":"h"},"spec":{"targetCPUUtilizationPercentage":5,"maxReplicas":2}})"},
};

// Bodies that are read without being stored.
constexpr Case kAsked[] = {
    {"/api/v1/namespaces/default/serviceaccounts/default/token",
     R"({"metadata":{"name":"x"},"spec":{"expirationSeconds":3600,"audiences":["a"]},"status":{}})"},
    {"/apis/authentication.k8s.io/v1/tokenreviews", R"({"metadata":{},"spec":{"token":"t"}})"},
    {"/apis/authentication.k8s.io/v1/selfsubjectreviews", R"({"metadata":{},"status":{}})"},
    {"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
     R"({"metadata":{},"spec":{"resourceAttributes":{"verb":"get"}}})"},
    {"/api/v1/namespaces/default/pods/keep/binding",
     R"({"metadata":{"name":"keep","annotations":{"a":"b"}},"target":{"name":"n"}})"},
    {"/api/v1/namespaces/default/pods/keep/eviction",
     R"({"metadata":{"name":"keep"},"deleteOptions":{"gracePeriodSeconds":9}})"},
    {"/api/v1/namespaces/default/bindings",
     R"({"metadata":{"name":"keep"},"target":{"name":"n"}})"},
};

class Malformed : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = Server::open(testing::memory_options());
    ASSERT_TRUE(opened.ok());
    server = std::move(opened).value();
    client = std::make_unique<Client>(*server);
    for (const json::Value& crd : api::crd_manifests())
      client->post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json::write(crd));
  }
  std::string damaged(std::string_view text) {
    auto document = json::parse(text);
    for (unsigned n = 1 + random() % 2; n > 0; --n) {
      std::vector<json::Value*> all;
      places(*document, all);
      *all[random() % all.size()] = odd_value(random);
    }
    return json::write(*document);
  }
  void expect_answer(const Answer& answer, const std::string& body) {
    EXPECT_GE(answer.status, 200) << body;
    EXPECT_LE(answer.status, 500) << body << answer.body;
  }
  std::mt19937 random{20260301};
  std::unique_ptr<Server> server;
  std::unique_ptr<Client> client;
};

TEST_F(Malformed, StoredKinds) {
  for (const Case& c : kCases) {
    const std::string collection(c.path);
    const auto good = json::parse(c.body);
    const std::string object =
        collection + "/" + std::string(good->get_string({"metadata", "name"}));
    for (int i = 0; i < 60; ++i) {
      const std::string body = damaged(c.body);
      expect_answer(client->post(collection + "?dryRun=All", body), body);
      expect_answer(client->post(collection, body), body);
    }
    client->post(collection, c.body);
    for (int i = 0; i < 40; ++i) {
      const std::string body = damaged(c.body);
      expect_answer(client->put(object, body), body);
      expect_answer(client->merge(object, body), body);
      expect_answer(client->merge(object + "/status", body), body);
      expect_answer(client->merge(object + "/scale", body), body);
      expect_answer(client->call("PATCH", object + "?fieldManager=m&force=true", body,
                                 "application/apply-patch+yaml"),
                    body);
      expect_answer(client->call("PATCH", object, body, "application/strategic-merge-patch+json"),
                    body);
      expect_answer(client->call("PATCH", object, "[" + body + "]", "application/json-patch+json"),
                    body);
    }
    for (std::string_view options : {R"({"preconditions":3})", R"([])", R"({"dryRun":{"a":1}})"})
      expect_answer(client->remove(object, options), std::string(options));
    client->accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    expect_answer(client->get(collection), "table");
    client->accept.clear();
  }
  EXPECT_EQ(client->get("/readyz").status, 200);
}

TEST_F(Malformed, AskedKinds) {
  client->post("/api/v1/namespaces/default/pods",
               R"({"metadata":{"name":"keep"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  client->await_status("/api/v1/namespaces/default/serviceaccounts/default", 200);
  for (const Case& c : kAsked)
    for (int i = 0; i < 60; ++i) {
      const std::string body = damaged(c.body);
      expect_answer(client->post(c.path, body), body);
    }
  EXPECT_EQ(client->get("/readyz").status, 200);
}

}  // namespace
}  // namespace kueue::apiserver
