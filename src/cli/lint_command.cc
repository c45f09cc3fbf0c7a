// kueue lint as a command: reads what the rules need, prints what they find.
#include <algorithm>

#include "cli/actions.h"
#include "cli/lease.h"
#include "cli/lint.h"
#include "json/json.h"

namespace kueue::cli {
namespace {

enum class Part : uint8_t {
  kQueues,        // stands in files too
  kLive,          // of what goes on, on a server alone
  kInstallation,  // of the manager
};
struct Source {
  std::string_view kind;
  std::string_view path;  // ${NAMESPACE} is the installation's
  Part part = Part::kQueues;
  std::string_view field_selector = {};
};

constexpr Source kSources[] = {
    {"ClusterQueue", "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"},
    {"LocalQueue", "/apis/kueue.x-k8s.io/v1beta2/localqueues"},
    {"Cohort", "/apis/kueue.x-k8s.io/v1beta2/cohorts"},
    {"ResourceFlavor", "/apis/kueue.x-k8s.io/v1beta2/resourceflavors"},
    {"AdmissionCheck", "/apis/kueue.x-k8s.io/v1beta2/admissionchecks"},
    {"Topology", "/apis/kueue.x-k8s.io/v1beta2/topologies"},
    {"Namespace", "/api/v1/namespaces"},
    {"Node", "/api/v1/nodes"},
    {"Workload", "/apis/kueue.x-k8s.io/v1beta2/workloads", Part::kLive},
    {"Pod", "/api/v1/pods", Part::kLive, "status.phase=Pending"},
    {"Lease", "/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases", Part::kLive},
    {"CustomResourceDefinition", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
     Part::kInstallation},
    {"MutatingWebhookConfiguration",
     "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", Part::kInstallation},
    {"ValidatingWebhookConfiguration",
     "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", Part::kInstallation},
    {"APIService", "/apis/apiregistration.k8s.io/v1/apiservices", Part::kInstallation},
    {"Service", "/api/v1/namespaces/${NAMESPACE}/services", Part::kInstallation},
    {"EndpointSlice", "/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices",
     Part::kInstallation},
    {"Secret", "/api/v1/namespaces/${NAMESPACE}/secrets", Part::kInstallation},
    {"Deployment", "/apis/apps/v1/namespaces/${NAMESPACE}/deployments", Part::kInstallation},
};

std::string filled(std::string_view path, const std::string& ns) {
  static constexpr std::string_view kName = "${NAMESPACE}";
  std::string out(path);
  if (const size_t at = out.find(kName); at != std::string::npos) out.replace(at, kName.size(), ns);
  return out;
}

Result<std::vector<json::Value>> read_all(Cluster& cluster, const std::string& path,
                                          std::string_view field_selector) {
  std::vector<json::Value> out;
  std::string next;
  do {
    Query query{{"limit", "500"}};
    if (!field_selector.empty()) query.emplace_back("fieldSelector", field_selector);
    if (!next.empty()) query.emplace_back("continue", next);
    KUEUE_ASSIGN(json::Value page, cluster.request("GET", path, query));
    next = page.get_string({"metadata", "continue"});
    if (json::Value* items = page.find("items"); items != nullptr && items->is_array())
      for (json::Value& item : items->as_array()) out.push_back(std::move(item));
  } while (!next.empty());
  return out;
}

// Kinds that may not be read are left out and told; those the server does not know are left out.
Result<void> read_server(const Context& context, Inventory* inventory,
                         std::vector<Finding>* unread) {
  for (const Source& source : kSources) {
    if (source.part == Part::kInstallation && !inventory->installation) continue;
    if (source.kind == "Lease" && context.arguments.is_set("queues-only")) continue;
    auto items = read_all(context.cluster, filled(source.path, inventory->namespace_),
                          source.field_selector);
    if (items.ok()) {
      inventory->kinds[std::string(source.kind)] = *std::move(items);
      continue;
    }
    const ErrorCode code = items.error().code;
    if (code == ErrorCode::kNotFound) continue;
    if (code != ErrorCode::kForbidden) return std::move(items).error();
    unread->push_back({Severity::kInfo, "not-checked", std::string(source.kind), "",
                       "you may not list it, so rules that need it were left out",
                       "ask for the right to list it"});
  }
  return {};
}

Result<void> read_files(const Arguments& arguments, Terminal& terminal, Inventory* inventory) {
  inventory->installation = false;
  const std::string ns = arguments.given("namespace") ? arguments.text("namespace") : "default";
  KUEUE_ASSIGN(const auto documents, read_documents(arguments.list("filename"), terminal, true));
  const bool nodes = std::any_of(documents.begin(), documents.end(), [](const Document& one) {
    return one.value.get_string({"kind"}) == "Node";
  });
  const bool namespaces = std::any_of(documents.begin(), documents.end(), [](const Document& one) {
    return one.value.get_string({"kind"}) == "Namespace";
  });
  for (const Source& source : kSources) {
    if (source.part != Part::kQueues || (source.kind == "Node" && !nodes) ||
        (source.kind == "Namespace" && !namespaces))
      continue;
    inventory->kinds[std::string(source.kind)];
  }
  for (const Document& document : documents) {
    json::Value object = document.value;
    const std::string kind(object.get_string({"kind"}));
    const auto list = inventory->kinds.find(kind);
    if (list == inventory->kinds.end()) continue;
    if (kind == "LocalQueue" && namespace_of(object).empty())
      object.at_path({"metadata", "namespace"}) = ns;
    list->second.push_back(std::move(object));
  }
  for (auto& [kind, list] : inventory->kinds) {
    std::sort(list.begin(), list.end(), [](const json::Value& a, const json::Value& b) {
      return std::pair(namespace_of(a), name_of(a)) < std::pair(namespace_of(b), name_of(b));
    });
  }
  return {};
}

std::string coloured(Severity severity, bool colours) {
  const std::string text(name_of(severity));
  if (severity == Severity::kError) return red(text, colours);
  if (severity == Severity::kWarning) return yellow(text, colours);
  return bold(text, colours);
}

std::string counted(size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

void print_text(const std::vector<Finding>& findings, const size_t (&counts)[3],
                const std::string& skipped, Terminal& terminal) {
  std::string out;
  for (size_t i = 0; i < findings.size(); ++i) {
    const Finding& f = findings[i];
    out += coloured(f.severity, terminal.colours()) + " " + f.object +
           (f.field.empty() ? "" : " " + f.field) + " [" + f.rule + "]\n";
    // What is said of several objects in the same words is said under the last of them.
    const Finding* next = i + 1 < findings.size() ? &findings[i + 1] : nullptr;
    if (next != nullptr && next->severity == f.severity && next->rule == f.rule &&
        next->message == f.message && next->advice == f.advice)
      continue;
    out += "    " + f.message + "\n";
    if (!f.advice.empty()) out += "    > " + f.advice + "\n";
  }
  if (!skipped.empty()) out += "Not looked at: " + skipped + ".\n";
  terminal.out(out + counted(counts[0], "error") + ", " + counted(counts[1], "warning") + ", " +
               std::to_string(counts[2]) + " to know\n");
}

void print_json(const std::vector<Finding>& findings, const size_t (&counts)[3],
                const std::string& skipped, Terminal& terminal) {
  json::Value list = json::Value::array();
  for (const Finding& f : findings)
    list.as_array().push_back(json::Value::object({{"severity", name_of(f.severity)},
                                                   {"rule", f.rule},
                                                   {"object", f.object},
                                                   {"field", f.field},
                                                   {"message", f.message},
                                                   {"advice", f.advice}}));
  json::Value out = json::Value::object({{"findings", std::move(list)},
                                         {"errors", static_cast<int64_t>(counts[0])},
                                         {"warnings", static_cast<int64_t>(counts[1])},
                                         {"infos", static_cast<int64_t>(counts[2])}});
  if (!skipped.empty()) out["notLookedAt"] = skipped;
  terminal.out(json::write_pretty(out) + "\n");
}

// The rest, when everything is read; `findings` are those of the reading.
int judge(const Arguments& arguments, Terminal& terminal, const Inventory& inventory,
          std::vector<Finding> findings, const std::string& skipped) {
  std::vector<Finding> found = lint(inventory);
  findings.insert(findings.begin(), std::make_move_iterator(found.begin()),
                  std::make_move_iterator(found.end()));
  const std::string quiet = arguments.text("fail-on");
  size_t counts[3] = {};
  for (const Finding& f : findings) ++counts[static_cast<size_t>(f.severity)];
  if (arguments.text("output") == "json") {
    print_json(findings, counts, skipped, terminal);
  } else {
    print_text(findings, counts, skipped, terminal);
  }
  const size_t bad = quiet == "never"     ? 0
                     : quiet == "error"   ? counts[0]
                     : quiet == "warning" ? counts[0] + counts[1]
                                          : findings.size();
  return bad > 0 ? kFailed : kOk;
}

}  // namespace

int run_lint(const Context& context) {
  Inventory inventory;
  inventory.namespace_ = context.arguments.text("installation");
  inventory.now = system_clock().now();
  const auto version = context.cluster.request("GET", "/version");
  if (!version.ok()) return fail(context.terminal, version.error());
  // The manager of a playground converts and answers hooks within the server's own process: what
  // leads to it needs no Service, certificate or Deployment.
  const auto lease = context.cluster.request("GET", "/apis/coordination.k8s.io/v1/namespaces/" +
                                                        inventory.namespace_ + "/leases/" +
                                                        std::string(kLeaseName));
  inventory.own_conversion = version->get_string({"goVersion"}) == "none";
  const bool within = inventory.own_conversion && lease.ok() &&
                      lease->get_string({"spec", "holderIdentity"}) == kPlaygroundHolder &&
                      leader_problem(&*lease, inventory.now).empty();
  std::string skipped;
  if (context.arguments.is_set("queues-only")) {
    skipped = "CRDs, webhooks and the manager, as --queues-only asks";
  } else if (within) {
    skipped =
        "CRDs, webhooks, Services and Deployment, as this playground's manager runs within its "
        "server";
  }
  inventory.installation = skipped.empty();
  std::vector<Finding> findings;
  const auto read = read_server(context, &inventory, &findings);
  if (!read.ok()) return fail(context.terminal, read.error());
  return judge(context.arguments, context.terminal, inventory, std::move(findings), skipped);
}

int run_lint_files(const Arguments& arguments, Terminal& terminal) {
  Inventory inventory;
  const auto read = read_files(arguments, terminal, &inventory);
  if (!read.ok()) return fail(terminal, read.error());
  return judge(arguments, terminal, inventory, {}, "");
}

}  // namespace kueue::cli
