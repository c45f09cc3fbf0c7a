// CustomResourceDefinitions: served when stored, validated, converted, removed with their objects.
// The eleven of Kueue are taken from the shared schemas.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "apiserver/testing.h"
#include "json/json.h"

namespace kueue::apiserver {
namespace {

using testing::Answer;
using testing::Client;

constexpr std::string_view kCrds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

constexpr std::string_view kCronTab = R"({"apiVersion":"apiextensions.k8s.io/v1",
"kind":"CustomResourceDefinition","metadata":{"name":"crontabs.example.com"},"spec":{
"group":"example.com","scope":"Namespaced","names":{"plural":"crontabs","singular":"crontab",
"kind":"CronTab","shortNames":["ct"]},"versions":[{"name":"v1","served":true,"storage":true,
"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas",
"statusReplicasPath":".status.replicas","labelSelectorPath":".status.selector"}},
"additionalPrinterColumns":[{"name":"Spec","type":"string","jsonPath":".spec.cronSpec"},
{"name":"Replicas","type":"integer","jsonPath":".spec.replicas"}],
"selectableFields":[{"jsonPath":".spec.cronSpec"}],
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object",
"required":["cronSpec"],"properties":{"cronSpec":{"type":"string","pattern":"^[0-9*/ ]+$"},
"replicas":{"type":"integer","minimum":1,"maximum":10,"default":1},
"image":{"type":"string"}},"x-kubernetes-validations":[{"rule":
"!has(self.image) || self.image != 'bad'","message":"bad image"},{"rule":
"!has(oldSelf.image) || self.image == oldSelf.image","message":"image is immutable"}]},
"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}},
{"name":"v1beta1","served":true,"storage":false,"deprecated":true,
"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})";

class CrdTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = Server::open(testing::memory_options());
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    server = std::move(opened).value();
    client = std::make_unique<Client>(*server);
  }
  std::unique_ptr<Server> server;
  std::unique_ptr<Client> client;
};

constexpr std::string_view kTabs = "/apis/example.com/v1/namespaces/default/crontabs";

TEST_F(CrdTest, ServedAtOnce) {
  const Answer crd = client->post(kCrds, kCronTab);
  ASSERT_EQ(crd.status, 201) << crd.body;
  EXPECT_EQ(crd.json.find_path({"status", "conditions"})->as_array()[1].get_string({"type"}),
            "Established");
  EXPECT_EQ(client->get("/apis/example.com/v1").status, 200);
  const Answer made = client->post(
      kTabs, R"({"apiVersion":"example.com/v1","kind":"CronTab","metadata":{"name":"a"},"spec":{)"
             R"("cronSpec":"* *","unknown":1},"status":{"x":1}})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json.get_int({"spec", "replicas"}), 1);
  EXPECT_EQ(made.json.find_path({"spec", "unknown"}), nullptr);
  EXPECT_EQ(made.json.find("status"), nullptr);
  EXPECT_EQ(made.headers.get("Warning"), "299 - \"unknown field \\\"spec.unknown\\\"\"");

  const std::string path = std::string(kTabs) + "/a";
  EXPECT_EQ(client->merge(path + "/status", R"({"status":{"replicas":3,"selector":"a=b"}})").status,
            200);
  const Answer scale = client->get(path + "/scale");
  EXPECT_EQ(scale.json.get_int({"status", "replicas"}), 3) << scale.body;
  EXPECT_EQ(scale.json.get_string({"status", "selector"}), "a=b");
  const Answer scaled = client->merge(path + "/scale", R"({"spec":{"replicas":5}})");
  EXPECT_EQ(scaled.status, 200) << scaled.body;
  EXPECT_EQ(client->get(path).json.get_int({"spec", "replicas"}), 5);
  EXPECT_EQ(client->get(path).json.get_int({"metadata", "generation"}), 2);

  client->accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
  const Answer table = client->get(kTabs);
  EXPECT_EQ(json::write(*table.json.find("rows")->as_array()[0].find("cells")), R"(["a","* *",5])");
  client->accept = "";
  EXPECT_EQ(client->get(std::string(kTabs) + "?fieldSelector=spec.cronSpec%3D*%20*")
                .json.find("items")
                ->as_array()
                .size(),
            1u);
  const Answer old = client->get("/apis/example.com/v1beta1/namespaces/default/crontabs/a");
  EXPECT_EQ(old.json.get_string({"apiVersion"}), "example.com/v1beta1") << old.body;
  EXPECT_NE(old.headers.get("Warning").find("deprecated"), std::string_view::npos);
}

TEST_F(CrdTest, RefusesInvalidObjects) {
  client->post(kCrds, kCronTab);
  const struct {
    std::string_view spec, message;
  } cases[] = {
      {R"({})",
       "CronTab.example.com \"a\" is invalid: [spec.cronSpec: Required value, <nil>: Invalid "
       "value: null: some validation rules were not checked because the object was invalid; "
       "correct the existing errors to complete validation]"},
      {R"({"cronSpec":"x"})",
       "CronTab.example.com \"a\" is invalid: spec.cronSpec: Invalid value: \"x\": spec.cronSpec "
       "in body should match '^[0-9*/ ]+$'"},
      {R"({"cronSpec":"*","replicas":11})",
       "CronTab.example.com \"a\" is invalid: spec.replicas: Invalid value: 11: spec.replicas in "
       "body should be less than or equal to 10"},
      {R"({"cronSpec":"*","image":"bad"})",
       "CronTab.example.com \"a\" is invalid: spec: Invalid value: bad image"},
  };
  for (const auto& c : cases) {
    const Answer answer =
        client->post(kTabs, "{\"metadata\":{\"name\":\"a\"},\"spec\":" + std::string(c.spec) + "}");
    EXPECT_EQ(answer.status, 422) << answer.body;
    EXPECT_EQ(answer.json.get_string({"message"}), c.message);
  }
  ASSERT_EQ(client->post(kTabs, R"({"metadata":{"name":"a"},"spec":{"cronSpec":"*","image":"i"}})")
                .status,
            201);
  EXPECT_EQ(client->merge(std::string(kTabs) + "/a", R"({"spec":{"image":"j"}})")
                .json.get_string({"message"}),
            "CronTab.example.com \"a\" is invalid: spec: Invalid value: image is immutable");
  EXPECT_EQ(
      client
          ->call("PATCH", std::string(kTabs) + "/a", "{}", "application/strategic-merge-patch+json")
          .status,
      415);
}

TEST_F(CrdTest, GoesWithItsObjects) {
  client->post(kCrds, kCronTab);
  client->post(kTabs, R"({"metadata":{"name":"a"},"spec":{"cronSpec":"*"}})");
  EXPECT_EQ(client->remove(std::string(kCrds) + "/crontabs.example.com").status, 200);
  EXPECT_EQ(client->await_status(std::string(kCrds) + "/crontabs.example.com", 404).status, 404);
  EXPECT_EQ(client->await_status(kTabs, 404).status, 404);
  client->post(kCrds, kCronTab);
  EXPECT_EQ(client->get(kTabs).json.find("items")->as_array().size(), 0u);
}

TEST_F(CrdTest, KueueDefinitionsAreAccepted) {
  const char* given = std::getenv("KUEUE_SHARED");
  const std::filesystem::path shared = given != nullptr ? given : KUEUE_SOURCE_DIR "/../shared";
  if (!std::filesystem::exists(shared / "schemas/kueue"))
    GTEST_SKIP() << "NO SHARED SCHEMAS at " << shared << ": Kueue's definitions are not tested";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shared / "schemas/kueue")) {
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    const Answer made = client->post(kCrds, text.str());
    EXPECT_EQ(made.status, 201) << entry.path() << ": " << made.body.substr(0, 2000);
    ++count;
  }
  EXPECT_EQ(count, 11);
  const Answer flavor = client->post("/apis/kueue.x-k8s.io/v1beta2/resourceflavors",
                                     R"({"metadata":{"name":"default-flavor"}})");
  EXPECT_EQ(flavor.status, 201) << flavor.body;
}

}  // namespace
}  // namespace kueue::apiserver
