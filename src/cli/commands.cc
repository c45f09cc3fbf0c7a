// The command table, and from a command line to an action.
#include "cli/commands.h"

#include "cli/actions.h"
#include "json/json.h"

namespace kueue::cli {
namespace {

constexpr std::string_view kFormats[] = {"json", "yaml", "wide", "name"};
constexpr std::string_view kPlainFormats[] = {"json", "yaml", "name"};
constexpr std::string_view kCrdFormats[] = {"json", "yaml", "name"};
constexpr std::string_view kDryRuns[] = {"none", "server"};
constexpr std::string_view kCascades[] = {"background", "foreground", "orphan"};

constexpr Flag kClusterFlags[] = {
    {.name = "kubeconfig",
     .value_name = "FILE",
     .help = "Instead of $KUBECONFIG, ~/.kube/config or the playground of 'kueue up'."},
    {.name = "context", .value_name = "NAME", .help = "Context of the kubeconfig to use."},
    {.name = "namespace", .letter = 'n', .value_name = "NAME", .help = "Namespace to work in."},
};

constexpr Flag kFilename{.name = "filename",
                         .letter = 'f',
                         .kind = FlagKind::kList,
                         .value_name = "FILE",
                         .help = "File, folder of manifests, or - for standard input."};
constexpr Flag kRecursive{.name = "recursive",
                          .letter = 'R',
                          .kind = FlagKind::kBool,
                          .help = "Of folders also the manifests in folders below."};
constexpr Flag kSelector{.name = "selector",
                         .letter = 'l',
                         .value_name = "LABELS",
                         .help = "Label selector, such as app=x,tier!=y."};
constexpr Flag kAll{.name = "all-namespaces",
                    .letter = 'A',
                    .kind = FlagKind::kBool,
                    .help = "Objects of every namespace."};
constexpr Flag kOutput{.name = "output",
                       .letter = 'o',
                       .value_name = "FORMAT",
                       .help = "json, yaml, wide or name.",
                       .choices = kFormats};
constexpr Flag kPlainOutput{.name = "output",
                            .letter = 'o',
                            .value_name = "FORMAT",
                            .help = "json, yaml or name.",
                            .choices = kPlainFormats};
constexpr Flag kDryRun{.name = "dry-run",
                       .value_name = "WHERE",
                       .fallback = "none",
                       .help = "\"server\": everything but storing it.",
                       .choices = kDryRuns};
constexpr Flag kFieldManager{.name = "field-manager",
                             .value_name = "NAME",
                             .help = "Who owns the fields that are set (default kueue-cli)."};
constexpr Flag kIgnore{.name = "ignore-not-found",
                       .kind = FlagKind::kBool,
                       .help = "An object that does not exist is no failure."};

constexpr Flag kUpFlags[] = {
    {.name = "data-dir",
     .value_name = "DIR",
     .help = "Where everything is kept (default ~/.local/share/kueue)."},
    {.name = "memory",
     .kind = FlagKind::kBool,
     .help = "Keep nothing on disk but the kubeconfig, while it runs."},
    {.name = "kubeconfig",
     .value_name = "FILE",
     .help = "Written when everything is ready (default DIR/kubeconfig, or DIR/kubeconfig-memory "
             "with --memory)."},
    {.name = "address",
     .value_name = "IP",
     .fallback = "127.0.0.1",
     .help = "Address to listen on."},
    {.name = "port",
     .kind = FlagKind::kInt,
     .value_name = "N",
     .help = "Port to listen on, 0 for any (default 6443, or any when that is taken)."},
    {.name = "nodes",
     .value_name = "SPEC",
     .fallback = "4x8cpu,32Gi",
     .help =
         "Nodes to make, such as 4x8cpu,32Gi,nvidia.com/gpu=2+1x64cpu,256Gi; \"none\" makes none."},
    {.name = "stand-ins",
     .value_name = "LIST",
     .fallback = "all",
     .help = "all, none, or some of scheduler,kubelet,job-controller."},
    {.name = "no-manager", .kind = FlagKind::kBool, .help = "API server and stand-ins only."},
    {.name = "config",
     .value_name = "FILE",
     .help = "Configuration of the manager (config.kueue.x-k8s.io)."},
    {.name = "verbosity",
     .letter = 'v',
     .kind = FlagKind::kInt,
     .value_name = "N",
     .fallback = "0",
     .help = "Log more with a higher number."},
};
constexpr Flag kGetFlags[] = {
    kOutput,
    kSelector,
    {.name = "field-selector",
     .value_name = "FIELDS",
     .help = "Field selector, such as metadata.name=x."},
    kAll,
    {.name = "watch",
     .letter = 'w',
     .kind = FlagKind::kBool,
     .help = "Print changes as they come."},
    {.name = "no-headers", .kind = FlagKind::kBool, .help = "Rows only."},
    {.name = "show-labels", .kind = FlagKind::kBool, .help = "A column with all labels."},
    {.name = "label-columns",
     .letter = 'L',
     .kind = FlagKind::kList,
     .value_name = "LABELS",
     .help = "A column for each of these labels."},
    {.name = "show-managed-fields",
     .kind = FlagKind::kBool,
     .help = "Do not hide metadata.managedFields."},
    kIgnore,
};
constexpr Flag kDescribeFlags[] = {kSelector, kAll};
constexpr Flag kApplyFlags[] = {
    kFilename,
    kRecursive,
    {.name = "force-conflicts",
     .kind = FlagKind::kBool,
     .help = "Take over fields that others own."},
    kFieldManager,
    kDryRun,
    kPlainOutput,
};
constexpr Flag kCreateFlags[] = {kFilename, kRecursive, kFieldManager, kDryRun, kPlainOutput};
constexpr Flag kDeleteFlags[] = {
    kFilename,
    kRecursive,
    kSelector,
    kAll,
    {.name = "all", .kind = FlagKind::kBool, .help = "Every object of the type."},
    {.name = "cascade",
     .value_name = "HOW",
     .fallback = "background",
     .help = "What happens to owned objects: background, foreground or orphan.",
     .choices = kCascades},
    {.name = "grace-period",
     .kind = FlagKind::kInt,
     .value_name = "SECONDS",
     .help = "Time to end; -1 is the object's own."},
    {.name = "now", .kind = FlagKind::kBool, .help = "As --grace-period=1."},
    {.name = "force", .kind = FlagKind::kBool, .help = "As --grace-period=0."},
    {.name = "wait",
     .kind = FlagKind::kBool,
     .fallback = "true",
     .help = "Wait until the objects are gone."},
    {.name = "timeout-seconds",
     .kind = FlagKind::kInt,
     .value_name = "N",
     .fallback = "0",
     .help = "Longest wait; 0 is without end."},
    kDryRun,
    kIgnore,
    {.name = "output",
     .letter = 'o',
     .value_name = "FORMAT",
     .help = "\"name\": names only.",
     .choices = std::span(kPlainFormats).subspan(2)},
};
constexpr Flag kExplainFlags[] = {
    {.name = "recursive", .kind = FlagKind::kBool, .help = "All fields below, names only."},
    {.name = "api-version",
     .value_name = "GROUP/VERSION",
     .help = "A version other than the current one."},
    {.name = "output",
     .letter = 'o',
     .value_name = "FORMAT",
     .help = "json or yaml, of one Workload.",
     .choices = std::span(kPlainFormats).first(2)},
};
constexpr Flag kConfigFlags[] = {
    {.name = "feature-gates",
     .value_name = "NAME=BOOL,...",
     .help = "As the manager will be given them; decides what is allowed."},
};
constexpr Flag kCrdsFlags[] = {
    {.name = "output",
     .letter = 'o',
     .value_name = "FORMAT",
     .fallback = "yaml",
     .help = "yaml (one stream), json (one List) or name.",
     .choices = kCrdFormats},
    {.name = "no-descriptions",
     .kind = FlagKind::kBool,
     .help = "Without the fields' documentation."},
};
constexpr Flag kInstallFlags[] = {
    {.name = "only",
     .kind = FlagKind::kList,
     .value_name = "PARTS",
     .help =
         "Some of: namespace, crds, rbac, config, services, deployment, visibility, flowcontrol, "
         "webhooks."},
    {.name = "namespace",
     .letter = 'n',
     .value_name = "NAME",
     .fallback = "kueue-system",
     .help = "Where the manager runs."},
    {.name = "image",
     .value_name = "IMAGE",
     .fallback = "kueue-cpp:latest",
     .help = "The manager's image."},
    {.name = "no-descriptions", .kind = FlagKind::kBool, .help = "CRDs without documentation."},
};
constexpr std::string_view kLintOutputs[] = {"text", "json"};
constexpr std::string_view kLintLevels[] = {"error", "warning", "info", "never"};
constexpr Flag kLintFlags[] = {
    kFilename,
    {.name = "output",
     .letter = 'o',
     .value_name = "FORMAT",
     .fallback = "text",
     .help = "text or json.",
     .choices = kLintOutputs},
    {.name = "fail-on",
     .value_name = "LEVEL",
     .fallback = "warning",
     .help = "Exit code 1 when something is found that is this bad or worse.",
     .choices = kLintLevels},
    {.name = "queues-only",
     .kind = FlagKind::kBool,
     .help = "Look at queues and quotas, not at CRDs, webhooks and the manager."},
    {.name = "installation",
     .value_name = "NAMESPACE",
     .fallback = "kueue-system",
     .help = "The namespace that the manager is installed in."},
};
constexpr Flag kVersionFlags[] = {
    {.name = "client", .kind = FlagKind::kBool, .help = "Do not ask the server."},
    {.name = "output",
     .letter = 'o',
     .value_name = "FORMAT",
     .help = "json or yaml.",
     .choices = std::span(kPlainFormats).first(2)},
};

constexpr std::string_view kReplayOutputs[] = {"text", "json"};
constexpr Flag kReplayFlags[] = {{.name = "output",
                                  .letter = 'o',
                                  .value_name = "FORMAT",
                                  .fallback = "text",
                                  .help = "text or json",
                                  .choices = kReplayOutputs}};

constexpr Command kCommands[] = {
    {.name = "up",
     .summary = "Start a playground: API server, stand-ins for machines, and the manager",
     .text = "Needs nothing but this program. Real kubectl and client libraries work with it. "
             "Ctrl-C ends it; what was\n"
             "stored is there again at the next start.",
     .examples = "  kueue up\n  kueue up --memory --nodes 2x4cpu,16Gi,nvidia.com/gpu=8",
     .flags = kUpFlags,
     .max_arguments = 0,
     .cluster = false},
    {.name = "manager",
     .summary = "Run the manager against any Kubernetes API server",
     .cluster = false,
     .raw = true},
    {.name = "replay",
     .arguments = "FILE",
     .summary = "Run the scheduling cycle of a state dump again and say why it decides so",
     .text = "A manager answers GET /debug/state on its metrics address with such a dump. - reads "
             "standard input.",
     .examples = "  kueue replay state.json\n  kueue replay state.json -o json",
     .flags = kReplayFlags,
     .min_arguments = 1,
     .max_arguments = 1,
     .cluster = false},
    {.name = "apply",
     .arguments = "-f FILE",
     .summary = "Create objects or bring them to what the files say (server-side apply)",
     .examples = "  kueue apply -f queues.yaml\n  cat job.yaml | kueue apply -f -",
     .flags = kApplyFlags,
     .max_arguments = 0},
    {.name = "create",
     .arguments = "-f FILE",
     .summary = "Create objects; generateName makes a new one each time",
     .flags = kCreateFlags,
     .max_arguments = 0},
    {.name = "get",
     .arguments = "TYPE [NAME..] | TYPE/NAME..",
     .summary = "List objects, or print some of them",
     .examples = "  kueue get workloads -A\n  kueue get cq,lq\n  kueue get workload job-x-1a2b3 -o "
                 "yaml\n  kueue get workloads -w",
     .flags = kGetFlags,
     .min_arguments = 1},
    {.name = "describe",
     .arguments = "TYPE [NAME..] | TYPE/NAME..",
     .summary = "Show objects with their events; a Workload says why it waits",
     .examples = "  kueue describe workload job-x-1a2b3",
     .flags = kDescribeFlags,
     .min_arguments = 1},
    {.name = "delete",
     .arguments = "-f FILE | TYPE NAME.. | TYPE/NAME..",
     .summary = "Delete objects and wait until they are gone",
     .flags = kDeleteFlags},
    {.name = "explain",
     .arguments = "TYPE[.FIELD..] | workload NAME | JOBTYPE NAME",
     .summary = "Say why a Workload waits and when it starts; or document a type and its fields",
     .text =
         "With a name the manager is asked: what the Workload waits for, in numbers, what would "
         "help, when it\nwill start, who preempted it and for whom. With a type alone no server "
         "is needed. As kubectl-kueue in\nthe PATH this program is a plug-in: kubectl kueue "
         "explain workload NAME.",
     .examples = "  kueue explain workload job-x-1a2b3\n  kueue explain job x -n team -o yaml\n"
                 "  kueue explain workload.spec.podSets\n  kueue explain clusterqueue --recursive",
     .flags = kExplainFlags,
     .min_arguments = 1,
     .max_arguments = 2},
    {.name = "lint",
     .summary = "Check an installation, its queues and quotas, and explain what is wrong",
     .text =
         "With -f only the objects in the files are looked at, before they are applied; folders "
         "with all below.",
     .examples = "  kueue lint\n  kueue lint -o json --fail-on=error\n  kueue lint -f queues/",
     .flags = kLintFlags,
     .max_arguments = 0},
    {.name = "config",
     .arguments = "check FILE | defaults [FILE] | explain [FIELD]",
     .summary = "Check the manager's Configuration, show its defaults, or document a field",
     .text =
         "check says everything at once, with lines, and what of it this program cannot do yet. "
         "- reads standard\ninput.",
     .examples = "  kueue config check config.yaml\n  kueue config defaults > config.yaml\n"
                 "  kueue config explain waitForPodsReady",
     .flags = kConfigFlags,
     .min_arguments = 1,
     .max_arguments = 2,
     .cluster = false},
    {.name = "crds",
     .summary = "Print the CustomResourceDefinitions of Kueue",
     .examples = "  kueue crds | kubectl apply --server-side -f -",
     .flags = kCrdsFlags,
     .max_arguments = 0,
     .cluster = false},
    {.name = "install",
     .summary = "Print manifests for a real cluster",
     .text = "Everything, or the parts named by --only. CRDs are too large for client-side apply.",
     .examples =
         "  kueue install --image REGISTRY/kueue-cpp:TAG | kubectl apply --server-side -f -\n"
         "  kueue install --only crds | kubectl apply --server-side -f -",
     .flags = kInstallFlags,
     .max_arguments = 0,
     .cluster = false},
    {.name = "version",
     .summary = "Print the version of this program and of the server",
     .flags = kVersionFlags,
     .max_arguments = 0},
    {.name = "completion",
     .arguments = "bash|zsh|fish",
     .summary = "Print a completion script for a shell",
     .examples = "  source <(kueue completion bash)\n  source <(kueue completion zsh)\n  kueue "
                 "completion fish | source",
     .min_arguments = 1,
     .max_arguments = 1,
     .cluster = false},
};

std::string overview() {
  std::string out =
      "kueue decides when a whole job may start.\n\nUsage:\n  kueue COMMAND [arguments] "
      "[flags]\n\nCommands:\n";
  for (const Command& command : kCommands) {
    std::string line = "  " + std::string(command.name);
    line.resize(14, ' ');
    out += line + std::string(command.summary) + "\n";
  }
  return out + "\n'kueue COMMAND --help' tells more about a command.\n";
}

// `problem`: why there is no server to ask, "" when there is one or nobody wants to know.
int run_version(const Arguments& arguments, Cluster* cluster, std::string problem,
                Terminal& terminal) {
  json::Value versions = json::Value::object({{"clientVersion", KUEUE_VERSION}});
  if (cluster != nullptr) {
    auto server = cluster->request("GET", "/version");
    if (server.ok()) {
      versions["serverVersion"] = *std::move(server);
    } else {
      problem = server.error().message;
    }
  }
  const std::string format = arguments.text("output");
  if (format == "json") {
    terminal.out(json::write_pretty(versions) + "\n");
  } else if (format == "yaml") {
    terminal.out(json::write_yaml(versions));
  } else {
    terminal.out("kueue " KUEUE_VERSION "\n");
    const std::string_view server = versions.get_string({"serverVersion", "gitVersion"});
    if (!server.empty()) terminal.out("server: Kubernetes " + std::string(server) + "\n");
  }
  // The client's version was asked for too, and is there: no failure.
  if (!problem.empty()) terminal.err("server: unreachable: " + problem + "\n");
  return kOk;
}

int run_on_cluster(const Command& command, const Arguments& arguments, const Hooks& hooks,
                   Terminal& terminal) {
  const auto config = find_cluster(arguments.text("kubeconfig"), arguments.text("context"));
  const bool version = command.name == "version";
  if (version && !config.ok()) {
    // No server to ask: that is nothing to tell unless one was named.
    const bool named = arguments.given("kubeconfig") || arguments.given("context");
    return run_version(arguments, nullptr, named ? config.error().message : "", terminal);
  }
  if (!config.ok()) return fail(terminal, config.error());
  auto transport = hooks.connect(*config);
  if (!transport.ok() && version)
    return run_version(arguments, nullptr, transport.error().message, terminal);
  if (!transport.ok()) return fail(terminal, transport.error());
  Cluster cluster(*std::move(transport),
                  config->namespace_.empty() ? "default" : config->namespace_);
  Context context{cluster, arguments, terminal};
  if (hooks.explain)
    context.explain = [&](const std::string& ns, const std::string& workload) {
      return hooks.explain(*config, ns, workload);
    };
  if (command.name == "get") return run_get(context);
  if (command.name == "explain") return run_explain_object(context);
  if (command.name == "describe") return run_describe(context);
  if (command.name == "apply") return run_apply(context);
  if (command.name == "create") return run_create(context);
  if (command.name == "delete") return run_delete(context);
  if (command.name == "lint") return run_lint(context);
  return run_version(arguments, &cluster, "", terminal);
}

}  // namespace

std::span<const Command> commands() { return kCommands; }
std::span<const Flag> cluster_flags() { return kClusterFlags; }

const Command* find_command(std::string_view name) {
  for (const Command& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

int run(std::span<const std::string> arguments, const Hooks& hooks, Terminal& terminal) {
  if (arguments.empty() || arguments[0] == "help" || arguments[0] == "--help" ||
      arguments[0] == "-h") {
    const Command* about = arguments.size() > 1 ? find_command(arguments[1]) : nullptr;
    if (about != nullptr && about->raw) {
      const std::string help[] = {"--help"};
      return hooks.manager(help, terminal);
    }
    terminal.out(about != nullptr ? command_help("kueue", *about, kClusterFlags) : overview());
    return arguments.empty() ? kUsage : kOk;
  }
  const std::string name = arguments[0] == "--version" ? "version" : arguments[0];
  const Command* command = find_command(name);
  if (command == nullptr) {
    std::vector<std::string_view> names;
    for (const Command& one : kCommands) names.push_back(one.name);
    const std::string near = nearest(name, names);
    return usage_error(terminal, "unknown command \"" + name + "\"" +
                                     (near.empty() ? "" : "; did you mean \"" + near + "\"?") +
                                     "\n'kueue help' lists the commands.");
  }
  if (command->raw) return hooks.manager(arguments.subspan(1), terminal);
  const auto parsed = parse_arguments(*command, kClusterFlags, arguments.subspan(1));
  if (!parsed.ok()) {
    return usage_error(terminal, parsed.error().message + "\n'kueue " + std::string(command->name) +
                                     " --help' shows how to use it.");
  }
  if (parsed->is_set("help")) {
    terminal.out(command_help("kueue", *command, kClusterFlags));
    return kOk;
  }
  if (name == "up") return hooks.up(*parsed, terminal);
  if (name == "replay") return hooks.replay(*parsed, terminal);
  if (name == "explain" && !explains_object(*parsed)) return run_explain(*parsed, terminal);
  if (name == "config") return run_config(*parsed, terminal);
  if (name == "crds") return run_crds(*parsed, terminal);
  if (name == "install") return run_install(*parsed, terminal);
  if (name == "completion") return run_completion(*parsed, terminal);
  if (name == "lint" && parsed->given("filename")) return run_lint_files(*parsed, terminal);
  if (name == "version" && parsed->is_set("client"))
    return run_version(*parsed, nullptr, "", terminal);
  return run_on_cluster(*command, *parsed, hooks, terminal);
}

}  // namespace kueue::cli
