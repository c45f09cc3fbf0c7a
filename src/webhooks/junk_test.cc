// Whatever stands anywhere in an object: the answer is a review, and the process lives.
#include <gtest/gtest.h>

#include "json/json.h"
#include "webhooks/handler.h"
#include "webhooks/test_lookup.h"

namespace kueue::webhooks {
namespace {

using json::Value;

Value parse(std::string_view text) {
  auto parsed = json::parse(text);
  KUEUE_CHECK(parsed.ok(), std::string(text).c_str());
  return std::move(parsed).value();
}

// Every place of a document, itself included.
void places(Value& value, std::vector<Value*>* out) {
  out->push_back(&value);
  if (value.is_object())
    for (auto& [key, member] : value.as_object()) places(member, out);
  if (value.is_array())
    for (Value& item : value.as_array()) places(item, out);
}

constexpr std::string_view kJob =
    R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"lab",
  "labels":{"kueue.x-k8s.io/queue-name":"q","kueue.x-k8s.io/max-exec-time-seconds":"5"},
  "annotations":{"kueue.x-k8s.io/elastic-job":"true","kueue.x-k8s.io/job-min-parallelism":"1",
    "kueue.x-k8s.io/job-completions-equal-parallelism":"true","kueue.x-k8s.io/admission-gated-by":"a.b/c"},
  "ownerReferences":[{"apiVersion":"kubeflow.org/v2beta1","kind":"MPIJob","name":"o","uid":"o","controller":true}]},
  "spec":{"suspend":false,"parallelism":2,"completions":2,"completionMode":"Indexed","managedBy":"x","template":{
    "metadata":{"annotations":{"kueue.x-k8s.io/podset-required-topology":"r","kueue.x-k8s.io/podset-slice-size":"1",
      "kueue.x-k8s.io/podset-slice-required-topology":"r","kueue.x-k8s.io/podset-group-name":"g",
      "kueue.x-k8s.io/podset-slice-required-topology-constraints":"[{\"topology\":\"a\",\"size\":4},{\"size\":0}]"}},
    "spec":{"schedulingGates":[{"name":"x"}],"containers":[{"name":"c"}]}}}})";
constexpr std::string_view kClusterQueue =
    R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue",
  "metadata":{"name":"q","finalizers":["x"]},"spec":{"cohortName":"c","queueingStrategy":"StrictFIFO",
  "namespaceSelector":{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"k","operator":"In","values":["v"]}]},
  "flavorFungibility":{"preference":"p"},"fairSharing":{"weight":"1"},
  "admissionChecksStrategy":{"admissionChecks":[{"name":"c","onFlavors":["f"]}]},
  "concurrentAdmissionPolicy":{"migration":{"mode":"m","constraints":{"lastAcceptableFlavorName":"f"}}},
  "resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"f","resources":
    [{"name":"cpu","nominalQuota":"1","borrowingLimit":"1","lendingLimit":"1"}]}]}]}})";
constexpr std::string_view kFlavor =
    R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ResourceFlavor","metadata":{"name":"f"},
  "spec":{"nodeLabels":{"a":"b"},"nodeTaints":[{"key":"k","value":"v","effect":"NoSchedule"}],
  "tolerations":[{"key":"k","operator":"Exists"}]}})";
constexpr std::string_view kWorkload = R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload",
  "metadata":{"name":"w","namespace":"lab","annotations":{"kueue.x-k8s.io/priority-boost":"1"}},
  "spec":{"podSets":[{"name":"main","count":2,"minCount":1,"topologyRequest":{"podSetSliceRequiredTopology":"a",
    "podSetSliceSize":1,"podsetSliceRequiredTopologyConstraints":[{"topology":"a","size":1}]},"template":{
    "metadata":{"labels":{"a":"b"},"annotations":{"a":"b"}},"spec":{"resources":{"limits":{"cpu":"1"}},
    "initContainers":[{"name":"i"}],"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}}}]},
  "status":{"clusterName":"c","nominatedClusterNames":["c"],"conditions":[{"type":"QuotaReserved","status":"True"}],
    "admission":{"clusterQueue":"q","podSetAssignments":[{"name":"main","count":2,"resourceUsage":{"cpu":"2"},
      "topologyAssignment":{"levels":["a"]}}]},"reclaimablePods":[{"name":"main","count":1}],
    "admissionChecks":[{"name":"c","state":"Ready","podSetUpdates":[{"name":"main","labels":{"a":"b"},
      "annotations":{"a":"b"},"nodeSelector":{"a":"b"},"tolerations":[{"key":"k"}]}]}]}})";

TEST(Junk, AnywhereInAnObject) {
  const std::pair<const char*, std::string_view> kinds[] = {
      {"batch-v1-job", kJob},
      {"kueue-x-k8s-io-v1beta2-clusterqueue", kClusterQueue},
      {"kueue-x-k8s-io-v1beta2-cohort", kClusterQueue},
      {"kueue-x-k8s-io-v1beta2-resourceflavor", kFlavor},
      {"kueue-x-k8s-io-v1beta2-workload", kWorkload}};
  const char* junk[] = {"null", "3",  "-1.5",   "true",       "\"x\"", "\"\"",
                        "[]",   "{}", "[null]", R"({"a":1})", "[[]]"};
  HandlerOptions options;
  options.lookup = std::make_shared<TestLookup>();
  for (const GateSpec& spec : feature_gate_table()) options.settings.gates.force(spec.gate, true);
  options.settings.gates.force(Gate::kElasticJobsViaWorkloadSlicesWithTAS, false);
  Handler handler(options);
  int asked = 0;
  for (const auto& [name, text] : kinds) {
    const Value original = parse(text);
    Value counted = original;
    std::vector<Value*> all;
    places(counted, &all);
    for (size_t i = 0; i < all.size(); ++i)
      for (const char* bad : junk) {
        Value object = original;
        std::vector<Value*> spots;
        places(object, &spots);
        *spots[i] = parse(bad);
        for (bool update : {false, true}) {
          Value review =
              Value::object({{"request", Value::object({{"uid", "u"},
                                                        {"namespace", "lab"},
                                                        {"operation", update ? "UPDATE" : "CREATE"},
                                                        {"object", object},
                                                        {"oldObject", original}})}});
          if (update && i % 2 == 1)
            std::swap(review["request"]["object"], review["request"]["oldObject"]);
          for (const char* verb : {"/mutate-", "/validate-"}) {
            Value answer = handler.review(std::string(verb) + name, review);
            EXPECT_EQ(answer.get_string({"response", "uid"}), "u");
            ++asked;
          }
        }
      }
  }
  EXPECT_GT(asked, 5000);
}

}  // namespace
}  // namespace kueue::webhooks
