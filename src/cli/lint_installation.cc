// Rules about an installation: CRDs and their conversion, webhooks and who vouches for them, the
// visibility API, the manager's own Deployment.
#include <algorithm>
#include <set>

#include "api/crd_manifest.h"
#include "api/registry.h"
#include "base/base64.h"
#include "cli/lease.h"
#include "cli/lint.h"

namespace kueue::cli {
namespace {

constexpr std::string_view kGroup = "kueue.x-k8s.io";
constexpr std::string_view kVisibility = "visibility.kueue.x-k8s.io";
constexpr std::string_view kSecret = "kueue-webhook-server-cert";
constexpr std::string_view kDeployment = "kueue-controller-manager";

// The certificates of a PEM text, without line breaks.
std::set<std::string> certificates(const std::string& pem) {
  static constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  static constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  std::set<std::string> out;
  for (size_t at = pem.find(kBegin); at != std::string::npos; at = pem.find(kBegin, at)) {
    const size_t end = pem.find(kEnd, at);
    if (end == std::string::npos) break;
    std::string text = pem.substr(at + kBegin.size(), end - at - kBegin.size());
    std::erase_if(text, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
    out.insert(std::move(text));
    at = end;
  }
  return out;
}

class Rules : public RuleSet {
 public:
  Rules(const Inventory& inventory, std::vector<Finding>* out) : RuleSet(inventory, out) {}

  void run() {
    if (const json::Value* secret = all_.find("Secret", all_.namespace_, kSecret)) {
      const auto pem = base64_decode(secret->get_string({"data", "ca.crt"}));
      if (pem.ok()) authority_ = certificates(*pem);
    }
    definitions();
    for (const char* kind : {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})
      webhooks(kind);
    visibility();
    deployment();
  }

 private:
  void definitions() {
    if (!all_.has("CustomResourceDefinition")) return;
    for (const schema::ResourceInfo* info : api::kueue_resources()) {
      if (!info->storage || info->group != kGroup) continue;
      const std::string name = std::string(info->plural) + "." + std::string(info->group);
      const json::Value* crd = all_.find("CustomResourceDefinition", "", name);
      if (crd == nullptr) {
        add(Severity::kError, "missing-crd", "CustomResourceDefinition/" + name, "",
            "is not installed", "kueue crds | kubectl apply --server-side -f -");
        continue;
      }
      definition(*crd, *info);
    }
  }

  void definition(const json::Value& crd, const schema::ResourceInfo& info) {
    const std::string label = object_label("CustomResourceDefinition", crd);
    const json::Value* established = condition_of(crd, "Established");
    if (established != nullptr && established->get_string({"status"}) != "True")
      add(Severity::kError, "crd-not-served", label, "status.conditions",
          "is not served: " + std::string(established->get_string({"message"})),
          "another CRD may have taken its names");
    std::vector<std::string> served;
    bool current = false;
    for (const json::Value& version : json::list_at(crd, {"spec", "versions"})) {
      if (!version.get_bool({"served"})) continue;
      served.emplace_back(version.get_string({"name"}));
      current = current || version.get_string({"name"}) == info.version;
    }
    if (!current)
      add(Severity::kError, "crd-version", label, "spec.versions",
          "does not serve " + std::string(info.version) + ", the version this program works with",
          "kueue crds | kubectl apply --server-side -f -");
    if (all_.own_conversion || !api::needs_conversion(info.kind) || served.size() < 2) return;
    if (crd.get_string({"spec", "conversion", "strategy"}, "None") != "Webhook") {
      add(Severity::kError, "crd-conversion", label, "spec.conversion.strategy",
          "serves " + some_of(served) +
              ", which differ in their fields, but nobody converts between them: fields are lost",
          "kueue crds | kubectl apply --server-side -f -");
      return;
    }
    if (const json::Value* client =
            crd.find_path({"spec", "conversion", "webhook", "clientConfig"}))
      client_config(*client, label, "spec.conversion.webhook.clientConfig", true);
  }

  // Whom an API server calls: the authority and the Service.
  void client_config(const json::Value& client, const std::string& label, const std::string& field,
                     bool ask_for_authority) {
    const json::Value* service = client.find("service");
    if (service != nullptr && service->is_object()) service_of(*service, label, field);
    const std::string_view bundle = client.get_string({"caBundle"});
    if (bundle.empty()) {
      if (ask_for_authority && service != nullptr)
        add(Severity::kError, "missing-authority", label, field + ".caBundle",
            "has no caBundle: the API server trusts nobody who answers",
            "the manager writes it (internalCertManagement), or cert-manager's injector");
      return;
    }
    if (authority_.empty()) return;
    const auto pem = base64_decode(bundle);
    const std::set<std::string> trusted = pem.ok() ? certificates(*pem) : std::set<std::string>();
    const bool fits = std::any_of(authority_.begin(), authority_.end(),
                                  [&](const std::string& one) { return trusted.contains(one); });
    if (!fits)
      add(Severity::kError, "wrong-authority", label, field + ".caBundle",
          "trusts another authority than the one in Secret " + all_.namespace_ + "/" +
              std::string(kSecret) + ": calls fail with an unknown certificate",
          "restart the manager, which writes its own; or let cert-manager inject it again");
  }

  void service_of(const json::Value& service, const std::string& label, const std::string& field) {
    if (!all_.has("Service")) return;
    const std::string ns(service.get_string({"namespace"}));
    const std::string name(service.get_string({"name"}));
    if (ns != all_.namespace_) return;  // only that namespace's Services were read
    const json::Value* found = all_.find("Service", ns, name);
    if (found == nullptr) {
      add(Severity::kError, "missing-service", label, field + ".service",
          "calls Service " + ns + "/" + name + ", which does not exist",
          "kueue install --only services | kubectl apply --server-side -f -");
      return;
    }
    const int64_t port = service.get_int({"port"}, 443);
    const json::Array& ports = json::list_at(*found, {"spec", "ports"});
    if (!ports.empty() && std::none_of(ports.begin(), ports.end(), [&](const json::Value& one) {
          return one.get_int({"port"}) == port;
        }))
      add(Severity::kError, "missing-service", label, field + ".service.port",
          "calls port " + std::to_string(port) + " of Service " + ns + "/" + name +
              ", which has no such port",
          "make both agree");
    const bool known = found->find_path({"spec", "selector"}) != nullptr;
    if (known && all_.has("EndpointSlice") && !answered(ns, name))
      add(Severity::kError, "unreachable-service", label, field + ".service",
          "calls Service " + ns + "/" + name +
              ", behind which no Pod is ready: every such call fails",
          "kubectl -n " + ns + " get pods,endpointslices; see why the manager does not get ready");
  }

  // Somebody is ready behind the Service.
  bool answered(const std::string& ns, const std::string& name) const {
    for (const json::Value& slice : all_.of("EndpointSlice")) {
      if (namespace_of(slice) != ns ||
          slice.get_string({"metadata", "labels", "kubernetes.io/service-name"}) != name)
        continue;
      for (const json::Value& endpoint : json::list_at(slice, {"endpoints"}))
        if (endpoint.get_bool({"conditions", "ready"}, true)) return true;
    }
    return false;
  }

  static bool ours(const json::Value& hook) {
    const json::Array& rules = json::list_at(hook, {"rules"});
    const bool group = std::any_of(rules.begin(), rules.end(), [](const json::Value& rule) {
      const json::Array& groups = json::list_at(rule, {"apiGroups"});
      return std::any_of(groups.begin(), groups.end(),
                         [](const json::Value& one) { return one.string_or("") == kGroup; });
    });
    return group || hook.get_string({"name"}).ends_with(".kb.io");
  }

  void webhooks(const std::string& kind) {
    if (!all_.has(kind)) return;
    std::map<std::string, std::string> first;  // webhook name -> configuration
    bool any = false;
    for (const json::Value& configuration : all_.of(kind)) {
      const bool named = name_of(configuration).find("kueue") != std::string_view::npos;
      size_t h = 0;
      for (const json::Value& hook : json::list_at(configuration, {"webhooks"})) {
        const std::string at = "webhooks[" + std::to_string(h++) + "]";
        if (!named && !ours(hook)) continue;
        any = true;
        const std::string label = object_label(kind, configuration);
        if (const json::Value* client = hook.find("clientConfig"))
          client_config(*client, label, at + ".clientConfig", true);
        if (hook.get_string({"failurePolicy"}, "Fail") == "Ignore")
          add(Severity::kWarning, "webhook-ignored", label, at + ".failurePolicy",
              std::string(hook.get_string({"name"})) +
                  " may fail unseen: while no manager answers, jobs start without quota",
              "set failurePolicy to Fail");
        const auto [seen, fresh] = first.emplace(hook.get_string({"name"}), label);
        if (!fresh && seen->second != label)
          add(Severity::kWarning, "webhook-twice", label, at,
              std::string(hook.get_string({"name"})) + " is also in " + seen->second +
                  ": two installations answer for the same objects",
              "remove what is left of the older installation");
      }
    }
    if (!any)
      add(Severity::kError, "missing-webhooks", kind, "",
          "no webhook of kueue is registered: jobs are neither held nor checked",
          "kueue install --only webhooks | kubectl apply --server-side -f -");
  }

  void visibility() {
    for (const json::Value& service : all_.of("APIService")) {
      if (service.get_string({"spec", "group"}) != kVisibility) continue;
      const std::string label = object_label("APIService", service);
      const json::Value* available = condition_of(service, "Available");
      if (available != nullptr && available->get_string({"status"}) != "True")
        add(Severity::kError, "visibility-unavailable", label, "status.conditions",
            "does not answer (" + std::string(available->get_string({"reason"})) +
                "): " + std::string(available->get_string({"message"})),
            "kubectl get commands of every user show errors until it does; see the manager's log");
      const json::Value* spec = service.find("spec");
      if (spec != nullptr && spec->find("service") != nullptr)
        client_config(*spec, label, "spec", !spec->get_bool({"insecureSkipTLSVerify"}));
    }
  }

  void deployment() {
    if (!all_.has("Deployment")) return;
    const json::Value* found = all_.find("Deployment", all_.namespace_, kDeployment);
    const std::string label = "Deployment/" + all_.namespace_ + "/" + std::string(kDeployment);
    if (found == nullptr) return;  // it may run elsewhere
    const int64_t wanted = found->get_int({"spec", "replicas"}, 1);
    const int64_t ready = found->get_int({"status", "readyReplicas"});
    if (wanted > 0 && ready == 0)
      add(Severity::kError, "manager-not-ready", label, "status.readyReplicas",
          "no replica of the manager is ready, of " + std::to_string(wanted),
          "kubectl -n " + all_.namespace_ + " describe pods");
    else if (ready < wanted)
      add(Severity::kWarning, "manager-not-ready", label, "status.readyReplicas",
          std::to_string(ready) + " of " + std::to_string(wanted) +
              " replicas of the manager are ready",
          "kubectl -n " + all_.namespace_ + " describe pods");
  }

  std::set<std::string> authority_;
};

}  // namespace

// Also of a playground: it may be up without a manager.
void lint_leader(const Inventory& inventory, std::vector<Finding>* out) {
  if (!inventory.has("Lease")) return;
  const json::Value* lease = inventory.find("Lease", inventory.namespace_, kLeaseName);
  const std::string problem = leader_problem(lease, inventory.now);
  if (problem.empty()) return;
  const std::string advice =
      lease == nullptr ? "start a manager; one that runs without leaderElection has no Lease"
                       : "start a manager, or see why it stopped; one that runs without "
                         "leaderElection has no Lease";
  out->push_back({lease == nullptr ? Severity::kWarning : Severity::kError, "no-leader",
                  "Lease/" + inventory.namespace_ + "/" + std::string(kLeaseName), "",
                  problem + "; nothing is queued or admitted", advice});
}

void lint_installation(const Inventory& inventory, std::vector<Finding>* out) {
  Rules(inventory, out).run();
}

}  // namespace kueue::cli
