// Rules of lint, each with objects that break it and objects that do not.
#include "cli/lint.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "json/json.h"

namespace kueue::cli {
namespace {

// Documents of a YAML text; kinds in `read` count as read although nothing of them is there.
Inventory inventory_of(std::string_view yaml, std::initializer_list<const char*> read = {}) {
  Inventory out;
  out.installation = false;
  for (const char* kind : {"ClusterQueue", "LocalQueue", "Cohort", "ResourceFlavor"})
    out.kinds[kind];
  for (const char* kind : read) out.kinds[kind];
  const auto documents = json::parse_yaml_all(yaml);
  EXPECT_TRUE(documents.ok()) << (documents.ok() ? "" : documents.error().message);
  if (!documents.ok()) return out;
  for (const json::Value& one : *documents)
    out.kinds[std::string(one.get_string({"kind"}))].push_back(one);
  return out;
}

std::vector<std::string> rules_of(const Inventory& inventory) {
  std::vector<std::string> out;
  for (const Finding& f : lint(inventory))
    out.push_back(std::string(name_of(f.severity)) + " " + f.rule + " " + f.object);
  return out;
}

using Rules = std::vector<std::string>;

constexpr const char* kGood = R"(
{kind: ResourceFlavor, metadata: {name: f}, spec: {nodeLabels: {pool: a}}}
---
{kind: ClusterQueue, metadata: {name: q}, spec: {namespaceSelector: {}, resourceGroups: [
  {coveredResources: [cpu, memory], flavors: [{name: f, resources: [
    {name: cpu, nominalQuota: 4}, {name: memory, nominalQuota: 8Gi}]}]}]}}
---
{kind: LocalQueue, metadata: {name: l, namespace: default}, spec: {clusterQueue: q}}
---
{kind: Namespace, metadata: {name: default, labels: {kubernetes.io/metadata.name: default}}}
---
{kind: Node, metadata: {name: n, labels: {pool: a}}, status: {allocatable: {cpu: 4, memory: 8Gi}}}
)";

std::string changed(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(Lint, SaysNothingWhereNothingIsWrong) { EXPECT_EQ(rules_of(inventory_of(kGood)), Rules{}); }

struct Case {
  const char* name;
  const char* from;
  const char* to;
  Rules wanted;
};

TEST(Lint, OneThingWrong) {
  const Case cases[] = {
      {"no selector", "namespaceSelector: {}, ", "", {"error unreachable-queue ClusterQueue/q"}},
      {"selector of nobody",
       "namespaceSelector: {}",
       "namespaceSelector: {matchLabels: {team: x}}",
       {"error unreachable-queue ClusterQueue/q", "error unreachable-queue LocalQueue/default/l"}},
      {"missing queue",
       "clusterQueue: q",
       "clusterQueue: other",
       {"error missing-cluster-queue LocalQueue/default/l",
        "warning queue-without-local-queue ClusterQueue/q"}},
      {"missing flavor",
       "flavors: [{name: f",
       "flavors: [{name: g",
       {"error missing-flavor ClusterQueue/q", "warning unused-flavor ResourceFlavor/f"}},
      {"no node has the labels",
       "labels: {pool: a}",
       "labels: {pool: b}",
       {"warning flavor-without-nodes ResourceFlavor/f"}},
      {"too much",
       "nominalQuota: 4}",
       "nominalQuota: 5}",
       {"warning quota-above-capacity ResourceFlavor/f"}},
      {"too little",
       "nominalQuota: 4}",
       "nominalQuota: 3500m}",
       {"info capacity-without-quota ResourceFlavor/f"}},
      {"bytes",
       "nominalQuota: 8Gi",
       "nominalQuota: 8",
       {"warning tiny-quota ClusterQueue/q", "info capacity-without-quota ResourceFlavor/f"}},
      {"nothing at all",
       "{name: cpu, nominalQuota: 4}, {name: memory, nominalQuota: 8Gi}",
       "{name: cpu, nominalQuota: 0}, {name: memory, nominalQuota: 0}",
       {"warning queue-without-quota ClusterQueue/q"}},
      {"stopped",
       "namespaceSelector: {}",
       "namespaceSelector: {}, stopPolicy: Hold",
       {"info stopped-queue ClusterQueue/q"}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(rules_of(inventory_of(changed(kGood, c.from, c.to))), c.wanted);
  }
}

TEST(Lint, SumsOfTreesAgainstNodes) {
  const std::string text = std::string(kGood) + R"(---
{kind: Cohort, metadata: {name: top}, spec: {resourceGroups: [{coveredResources: [cpu], flavors: [
  {name: f, resources: [{name: cpu, nominalQuota: 2}]}]}]}}
---
{kind: Cohort, metadata: {name: below}, spec: {parentName: top}}
---
{kind: ClusterQueue, metadata: {name: r}, spec: {namespaceSelector: {}, cohortName: below, resourceGroups: [
  {coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 1}]}]}]}}
