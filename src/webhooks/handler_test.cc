// The webhook server: reviews over requests, conversion, what is served, and the configurations to
// install.
#include "webhooks/handler.h"

#include <gtest/gtest.h>

#include <functional>

#include "api/conversion.h"
#include "json/json.h"
#include "json/patch.h"
#include "webhooks/json_diff.h"
#include "webhooks/manifests.h"
#include "webhooks/test_lookup.h"

namespace kueue::webhooks {
namespace {

using json::Value;

Value parse(std::string_view text) {
  auto parsed = json::parse(text);
  KUEUE_CHECK(parsed.ok(), std::string(text).c_str());
  return std::move(parsed).value();
}

Value review_of(std::string_view operation, std::string_view object,
                std::string_view old_object = "null") {
  Value out = parse(
      R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1","namespace":"lab"}})");
  out["request"]["operation"] = operation;
  out["request"]["object"] = parse(object);
  out["request"]["oldObject"] = parse(old_object);
  return out;
}

struct Fixture {
  std::shared_ptr<TestLookup> lookup = std::make_shared<TestLookup>();
  HandlerOptions options;
  Fixture() {
    options.lookup = lookup;
    lookup->objects.push_back(parse(
        R"({"kind":"Namespace","metadata":{"name":"lab","labels":{"kubernetes.io/metadata.name":"lab"}}})"));
  }
  wire::Response post(std::string_view path, const Value& body) {
    wire::Request request;
    request.method = "POST";
    request.path = std::string(path);
    request.body = json::write(body);
    return Handler(options).answer(request);
  }
  Value ask(std::string_view path, const Value& body) {
    wire::Response response = post(path, body);
    EXPECT_EQ(response.status, 200);
    Value out = parse(response.body);
    EXPECT_EQ(out.get_string({"response", "uid"}), "u1");
    return *out.find("response");
  }
  std::string denial(std::string_view path, std::string_view object,
                     std::string_view old_object = "null") {
    Value response =
        ask(path, review_of(old_object == "null" ? "CREATE" : "UPDATE", object, old_object));
    EXPECT_EQ(response.get_bool({"allowed"}), response.find_path({"status", "message"}) == nullptr);
    return std::string(response.get_string({"status", "message"}));
  }
};

std::string decode64(std::string_view text) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    if (c == '=') break;
    bits = (bits << 6) | static_cast<uint32_t>(kDigits.find(c));
    count += 6;
    if (count >= 8) {
      count -= 8;
      out.push_back(static_cast<char>((bits >> count) & 0xff));
    }
  }
  return out;
}

TEST(Handler, MutatesByPatchOfWhatChanged) {
  Fixture f;
  Value response = f.ask(
      "/mutate-batch-v1-job",
      review_of(
          "CREATE",
          R"({"metadata":{"name":"j","labels":{"kueue.x-k8s.io/queue-name":"q"}},"spec":{}})"));
  EXPECT_TRUE(response.get_bool({"allowed"}));
  EXPECT_EQ(response.get_string({"patchType"}), "JSONPatch");
  EXPECT_EQ(decode64(response.get_string({"patch"})),
            R"([{"op":"add","path":"/spec/suspend","value":true}])");
  response = f.ask("/mutate-kueue-x-k8s-io-v1beta2-clusterqueue",
                   review_of("CREATE", R"({"metadata":{"name":"q"}})"));
  EXPECT_EQ(
      decode64(response.get_string({"patch"})),
      R"([{"op":"add","path":"/metadata/finalizers","value":["kueue.x-k8s.io/resource-in-use"]}])");
  // Nothing to change: no patch.
  response =
      f.ask("/mutate-batch-v1-job", review_of("CREATE", R"({"metadata":{"name":"j"},"spec":{}})"));
  EXPECT_TRUE(response.get_bool({"allowed"}));
  EXPECT_EQ(response.find("patch"), nullptr);
}

TEST(Handler, UnmanagedNamespaceIsLeftAloneWithAWarning) {
  Fixture f;
  f.options.settings.managed_jobs_namespace_selector = *wire::LabelSelector::parse("team=a");
  Value response =
      f.ask("/mutate-batch-v1-job",
            review_of("CREATE",
                      R"({"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"q"}},"spec":{}})"));
  EXPECT_TRUE(response.get_bool({"allowed"}));
  EXPECT_EQ(response.find("patch"), nullptr);
  ASSERT_NE(response.find("warnings"), nullptr);
  EXPECT_EQ(response.find("warnings")->as_array().size(), 1u);
}

