// Objects through handle(): create, read, update, patch, delete, watch.
#include <gtest/gtest.h>

#include "apiserver/testing.h"
#include "json/json.h"

namespace kueue::apiserver {
namespace {

using testing::Answer;
using testing::Client;
using testing::Stream;

constexpr std::string_view kMaps = "/api/v1/namespaces/default/configmaps";

class Crud : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = Server::open(testing::memory_options());
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    server = std::move(opened).value();
    client = std::make_unique<Client>(*server);
  }
  std::string config_map(const std::string& name, const std::string& more = "") {
    return "{\"metadata\":{\"name\":\"" + name + "\"" + more + "},\"data\":{\"a\":\"1\"}}";
  }
  std::unique_ptr<Server> server;
  std::unique_ptr<Client> client;
};

TEST_F(Crud, CreateReadDelete) {
  const Answer made = client->post(kMaps, config_map("x"));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json.get_string({"kind"}), "ConfigMap");
  EXPECT_EQ(made.json.get_string({"metadata", "namespace"}), "default");
  EXPECT_EQ(made.json.get_string({"metadata", "uid"}).size(), 36u);
  EXPECT_FALSE(made.json.get_string({"metadata", "resourceVersion"}).empty());
  const Answer got = client->get(std::string(kMaps) + "/x");
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.json, made.json);
  EXPECT_EQ(client->post(kMaps, config_map("x")).json.get_string({"message"}),
            "configmaps \"x\" already exists");
  const Answer gone = client->remove(std::string(kMaps) + "/x");
  EXPECT_EQ(gone.status, 200);
  EXPECT_EQ(gone.json.get_string({"status"}), "Success");
  EXPECT_EQ(client->get(std::string(kMaps) + "/x").json.get_string({"message"}),
            "configmaps \"x\" not found");
}

TEST_F(Crud, EventsCarryEmptyTimes) {
  constexpr std::string_view kCore = "/api/v1/namespaces/default/events";
  constexpr std::string_view kNew = "/apis/events.k8s.io/v1/namespaces/default/events";
  const Answer made = client->post(
      kNew,
      R"({"metadata":{"name":"e"},"eventTime":"2026-03-01T11:59:50.000000Z","type":"Normal",
          "reason":"R","action":"A","reportingController":"c","reportingInstance":"i",
          "regarding":{"kind":"Pod","namespace":"default","name":"p"}})");
  ASSERT_EQ(made.status, 201) << made.body;
  const auto is_null = [](const json::Value& object, std::string_view field) {
    const json::Value* found = object.find(field);
    return found != nullptr && found->is_null();
  };
  EXPECT_TRUE(is_null(made.json, "deprecatedLastTimestamp")) << made.body;
  const Answer core = client->get(std::string(kCore) + "/e");
  EXPECT_TRUE(is_null(core.json, "lastTimestamp")) << core.body;
  EXPECT_TRUE(is_null(core.json, "firstTimestamp")) << core.body;
  EXPECT_EQ(core.json.get_string({"reportingComponent"}), "c");
  const Answer old = client->post(
      kCore,
      R"({"metadata":{"name":"f"},"lastTimestamp":"2026-03-01T11:59:50Z","type":"Normal",
          "reason":"R","involvedObject":{"kind":"Pod","namespace":"default","name":"p"}})");
  ASSERT_EQ(old.status, 201) << old.body;
  EXPECT_EQ(old.json.get_string({"lastTimestamp"}), "2026-03-01T11:59:50Z");
  EXPECT_TRUE(is_null(old.json, "eventTime")) << old.body;
}