---
{kind: LocalQueue, metadata: {name: m, namespace: default}, spec: {clusterQueue: r}}
)";
  const auto found = lint(inventory_of(text));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "quota-above-capacity");
  EXPECT_EQ(found[0].message,
            "quotas promise 7 cpu (ClusterQueue/q 4 and Cohort/top 3), its nodes have 4: 3 too "
            "much; admitted jobs may find no room");
}

TEST(Lint, MixedScales) {
  constexpr const char* kQueue = R"(
{kind: ResourceFlavor, metadata: {name: f}}
---
{kind: ResourceFlavor, metadata: {name: g}}
---
{kind: ClusterQueue, metadata: {name: q}, spec: {namespaceSelector: {}, resourceGroups: [
  {coveredResources: [RES], flavors: [{name: f, resources: [{name: RES, nominalQuota: "ONE"}]},
    {name: g, resources: [{name: RES, nominalQuota: "TWO"}]}]}]}}
---
{kind: LocalQueue, metadata: {name: l, namespace: default}, spec: {clusterQueue: q}}
)";
  struct Pair {
    const char* resource;
    const char* one;
    const char* two;
    const char* wanted;  // severity, "" for none
  };
  const Pair pairs[] = {
      {"memory", "64Gi", "32Mi", ""},
      {"memory", "64Gi", "64G", "info"},
      {"memory", "4096Mi", "34359738368", "info"},  // bytes of about the same size
      {"memory", "64Gi", "4194304", "warning"},     // 4 MiB in bytes beside 64Gi
      {"cpu", "4", "8", ""},
      {"cpu", "4", "1500m", "info"},
      {"cpu", "4000", "400m", "warning"},  // thousandths written as cores
  };
  for (const Pair& pair : pairs) {
    SCOPED_TRACE(std::string(pair.resource) + " " + pair.one + " " + pair.two);
    std::string text = kQueue;
    for (int n = 0; n < 3; ++n) text = changed(text, "RES", pair.resource);
    text = changed(changed(text, "ONE", pair.one), "TWO", pair.two);
    Rules wanted;
    if (*pair.wanted != '\0')
      wanted.push_back(std::string(pair.wanted) + " mixed-scales Resource/" + pair.resource);
    EXPECT_EQ(rules_of(inventory_of(text)), wanted);
  }
}

TEST(Lint, CohortsThatFormACycleAreToldOnce) {
  const auto found = lint(inventory_of(R"(
{kind: Cohort, metadata: {name: b}, spec: {parentName: c}}
---
{kind: Cohort, metadata: {name: a}, spec: {parentName: b}}
---
{kind: Cohort, metadata: {name: c}, spec: {parentName: b}}
---
{kind: Cohort, metadata: {name: self}, spec: {parentName: self}}
)"));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].message, "is its own ancestor: b -> c -> b; every queue below is inactive");
  EXPECT_EQ(found[1].message, "is its own ancestor: self -> self; every queue below is inactive");
  EXPECT_EQ(found[2].rule + " " + found[2].object, "unused-cohort Cohort/a");
}

TEST(Lint, ChecksAndTopologies) {
  const std::string text = changed(
      changed(kGood, "namespaceSelector: {}",
              "namespaceSelector: {}, admissionChecksStrategy: {admissionChecks: [{name: c}, "
              "{name: idle}]}"),
      "nodeLabels: {pool: a}", "nodeLabels: {pool: a}, topologyName: t");
  EXPECT_EQ(rules_of(inventory_of(text + R"(---
{kind: AdmissionCheck, metadata: {name: idle}, spec: {controllerName: example.com/x}}
)",
                                  {"Topology"})),
            (Rules{"error inactive-check ClusterQueue/q", "error missing-check ClusterQueue/q",
                   "error missing-topology ResourceFlavor/f"}));
}

constexpr const char* kPem = "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n";
constexpr const char* kOther = "-----BEGIN CERTIFICATE-----\nREVG\n-----END CERTIFICATE-----\n";