TEST(Handler, Denials) {
  Fixture f;
  EXPECT_EQ(
      f.denial("/validate-batch-v1-job",
               R"({"metadata":{"labels":{"kueue.x-k8s.io/max-exec-time-seconds":"0"}},"spec":{}})"),
      "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]: Invalid value: 0: should be greater "
      "than 0");
  EXPECT_EQ(
      f.denial(
          "/validate-batch-v1-job",
          R"({"metadata":{"labels":{"kueue.x-k8s.io/max-exec-time-seconds":"soon"}},"spec":{}})"),
      "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]: Invalid value: \"soon\": "
      "strconv.Atoi: parsing "
      "\"soon\": invalid syntax");
  EXPECT_EQ(
      f.denial(
          "/validate-batch-v1-job",
          R"({"metadata":{"annotations":{"kueue.x-k8s.io/job-min-parallelism":"2"}},"spec":{"parallelism":2}})"),
      "metadata.annotations[kueue.x-k8s.io/job-min-parallelism]: Invalid value: 2: should be "
      "between 0 and 1");
  EXPECT_EQ(
      f.denial(
          "/validate-kueue-x-k8s-io-v1beta2-cohort",
          R"({"spec":{"resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"a","resources":
                        [{"name":"cpu","nominalQuota":"1","borrowingLimit":"1"}]}]}]}})"),
      "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit: Invalid value: \"1\": must "
      "be nil when "
      "parent is empty");
  EXPECT_EQ(
      f.denial(
          "/validate-kueue-x-k8s-io-v1beta2-clusterqueue",
          R"({"spec":{"resourceGroups":[{"coveredResources":["cpu","memory"],"flavors":[{"name":"a","resources":
                        [{"name":"memory","nominalQuota":"1"},{"name":"cpu","nominalQuota":"1"}]}]}]}})"),
      "[spec.resourceGroups[0].flavors[0].resources[0].name: Invalid value: \"memory\": must match "
      "the name in "
      "coveredResources, spec.resourceGroups[0].flavors[0].resources[1].name: Invalid value: "
      "\"cpu\": must match "
      "the name in coveredResources]");
  EXPECT_EQ(f.denial("/validate-kueue-x-k8s-io-v1beta2-clusterqueue",
                     R"({"spec":{"fairSharing":{"weight":"1n"}}})"),
            "spec.fairSharing: Invalid value: \"1n\": When not 0, weight must be > 10e-9");
  EXPECT_EQ(
      f.denial(
          "/validate-kueue-x-k8s-io-v1beta2-clusterqueue",
          R"({"spec":{"resourceGroups":[{"flavors":[{"name":"plain"}]}],"admissionChecksStrategy":
                        {"admissionChecks":[{"name":"c","onFlavors":["nosuch"]}]}}})"),
      "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]: Unsupported value: "
      "\"nosuch\": supported "
      "values: \"plain\"");
  EXPECT_EQ(f.denial("/validate-kueue-x-k8s-io-v1beta2-resourceflavor",
                     R"({"spec":{"nodeTaints":[{"key":"k","value":"v","effect":"NoSchedule"},
                        {"effect":"NoSchedule","value":"v","key":"k"}]}})"),
            "spec.nodeTaints[1]: Duplicate value: "
            "{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoSchedule\"}: taints "
            "must be unique by key and effect pair");
  EXPECT_EQ(f.denial("/validate-kueue-x-k8s-io-v1beta2-workload",
                     R"({"spec":{"podSets":[{"name":"main","count":2}]},
                        "status":{"reclaimablePods":[{"name":"other","count":1}]}})"),
            "status.reclaimablePods[other].name: Unsupported value: \"other\": supported values: "
            "\"main\"");
  EXPECT_EQ(f.denial("/validate-kueue-x-k8s-io-v1beta2-workload",
                     R"({"status":{"admission":{"podSetAssignments":[],"clusterQueue":"other"}}})",
                     R"({"status":{"admission":{"podSetAssignments":[],"clusterQueue":"one"}}})"),
            "status.admission: Invalid value: "
            "{\"clusterQueue\":\"other\",\"podSetAssignments\":[]}: field is immutable");
}