TEST_F(Crud, RefusesBadInput) {
  const struct {
    std::string_view path, body, message;
    int status;
  } cases[] = {
      {kMaps, R"({"metadata":{"name":"A"}})",
       "ConfigMap \"A\" is invalid: metadata.name: Invalid value: \"A\": a lowercase RFC 1123 "
       "subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
       "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
       "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
       422},
      {kMaps, R"({"metadata":{}})",
       "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is "
       "required",
       422},
      {"/api/v1/namespaces/none/configmaps", R"({"metadata":{"name":"a"}})",
       "namespaces \"none\" not found", 404},
      {kMaps, R"({"metadata":{"name":"a","namespace":"other"}})",
       "the namespace of the provided object does not match the namespace sent on the request",
       400},
      {kMaps, R"({"metadata":{"name":"a","resourceVersion":"5"}})",
       "resourceVersion should not be set on objects to be created", 400},
  };
  for (const auto& c : cases) {
    const Answer answer = client->post(c.path, c.body);
    EXPECT_EQ(answer.status, c.status) << answer.body;
    EXPECT_EQ(answer.json.get_string({"message"}), c.message);
  }
  EXPECT_EQ(client->post(kMaps, "{").status, 400);
  EXPECT_EQ(client->post(kMaps, std::string(4 << 20, ' ')).status, 413);
  EXPECT_EQ(client->post(kMaps, std::string(100000, '[')).status, 400);
  EXPECT_EQ(client->call("POST", kMaps, "x", "text/plain").status, 415);
  EXPECT_EQ(client->get("/api/v1/nosuch").status, 404);
}

TEST_F(Crud, UpdateAndConflict) {
  Answer made = client->post(kMaps, config_map("x"));
  json::Value object = made.json;
  object["data"]["b"] = "2";
  const std::string path = std::string(kMaps) + "/x";
  const Answer updated = client->put(path, json::write(object));
  ASSERT_EQ(updated.status, 200) << updated.body;
  EXPECT_EQ(updated.json.get_string({"data", "b"}), "2");
  EXPECT_EQ(updated.json.get_string({"metadata", "uid"}),
            made.json.get_string({"metadata", "uid"}));
  object["data"]["b"] = "3";
  const Answer conflict = client->put(path, json::write(object));
  EXPECT_EQ(conflict.status, 409);
  EXPECT_EQ(conflict.json.get_string({"message"}),
            "Operation cannot be fulfilled on configmaps \"x\": the object has been modified; "
            "please apply your changes to the latest version and try again");
  const Answer same = client->put(path, json::write(updated.json));
  EXPECT_EQ(same.json.get_string({"metadata", "resourceVersion"}),
            updated.json.get_string({"metadata", "resourceVersion"}));
  const Answer patched = client->merge(path, R"({"data":{"b":null,"c":"4"}})");
  EXPECT_EQ(patched.status, 200) << patched.body;
  EXPECT_EQ(patched.json.find_path({"data", "b"}), nullptr);
  EXPECT_EQ(patched.json.get_string({"data", "c"}), "4");
  const Answer json_patched =
      client->call("PATCH", path, R"([{"op":"replace","path":"/data/c","value":"5"}])",
                   "application/json-patch+json");
  EXPECT_EQ(json_patched.json.get_string({"data", "c"}), "5") << json_patched.body;
}