Inventory installation(const std::string& bundle, const char* more = "") {
  std::string text = R"(
{kind: Secret, metadata: {name: kueue-webhook-server-cert, namespace: kueue-system}, data: {ca.crt: "CA"}}
---
{kind: Service, metadata: {name: kueue-webhook-service, namespace: kueue-system}, spec: {ports: [{port: 443}]}}
---
{kind: MutatingWebhookConfiguration, metadata: {name: kueue-mutating-webhook-configuration}, webhooks: [
  {name: mjob.kb.io, clientConfig: {caBundle: "BUNDLE", service: {name: kueue-webhook-service, namespace: kueue-system}}}]}
---
{kind: ValidatingWebhookConfiguration, metadata: {name: of-somebody-else}, webhooks: [{name: a.example.com}]}
)";
  text = changed(text, "CA\"", base64_encode(kPem) + "\"");
  text = changed(text, "BUNDLE", bundle.empty() ? "" : base64_encode(bundle));
  Inventory out = inventory_of(text + more);
  out.installation = true;
  return out;
}

TEST(Lint, WebhooksAndTheirAuthority) {
  const Rules missing{"error missing-webhooks ValidatingWebhookConfiguration"};
  const std::string hooks = " MutatingWebhookConfiguration/kueue-mutating-webhook-configuration";
  EXPECT_EQ(rules_of(installation(kPem)), missing);
  EXPECT_EQ(rules_of(installation(std::string(kOther) + kPem)), missing);
  EXPECT_EQ(rules_of(installation(kOther)), (Rules{missing[0], "error wrong-authority" + hooks}));
  EXPECT_EQ(rules_of(installation("")), (Rules{"error missing-authority" + hooks, missing[0]}));
  const std::string twice = R"(---
{kind: MutatingWebhookConfiguration, metadata: {name: old-kueue}, webhooks: [
  {name: mjob.kb.io, failurePolicy: Ignore, clientConfig: {url: "https://h"}}]}
---
{kind: MutatingWebhookConfiguration, metadata: {name: old-kueue-2}, webhooks: [
  {name: x.kb.io, clientConfig: {caBundle: "QUJD", service: {name: gone, namespace: kueue-system}}}]}
)";
  EXPECT_EQ(rules_of(installation(kPem, twice.c_str())),
            (Rules{"error missing-service MutatingWebhookConfiguration/old-kueue-2", missing[0],
                   "error wrong-authority MutatingWebhookConfiguration/old-kueue-2",
                   "warning webhook-ignored MutatingWebhookConfiguration/old-kueue",
                   "warning webhook-twice MutatingWebhookConfiguration/old-kueue"}));
}

TEST(Lint, DeadInstallations) {
  const char* service = R"(---
{kind: Service, metadata: {name: other, namespace: kueue-system}, spec: {selector: {a: b}, ports: [{port: 443}]}}
---
{kind: ValidatingWebhookConfiguration, metadata: {name: kueue-v}, webhooks: [
  {name: vjob.kb.io, clientConfig: {caBundle: "BUNDLE", service: {name: other, namespace: kueue-system}}}]}
---
{kind: EndpointSlice, metadata: {name: e, namespace: kueue-system, labels: {kubernetes.io/service-name: other}},
  endpoints: [{conditions: {ready: READY}}]}
)";
  const std::string dead = "error unreachable-service ValidatingWebhookConfiguration/kueue-v";
  for (const bool ready : {true, false}) {
    const std::string text =
        changed(changed(service, "READY", ready ? "true" : "false"), "BUNDLE", base64_encode(kPem));
    EXPECT_EQ(rules_of(installation(kPem, text.c_str())), ready ? Rules{} : Rules{dead});
  }
  const std::string deployment = R"(---
{kind: ValidatingWebhookConfiguration, metadata: {name: kueue-v}, webhooks: [{name: vjob.kb.io}]}
---
{kind: Deployment, metadata: {name: kueue-controller-manager, namespace: kueue-system}, spec: {replicas: 2},
  status: {readyReplicas: READY}}
)";
  const std::string name = " manager-not-ready Deployment/kueue-system/kueue-controller-manager";
  const auto with = [&](const char* ready) {
    return rules_of(installation(kPem, changed(deployment, "READY", ready).c_str()));
  };
  EXPECT_EQ(with("0"), Rules{"error" + name});
  EXPECT_EQ(with("1"), Rules{"warning" + name});
  EXPECT_EQ(with("2"), Rules{});
}

TEST(Lint, NobodyLeads) {
  const Instant now = parse_time("2026-01-01T00:10:00Z").value();
  const auto with = [&](const std::string& spec) {
    Inventory inventory = inventory_of(
        spec.empty()
            ? std::string(kGood)
            : std::string(kGood) +
                  "---\n{kind: Lease, metadata: {name: c1f6bfd2.kueue.x-k8s.io, namespace: "
                  "kueue-system}, spec: " +
                  spec + "}\n",
        {"Lease"});
    inventory.now = now;
    return rules_of(inventory);
  };
  const std::string rule = " no-leader Lease/kueue-system/c1f6bfd2.kueue.x-k8s.io";
  EXPECT_EQ(with(""), Rules{"warning" + rule});
  EXPECT_EQ(with("{holderIdentity: m, renewTime: \"2026-01-01T00:09:50.000000Z\"}"), Rules{});
  EXPECT_EQ(with("{holderIdentity: m, renewTime: \"2026-01-01T00:09:00.000000Z\"}"),
            Rules{"error" + rule});
  EXPECT_EQ(with("{holderIdentity: \"\", renewTime: \"2026-01-01T00:09:59.000000Z\"}"),
            Rules{"error" + rule});
}

