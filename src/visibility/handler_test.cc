#include "visibility/handler.h"

#include <gtest/gtest.h>

#include <map>

#include "json/json.h"
#include "wire/path.h"

namespace kueue::visibility {
namespace {

// Answers reviews from tables and counts them.
struct Reviews final : wire::Transport {
  std::map<std::string, std::string> tokens;  // token -> user
  std::string allowed_user;                   // may do everything
  int asked = 0;
  json::Value last;
  Result<wire::Response> round_trip(const wire::Request& request, Duration) override {
    ++asked;
    last = json::parse(request.body).value();
    json::Value answer = last;
    if (request.path.ends_with("tokenreviews")) {
      const auto it = tokens.find(std::string(last.get_string({"spec", "token"})));
      answer.at_path({"status", "authenticated"}) = it != tokens.end();
      if (it != tokens.end()) answer.at_path({"status", "user", "username"}) = it->second;
    } else {
      answer.at_path({"status", "allowed"}) = last.get_string({"spec", "user"}) == allowed_user;
    }
    wire::Response response;
    response.status = 201;
    response.body = json::write(answer);
    return response;
  }
  std::unique_ptr<wire::StreamHandle> open_stream(const wire::Request&,
                                                  std::shared_ptr<wire::StreamReceiver>) override {
    return nullptr;
  }
};

struct FixedClock final : Clock {
  Instant time{1'700'000'000'000'000'000};
  Instant now() const override { return time; }
};

// Ten workloads of the ClusterQueue "cq", every second of LocalQueue "b".
struct TenWorkloads final : Source {
  static std::optional<std::vector<Pending>> page(int step, size_t offset, size_t limit) {
    std::vector<Pending> out;
    for (int i = step - 1; i < 10; i += step)
      out.push_back({.namespace_ = "ns",
                     .name = "w" + std::to_string(i),
                     .created = {1'700'000'000'000'000'000},
                     .owners = {{"batch/v1", "Job", "j" + std::to_string(i), "u"}},
                     .priority = 7,
                     .local_queue = i % 2 == 0 ? "a" : "b",
                     .position_in_cluster_queue = i,
                     .position_in_local_queue = i / 2});
    const size_t from = std::min(offset, out.size());
    return std::vector<Pending>(
        out.begin() + static_cast<int64_t>(from),
        out.begin() + static_cast<int64_t>(from + std::min(limit, out.size() - from)));
  }
  std::optional<std::vector<Pending>> of_cluster_queue(std::string_view name, size_t offset,
                                                       size_t limit) override {
    if (name != "cq") return std::nullopt;
    return page(1, offset, limit);
  }
  std::optional<std::vector<Pending>> of_local_queue(std::string_view ns, std::string_view name,
                                                     size_t offset, size_t limit) override {
    if (ns != "ns" || name != "b") return std::nullopt;
    return page(2, offset, limit);
  }
  std::optional<json::Value> explanation(std::string_view ns, std::string_view name) override {
    if (ns != "ns" || name != "w1") return std::nullopt;
    return json::Value::object({{"kind", "WorkloadExplanation"}});
  }
};

class VisibilityTest : public testing::Test {
 protected:
  std::shared_ptr<Reviews> reviews_ = std::make_shared<Reviews>();
  FixedClock clock_;
  Access access_{reviews_, clock_};
  TenWorkloads source_;
  Handler handler_{source_, access_, ":8082"};