TEST_F(Crud, GenerateNameAndDryRun) {
  const Answer made = client->post(kMaps, R"({"metadata":{"generateName":"gen-"},"data":{}})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_TRUE(made.json.get_string({"metadata", "name"}).starts_with("gen-"));
  EXPECT_EQ(made.json.get_string({"metadata", "name"}).size(), 9u);
  const Answer dry = client->post(std::string(kMaps) + "?dryRun=All", config_map("dry"));
  EXPECT_EQ(dry.status, 201);
  EXPECT_EQ(client->get(std::string(kMaps) + "/dry").status, 404);
}

TEST_F(Crud, PagesAndSelectors) {
  for (int i = 0; i < 5; ++i)
    client->post(kMaps, config_map("m" + std::to_string(i),
                                   i % 2 == 0 ? R"(,"labels":{"even":"yes"})" : ""));
  const Answer all = client->get(kMaps);
  EXPECT_EQ(all.json.find("items")->as_array().size(), 5u) << all.body;
  Answer page = client->get(std::string(kMaps) + "?limit=2");
  EXPECT_EQ(page.json.find("items")->as_array().size(), 2u);
  EXPECT_EQ(page.json.get_int({"metadata", "remainingItemCount"}), 3);
  client->remove(std::string(kMaps) + "/m3");
  std::string token(page.json.get_string({"metadata", "continue"}));
  page = client->get(std::string(kMaps) + "?limit=2&continue=" + token);
  ASSERT_EQ(page.json.find("items")->as_array().size(), 2u) << page.body;
  EXPECT_EQ(page.json.find("items")->as_array()[1].get_string({"metadata", "name"}), "m3");
  EXPECT_EQ(client->get(std::string(kMaps) + "?labelSelector=even%3Dyes")
                .json.find("items")
                ->as_array()
                .size(),
            3u);
  EXPECT_EQ(client->get(std::string(kMaps) + "?fieldSelector=metadata.name%3Dm1")
                .json.find("items")
                ->as_array()
                .size(),
            1u);
  EXPECT_EQ(client->get(std::string(kMaps) + "?fieldSelector=foo%3Dm1").status, 400);
}

TEST_F(Crud, WatchWithSelector) {
  const std::string version(client->get(kMaps).json.get_string({"metadata", "resourceVersion"}));
  Stream stream =
      client->watch(std::string(kMaps) + "?watch=1&labelSelector=a%3Db&resourceVersion=" + version);
  ASSERT_EQ(stream.status(), 200);
  client->post(kMaps, config_map("other"));
  client->post(kMaps, config_map("x", R"(,"labels":{"a":"b"})"));
  json::Value event = stream.next();
  EXPECT_EQ(event.get_string({"type"}), "ADDED");
  EXPECT_EQ(event.get_string({"object", "metadata", "name"}), "x");
  client->merge(std::string(kMaps) + "/x", R"({"data":{"a":"2"}})");
  EXPECT_EQ(stream.next().get_string({"type"}), "MODIFIED");
  client->merge(std::string(kMaps) + "/x", R"({"metadata":{"labels":{"a":"c"}}})");
  event = stream.next();
  EXPECT_EQ(event.get_string({"type"}), "DELETED");
  EXPECT_EQ(event.get_string({"object", "metadata", "labels", "a"}), "b");
  client->merge(std::string(kMaps) + "/x", R"({"metadata":{"labels":{"a":"b"}}})");
  EXPECT_EQ(stream.next().get_string({"type"}), "ADDED");
  client->remove(std::string(kMaps) + "/x");
  EXPECT_EQ(stream.next().get_string({"type"}), "DELETED");
  server->stop();
  EXPECT_TRUE(stream.ended());
}

TEST_F(Crud, WatchListAndExpired) {
  client->post(kMaps, config_map("x"));
  Stream stream = client->watch(std::string(kMaps) +
                                "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&"
                                "resourceVersionMatch=NotOlderThan");
  EXPECT_EQ(stream.next().get_string({"object", "metadata", "name"}), "x");
  const json::Value mark = stream.next();
  EXPECT_EQ(mark.get_string({"type"}), "BOOKMARK");
  EXPECT_EQ(mark.get_string({"object", "metadata", "annotations", "k8s.io/initial-events-end"}),
            "true");
  Stream late = client->watch(std::string(kMaps) + "?watch=1&resourceVersion=99999999");
  const json::Value error = late.next();
  EXPECT_EQ(error.get_string({"type"}), "ERROR");
  EXPECT_EQ(error.get_int({"object", "code"}), 410);
  EXPECT_TRUE(late.ended());
}

TEST_F(Crud, FinalizersKeepAnObject) {
  client->post(kMaps, config_map("x", R"(,"finalizers":["example.com/f"])"));
  const std::string path = std::string(kMaps) + "/x";
  const Answer deleted = client->remove(path);
  EXPECT_EQ(deleted.json.get_string({"kind"}), "ConfigMap");
  EXPECT_FALSE(deleted.json.get_string({"metadata", "deletionTimestamp"}).empty());
  EXPECT_EQ(client->get(path).status, 200);
  EXPECT_EQ(client->merge(path, R"({"metadata":{"finalizers":null}})").status, 200);
  EXPECT_EQ(client->get(path).status, 404);
}

TEST_F(Crud, JobsAreDefaulted) {
  const Answer made = client->post(
      "/apis/batch/v1/namespaces/default/jobs",
      R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"pi"},"spec":{"template":{"spec":{)"
      R"("containers":[{"name":"c","image":"busybox"}],"restartPolicy":"Never"}}}})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json.get_int({"spec", "backoffLimit"}), 6);
  EXPECT_EQ(made.json.get_int({"metadata", "generation"}), 1);
  EXPECT_EQ(made.json.get_string(
                {"spec", "selector", "matchLabels", "batch.kubernetes.io/controller-uid"}),
            made.json.get_string({"metadata", "uid"}));
  const std::string path = "/apis/batch/v1/namespaces/default/jobs/pi";
  const Answer status =
      client->merge(path + "/status", R"({"status":{"active":1},"spec":{"parallelism":7}})");
  ASSERT_EQ(status.status, 200) << status.body;
  EXPECT_EQ(status.json.get_int({"status", "active"}), 1);
  EXPECT_EQ(status.json.get_int({"spec", "parallelism"}), 1);
  EXPECT_EQ(status.json.get_int({"metadata", "generation"}), 1);
  const Answer spec = client->merge(path, R"({"spec":{"parallelism":2},"status":{"active":9}})");
  ASSERT_EQ(spec.status, 200) << spec.body;
  EXPECT_EQ(spec.json.get_int({"status", "active"}), 1);
  EXPECT_EQ(spec.json.get_int({"metadata", "generation"}), 2);
  EXPECT_EQ(client->merge(path, R"({"spec":{"completions":5}})").json.get_string({"message"}),
            "Job.batch \"pi\" is invalid: spec.completions: Invalid value: 5: field is immutable");
}

TEST_F(Crud, OwnersTakeDependentsAlong) {
  const Answer owner = client->post(kMaps, config_map("owner"));
  const std::string reference =
      R"(,"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":")" +
      std::string(owner.json.get_string({"metadata", "uid"})) + R"("}])";
  client->post(kMaps, config_map("child", reference));
  client->remove(std::string(kMaps) + "/owner");
  EXPECT_EQ(client->await_status(std::string(kMaps) + "/child", 404).status, 404);
}