TEST(Handler, ServesWhatItIsTold) {
  Fixture f;
  Value review = review_of(
      "CREATE", R"({"metadata":{"labels":{"kueue.x-k8s.io/max-exec-time-seconds":"0"}}})");
  EXPECT_EQ(f.post("/validate-nothing", review).status, 404);
  f.options.served = std::set<std::string, std::less<>>{"/convert"};
  EXPECT_EQ(f.post("/validate-batch-v1-job", review).status, 404);
  f.options.noop = {"/validate-batch-v1-job", "/mutate--v1-pod"};
  EXPECT_TRUE(f.ask("/validate-batch-v1-job", review).get_bool({"allowed"}));
  EXPECT_TRUE(f.ask("/mutate--v1-pod", review).get_bool({"allowed"}));
  f.options.served.reset();
  f.options.noop = {};
  f.options.settings.frameworks = {};
  EXPECT_TRUE(f.ask("/validate-batch-v1-job", review).get_bool({"allowed"}));
}

TEST(Handler, BadRequests) {
  Fixture f;
  wire::Request request;
  request.path = "/validate-batch-v1-job";
  EXPECT_EQ(Handler(f.options).answer(request).status, 405);
  request.method = "POST";
  for (const char* body : {"", "{", "[]", "3"}) {
    request.body = body;
    EXPECT_EQ(Handler(f.options).answer(request).status, 400) << body;
  }
  for (const char* body :
       {"{}", R"({"request":{}})", R"({"request":{"operation":"CREATE","object":3}})",
        R"({"request":{"operation":"CREATE","object":{"metadata":3,"spec":[]}}})"}) {
    request.body = body;
    EXPECT_EQ(Handler(f.options).answer(request).status, 200) << body;
  }
  EXPECT_TRUE(f.ask("/validate-batch-v1-job", review_of("DELETE", "null")).get_bool({"allowed"}));
}

TEST(Handler, Converts) {
  Fixture f;
  Value review =
      parse(R"({"request":{"uid":"u1","desiredAPIVersion":"kueue.x-k8s.io/v1beta2","objects":[
    {"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueue","metadata":{"name":"q"},"spec":{"cohort":"c"}}]}})");
  Value response = f.ask("/convert", review);
  EXPECT_EQ(response.get_string({"result", "status"}), "Success");
  EXPECT_EQ(response.find("convertedObjects")->as_array()[0].get_string({"spec", "cohortName"}),
            "c");
  review["request"]["desiredAPIVersion"] = "kueue.x-k8s.io/v9";
  response = f.ask("/convert", review);
  EXPECT_EQ(response.get_string({"result", "status"}), "Failure");
}

// A page of `count` queues; `text_of` may put something else in the place of one.
std::string page(size_t count, const std::function<std::string(size_t)>& text_of,
                 std::string_view before = "", std::string_view after = "") {
  std::string text = R"({"kind":"ConversionReview", "request":{)" + std::string(before) +
                     R"("uid":"u1","desiredAPIVersion":"kueue.x-k8s.io/v1beta2","objects": [ )";
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) text += " ,\n";
    text += text_of(i);
  }
  return text + "]" + std::string(after) + "}}";
}

std::string old_queue(size_t number) {
  return R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueue","metadata":{"name":"q)" +
         std::to_string(number) +
         R"(","annotations":{"odd":"]} , \\\" [{ \u00e9"}},"spec":{"cohort":"c","unknown":[1.5,{}]}})";
}

TEST(Handler, ConvertsPagesInOrder) {
  for (const size_t count :
       {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{500}}) {
    const Value review = parse(convert_review(page(count, old_queue)).value());
    EXPECT_EQ(review.get_string({"response", "uid"}), "u1");
    EXPECT_EQ(review.get_string({"response", "result", "status"}), "Success");
    const json::Array& objects = review.find_path({"response", "convertedObjects"})->as_array();
    ASSERT_EQ(objects.size(), count);
    for (size_t i = 0; i < count; ++i) {
      Value expected = api::convert_kueue(parse(old_queue(i)), "v1beta2").value();
      EXPECT_EQ(objects[i], expected) << i;
      EXPECT_EQ(expected.get_string({"spec", "cohortName"}), "c");
    }
  }
}