TEST(Lint, WorkloadsThatRunOrWaitInVain) {
  const std::string text = std::string(kGood) + R"(---
{kind: Workload, metadata: {name: runs, namespace: default, ownerReferences: [{uid: u}]}, status: {conditions: [
  {type: Admitted, status: "True"}]}}
---
{kind: Pod, metadata: {name: p, namespace: default, ownerReferences: [{uid: u}]}, status: {conditions: [
  {type: PodScheduled, status: "False", reason: REASON, message: no room}]}}
---
{kind: Workload, metadata: {name: huge, namespace: default}, spec: {queueName: l}, status: {conditions: [
  {type: QuotaReserved, status: "False", reason: ExceedsMaxQuota, message: too much}]}}
---
{kind: Workload, metadata: {name: huge-2, namespace: default}, spec: {queueName: l}, status: {conditions: [
  {type: QuotaReserved, status: "False", reason: ExceedsMaxQuota, message: too much}]}}
---
{kind: Workload, metadata: {name: patient, namespace: default}, spec: {queueName: l}, status: {conditions: [
  {type: QuotaReserved, status: "False", reason: WaitingForQuota}]}}
)";
  const auto found = lint(inventory_of(changed(text, "REASON", "Unschedulable")));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].rule + " " + found[0].object, "admitted-cannot-run Workload/default/runs");
  EXPECT_EQ(found[0].severity, Severity::kError);
  EXPECT_EQ(found[0].message,
            "holds its quota, but 1 of its Pods cannot be scheduled: Unschedulable: no room");
  EXPECT_EQ(found[1].rule + " " + found[1].object, "waits-for-ever LocalQueue/default/l");
  EXPECT_EQ(found[1].message,
            "Workload huge and huge-2 asks for more than its ClusterQueue can ever have; of the "
            "first: too much");
  EXPECT_EQ(lint(inventory_of(changed(text, "REASON", "SchedulingGated"))).size(), 1u);
}

TEST(Lint, SaysOnceWhatHoldsOfManyFields) {
  const std::string hook =
      "{name: a.kb.io, clientConfig: {caBundle: \"\", service: {name: s, namespace: other}}}";
  Inventory inventory =
      inventory_of("{kind: MutatingWebhookConfiguration, metadata: {name: kueue}, webhooks: [" +
                   hook + ", " + hook + ", " + hook + "]}");
  inventory.installation = true;
  const auto found = lint(inventory);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].field,
            "webhooks[0].clientConfig.caBundle, webhooks[1].clientConfig.caBundle and 1 more");
}

TEST(Lint, DefinitionsThatCannotConvert) {
  Inventory inventory = inventory_of(R"(
{kind: CustomResourceDefinition, metadata: {name: workloads.kueue.x-k8s.io}, spec: {
  conversion: {strategy: None}, versions: [{name: v1beta1, served: true}, {name: v1beta2, served: true}]}}
---
{kind: CustomResourceDefinition, metadata: {name: cohorts.kueue.x-k8s.io}, spec: {
  conversion: {strategy: None}, versions: [{name: v1beta1, served: true}, {name: v1beta2, served: false}]}}
)");
  inventory.installation = true;
  const Rules rules = rules_of(inventory);
  const auto has = [&](const std::string& rule) {
    return std::find(rules.begin(), rules.end(), rule) != rules.end();
  };
  EXPECT_TRUE(has("error crd-conversion CustomResourceDefinition/workloads.kueue.x-k8s.io"));
  EXPECT_TRUE(has("error crd-version CustomResourceDefinition/cohorts.kueue.x-k8s.io"));
  EXPECT_TRUE(has("error missing-crd CustomResourceDefinition/clusterqueues.kueue.x-k8s.io"));
  EXPECT_FALSE(has("error missing-crd CustomResourceDefinition/workloads.kueue.x-k8s.io"));
  inventory.own_conversion = true;
  for (const std::string& rule : rules_of(inventory))
    EXPECT_EQ(rule.find("crd-conversion"), std::string::npos) << rule;
}

}  // namespace
}  // namespace kueue::cli