  wire::Request request(const std::string& target) {
    wire::Request request;
    const size_t mark = target.find('?');
    request.path = target.substr(0, mark);
    if (mark != std::string::npos) request.query = wire::parse_query(target.substr(mark + 1));
    return request;
  }
  wire::Response as_admin(const std::string& target, const std::string& method = "GET") {
    wire::Request asked = request(target);
    asked.method = method;
    asked.identity = {.user = "admin", .groups = {"system:masters"}, .extra = {}};
    return handler_.answer(asked);
  }
  json::Value get(const std::string& target, int status = 200) {
    const wire::Response response = as_admin(target);
    EXPECT_EQ(response.status, status) << target << response.body;
    return json::parse(response.body).value();
  }
};

constexpr const char* kClusterQueue =
    "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/cq/pendingworkloads";
constexpr const char* kLocalQueue =
    "/apis/visibility.kueue.x-k8s.io/v1beta1/namespaces/ns/localqueues/b/pendingworkloads";

TEST_F(VisibilityTest, ListsWithPositions) {
  const json::Value list = get(kClusterQueue);
  EXPECT_EQ(json::write(list).substr(0, 111),
            R"({"kind":"PendingWorkloadsSummary","apiVersion":"visibility.kueue.x-k8s.io/v1beta2",)"
            R"("metadata":{},"items":[{"met)");
  ASSERT_EQ(list.find("items")->as_array().size(), 10u);
  EXPECT_EQ(
      json::write(list.find("items")->as_array()[3]),
      R"({"metadata":{"name":"w3","namespace":"ns","creationTimestamp":"2023-11-14T22:13:20Z",)"
      R"("ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j3","uid":"u"}]},)"
      R"("priority":7,"localQueueName":"b","positionInClusterQueue":3,)"
      R"("positionInLocalQueue":1})");
  EXPECT_EQ(get(kLocalQueue).find("items")->as_array().size(), 5u);
}

TEST_F(VisibilityTest, ExplainsToThoseWhoMayAsk) {
  const std::string base = "/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/ns/workloads/";
  EXPECT_EQ(get(base + "w1/explanation").get_string({"kind"}), "WorkloadExplanation");
  EXPECT_EQ(get(base + "w2/explanation", 404).get_string({"message"}),
            "workloads.visibility.kueue.x-k8s.io \"w2\" not found");
  get(base + "w1", 404);
  get("/apis/visibility.kueue.x-k8s.io/v1beta1/namespaces/ns/workloads/w1/explanation", 404);
  EXPECT_EQ(as_admin(base + "w1/explanation", "DELETE").status, 405);
  wire::Request asked = request(base + "w1/explanation");
  asked.method = "GET";
  asked.identity = {.user = "eve", .groups = {}, .extra = {}};
  EXPECT_EQ(handler_.answer(asked).status, 403);
  EXPECT_EQ(reviews_->last.get_string({"spec", "resourceAttributes", "resource"}), "workloads");
  EXPECT_EQ(reviews_->last.get_string({"spec", "resourceAttributes", "subresource"}),
            "explanation");
  EXPECT_EQ(reviews_->last.get_string({"spec", "resourceAttributes", "namespace"}), "ns");
  // Nothing that lists the API tells of it.
  for (const char* path : {"/apis/visibility.kueue.x-k8s.io/v1beta2",
                           "/openapi/v3/apis/visibility.kueue.x-k8s.io/v1beta2"})
    EXPECT_EQ(as_admin(path).body.find("explanation"), std::string::npos);
}

TEST_F(VisibilityTest, PagesAndLimits) {
  struct Case {
    const char* query;
    std::vector<std::string> names;
  };
  const Case cases[] = {
      {"?limit=2", {"w0", "w1"}},
      {"?limit=1&offset=1", {"w1"}},
      {"?offset=9", {"w9"}},
      {"?offset=10", {}},
      {"?limit=-1", {}},
      {"?limit=0&offset=8", {"w8", "w9"}},
      {"?limit=2000000000&offset=9", {"w9"}},
      {"?offset=-5&limit=1", {"w0"}},
  };
  for (const Case& c : cases) {
    std::vector<std::string> names;
    const json::Value list = get(std::string(kClusterQueue) + c.query);
    for (const json::Value& item : list.find("items")->as_array())
      names.emplace_back(item.get_string({"metadata", "name"}));
    EXPECT_EQ(names, c.names) << c.query;
  }
  const json::Value bad = get(std::string(kClusterQueue) + "?limit=x", 400);
  EXPECT_EQ(bad.get_string({"message"}), R"(strconv.ParseInt: parsing "x": invalid syntax)");
  EXPECT_EQ(
      get(std::string(kClusterQueue) + "?offset=99999999999999999999", 400).get_string({"message"}),
      R"(strconv.ParseInt: parsing "99999999999999999999": value out of range)");
}

TEST_F(VisibilityTest, UnknownQueuesAndPaths) {
  const json::Value queue =
      get("/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/no/pendingworkloads", 404);
  EXPECT_EQ(queue.get_string({"message"}),
            R"(clusterqueue.visibility.kueue.x-k8s.io "no" not found)");
  EXPECT_EQ(queue.get_string({"details", "kind"}), "clusterqueue");
  for (const char* path :
       {"/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/cq", "/api/v1/pods",
        "/apis/visibility.kueue.x-k8s.io/v1/clusterqueues/cq/pendingworkloads",
        "/apis/visibility.kueue.x-k8s.io/v1beta2/localqueues/b/pendingworkloads", "/metrics"})
    EXPECT_EQ(get(path, 404).get_string({"message"}),
              "the server could not find the requested resource")
        << path;
  EXPECT_EQ(as_admin(kClusterQueue, "POST").status, 405);
  EXPECT_EQ(as_admin("/apis", "DELETE").status, 405);
}

TEST_F(VisibilityTest, Discovery) {
  EXPECT_EQ(get("/apis").find("groups")->as_array()[0].get_string({"preferredVersion", "version"}),
            "v1beta2");
  EXPECT_EQ(get("/apis/visibility.kueue.x-k8s.io").find("versions")->as_array().size(), 2u);
  const json::Value resources = get("/apis/visibility.kueue.x-k8s.io/v1beta1");
  ASSERT_EQ(resources.find("resources")->as_array().size(), 4u);
  EXPECT_EQ(json::write(resources.find("resources")->as_array()[1]),
            R"({"name":"clusterqueues/pendingworkloads","singularName":"","namespaced":false,)"
            R"("kind":"PendingWorkloadsSummary","verbs":["get"]})");
  EXPECT_NE(get("/openapi/v3").find_path({"paths", "apis/visibility.kueue.x-k8s.io/v1beta2"}),
            nullptr);
  for (const std::string version : {"v1beta1", "v1beta2"}) {
    SCOPED_TRACE(version);
    const std::string document =
        as_admin("/openapi/v3/apis/visibility.kueue.x-k8s.io/" + version).body;
    EXPECT_NE(document.find("PendingWorkloadsSummary"), std::string::npos);
    EXPECT_NE(document.find("positionInLocalQueue"), std::string::npos);
    EXPECT_NE(document.find("Kueue visibility-server"), std::string::npos);
    EXPECT_EQ(document.find(version == "v1beta1" ? "v1beta2" : "v1beta1"), std::string::npos);
  }
}

TEST_F(VisibilityTest, NobodySeesWithoutPermission) {
  wire::Request asked = request(kClusterQueue);
  const wire::Response refused = handler_.answer(asked);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(json::parse(refused.body)->get_string({"message"}),
            R"(clusterqueues.visibility.kueue.x-k8s.io "cq" is forbidden: User "system:anonymous" )"
            R"(cannot get resource "clusterqueues/pendingworkloads" in API group )"
            R"("visibility.kueue.x-k8s.io" at the cluster scope)");
  EXPECT_EQ(reviews_->last.get_string({"spec", "resourceAttributes", "subresource"}),
            "pendingworkloads");
  EXPECT_EQ(handler_.answer(request("/apis")).status, 403);
  EXPECT_EQ(handler_.answer(request("/healthz")).status, 200);
  // Headers of somebody who is no proxy count for nothing.
  asked.headers.set("X-Remote-User", "admin");
  asked.headers.set("X-Remote-Group", "system:masters");
  EXPECT_EQ(handler_.answer(asked).status, 403);
}

TEST_F(VisibilityTest, TokensAreAskedOnceAndRememberedShortly) {
  reviews_->tokens["good"] = "ann";
  reviews_->allowed_user = "ann";
  wire::Request asked = request(kClusterQueue);
  asked.headers.set("Authorization", "Bearer good");
  EXPECT_EQ(handler_.answer(asked).status, 200);
  EXPECT_EQ(handler_.answer(asked).status, 200);
  EXPECT_EQ(reviews_->asked, 2);  // whose token it is, and what she may
  clock_.time = clock_.time + Duration::seconds(11);
  reviews_->allowed_user = "";
  EXPECT_EQ(handler_.answer(asked).status, 403);
  asked.headers.set("Authorization", "Bearer bad");
  EXPECT_EQ(handler_.answer(asked).status, 401);
}

TEST_F(VisibilityTest, ProxiesSpeakForUsers) {
  access_.set_rules(proxy_rules_of(json::parse(R"({"data":{
      "client-ca-file":"C","requestheader-client-ca-file":"P",
      "requestheader-allowed-names":"[\"front-proxy\"]",
      "requestheader-username-headers":"[\"X-Remote-User\"]",
      "requestheader-group-headers":"[\"X-Remote-Group\"]",
      "requestheader-extra-headers-prefix":"[\"X-Remote-Extra-\"]"}})")
                                       .value()));
  EXPECT_EQ(access_.rules().client_ca_pem, "C");
  EXPECT_EQ(access_.rules().proxy_ca_pem, "P");
  wire::Request asked = request(kLocalQueue);
  asked.headers.set("X-Remote-User", "ann");
  asked.headers.add("X-Remote-Group", "team");
  asked.headers.add("x-remote-group", "system:masters");
  asked.headers.set("X-Remote-Extra-acme.io%2Fscope", "s");
  for (const auto& [proxy, status] :
       {std::pair{"front-proxy", 200}, std::pair{"other", 403}, std::pair{"", 403}}) {
    asked.identity.proxy = proxy;
    EXPECT_EQ(handler_.answer(asked).status, status) << proxy;
  }
  asked.identity.proxy = "front-proxy";
  const wire::Identity user = access_.authenticate(asked).value();
  EXPECT_EQ(user.user, "ann");
  EXPECT_EQ(user.groups,
            (std::vector<std::string>{"team", "system:masters", "system:authenticated"}));
  EXPECT_EQ(user.extra.at("acme.io/scope"), std::vector<std::string>{"s"});
  // A proxy that says nothing is itself, and has its own rights only.
  asked.headers = {};
  EXPECT_EQ(handler_.answer(asked).status, 403);
}

}  // namespace
}  // namespace kueue::visibility