TEST(Handler, ConvertsWhatIsWrittenInAnUnusualWay) {
  // Equal names: the last wins. The version behind the objects. White space. Items that are none.
  const std::string twice = page(2, old_queue, R"("objects":[{"a":1}],)");
  EXPECT_EQ(parse(convert_review(twice).value())
                .find_path({"response", "convertedObjects"})
                ->as_array()
                .size(),
            2u);
  const std::string late = R"({"request":{"objects":[)" + old_queue(1) +
                           R"(],"desiredAPIVersion":"kueue.x-k8s.io/v1beta2","uid":"u"}})";
  EXPECT_EQ(parse(convert_review(late).value()).get_string({"response", "result", "status"}),
            "Success");
  const auto third_is = [](const char* text) {
    return [text](size_t i) { return i == 100 ? std::string(text) : old_queue(i); };
  };
  for (const char* text :
       {"3", "null", "\"x\"", "[]", "{}", R"({"kind":"Pod","apiVersion":"v1"})"}) {
    const Value answer = parse(convert_review(page(130, third_is(text))).value());
    EXPECT_EQ(answer.get_string({"response", "result", "status"}), "Failure") << text;
    EXPECT_NE(answer.get_string({"response", "result", "message"}), "") << text;
    EXPECT_TRUE(answer.find_path({"response", "convertedObjects"})->as_array().empty()) << text;
  }
  for (const char* text : {"{", "}", "]", "{]", "[}", "{\"a\":[1}, 2]", ",", "", "{\"a\":1,}"}) {
    const auto answer = convert_review(page(130, third_is(text)));
    ASSERT_FALSE(answer.ok()) << text;
    EXPECT_NE(answer.error().message.find("line "), std::string::npos) << answer.error().message;
  }
  EXPECT_FALSE(convert_review(page(3, old_queue).substr(0, 400)).ok());
  EXPECT_FALSE(convert_review(page(3, old_queue, "", ", \"x\": ")).ok());
}

TEST(Diff, RoundTrips) {
  const std::pair<const char*, const char*> cases[] = {
      {"{}", R"({"a":1})"},
      {R"({"a":{"b/c":1,"d~e":2}})", R"({"a":{"b/c":2}})"},
      {R"({"l":[1,2]})", R"({"l":[1,3,4]})"},
      {R"({"l":[1,2,3]})", R"({"l":[1]})"},
      {R"({"a":[{"x":1}]})", R"({"a":[{"x":1,"y":null}]})"},
      {R"({"a":1})", R"({"a":{"b":[]}})"},
  };
  for (const auto& [from, to] : cases) {
    Value a = parse(from), b = parse(to);
    auto patched = json::apply_json_patch(a, diff(a, b));
    ASSERT_TRUE(patched.ok()) << patched.error().message;
    EXPECT_TRUE(*patched == b) << json::write(diff(a, b));
  }
  EXPECT_TRUE(diff(parse("{}"), parse("{}")).as_array().empty());
}

TEST(Manifests, NameEveryServedPath) {
  Fixture f;
  Handler handler(f.options);
  ManifestOptions options;
  options.ca_bundle = "Q0E=";
  int count = 0;
  for (const Value& configuration :
       {mutating_configuration(options), validating_configuration(options)})
    for (const Value& hook : configuration.find("webhooks")->as_array()) {
      ++count;
      EXPECT_TRUE(handler.serves(hook.get_string({"clientConfig", "service", "path"})))
          << json::write(hook);
      EXPECT_EQ(hook.get_string({"clientConfig", "caBundle"}), "Q0E=");
    }
  EXPECT_EQ(count, 9);
  Value job = mutating_configuration(options).find("webhooks")->as_array().back();
  EXPECT_EQ(
      json::write_sorted(job),
      R"({"admissionReviewVersions":["v1"],"clientConfig":{"caBundle":"Q0E=","service":{"name":"kueue-webhook-service",)"
      R"("namespace":"kueue-system","path":"/mutate-batch-v1-job"}},"failurePolicy":"Fail","name":"mjob.kb.io",)"
      R"("namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn",)"
      R"("values":["kube-system","kueue-system"]}]},"rules":[{"apiGroups":["batch"],"apiVersions":["v1"],)"
      R"("operations":["CREATE"],"resources":["jobs"]}],"sideEffects":"None"})");
  options.url = "https://127.0.0.1:9443";
  options.paths = std::set<std::string, std::less<>>{"/validate-batch-v1-job"};
  EXPECT_TRUE(mutating_configuration(options).find("webhooks")->as_array().empty());
  Value only = validating_configuration(options).find("webhooks")->as_array()[0];
  EXPECT_EQ(only.get_string({"clientConfig", "url"}),
            "https://127.0.0.1:9443/validate-batch-v1-job");
  EXPECT_EQ(conversion_block(options).get_string({"webhook", "clientConfig", "url"}),
            "https://127.0.0.1:9443/convert");
}

}  // namespace
}  // namespace kueue::webhooks