TEST_F(Crud, NamespacesTerminate) {
  EXPECT_EQ(client->post("/api/v1/namespaces", R"({"metadata":{"name":"n"}})").status, 201);
  EXPECT_EQ(client->await_status("/api/v1/namespaces/n/serviceaccounts/default", 200).status, 200);
  client->post("/api/v1/namespaces/n/configmaps",
               config_map("x", R"(,"finalizers":["example.com/f"])"));
  const Answer deleted = client->remove("/api/v1/namespaces/n");
  EXPECT_EQ(deleted.json.get_string({"status", "phase"}), "Terminating") << deleted.body;
  EXPECT_EQ(
      client->post("/api/v1/namespaces/n/configmaps", config_map("y")).json.get_string({"message"}),
      "configmaps \"y\" is forbidden: unable to create new content in namespace n because "
      "it is being terminated");
  client->merge("/api/v1/namespaces/n/configmaps/x", R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(client->await_status("/api/v1/namespaces/n", 404).status, 404);
}

TEST_F(Crud, Discovery) {
  EXPECT_EQ(client->get("/version").json.get_string({"minor"}), "36");
  EXPECT_EQ(client->get("/api").json.get_string({"kind"}), "APIVersions");
  EXPECT_EQ(client->get("/apis/batch/v1").json.get_string({"groupVersion"}), "batch/v1");
  client->accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  EXPECT_EQ(client->get("/apis").json.get_string({"kind"}), "APIGroupDiscoveryList");
  client->accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
  EXPECT_EQ(client->get(kMaps).json.get_string({"kind"}), "Table");
  client->accept = "text/html";
  EXPECT_EQ(client->get(kMaps).status, 406);
}

TEST_F(Crud, Authentication) {
  client->identity = {};
  EXPECT_EQ(client->get("/readyz").body, "ok");
  EXPECT_EQ(client->get(kMaps).json.get_string({"message"}),
            "configmaps is forbidden: User \"system:anonymous\" cannot list resource "
            "\"configmaps\" in API group \"\" in the namespace \"default\"");
  client->authorization = "Bearer wrong";
  EXPECT_EQ(client->get(kMaps).status, 401);
}

}  // namespace
}  // namespace kueue::apiserver
