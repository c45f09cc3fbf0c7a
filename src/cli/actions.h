// The commands that talk to a cluster. Each prints to the terminal and returns the exit code.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/args.h"
#include "cli/cluster.h"
#include "cli/commands.h"
#include "cli/terminal.h"

namespace kueue::cli {

struct Context {
  Cluster& cluster;
  const Arguments& arguments;
  Terminal& terminal;
  // Hooks::explain for this cluster; may be empty.
  std::function<Result<json::Value>(const std::string& namespace_, const std::string& name)>
      explain = {};
};

int run_get(const Context& context);
int run_describe(const Context& context);
int run_apply(const Context& context);  // server-side apply
int run_create(const Context& context);
int run_delete(const Context& context);
// Looks for what will not work; kFailed when something of --fail-on or worse is found.
int run_lint(const Context& context);
int run_lint_files(const Arguments& arguments, Terminal& terminal);  // with -f: needs no server
// explain TYPE NAME, TYPE/NAME, of a Workload or of the job that owns it: what the manager says.
bool explains_object(const Arguments& arguments);
int run_explain_object(const Context& context);
// Of the kinds we have tables of; needs no server.
int run_explain(const Arguments& arguments, Terminal& terminal);
// The same for one "TYPE.FIELD"; `api_version` "" is the current one.
int explain_path(const std::string& what, const std::string& api_version, bool recursive,
                 Terminal& terminal);
// check, defaults and explain of the manager's Configuration.
int run_config(const Arguments& arguments, Terminal& terminal);

// Manifests for a real cluster, to standard output.
int run_install(const Arguments& arguments, Terminal& terminal);
int run_crds(const Arguments& arguments, Terminal& terminal);
int run_completion(const Arguments& arguments, Terminal& terminal);

// Prints it to standard error and returns kFailed.
int fail(Terminal& terminal, const Error& error);
int usage_error(Terminal& terminal, const std::string& text);

// The namespace a command works in: -n, or the context's.
std::string namespace_of(const Context& context);

// One document of the files given with -f, with where it stands for messages.
struct Document {
  json::Value value;
  std::string where;  // "queues.yaml, document 2"
};
// Reads every -f: files, folders (*.yaml, *.yml, *.json, sorted; with `recursive` those below too),
// "-". Lists are taken apart.
Result<std::vector<Document>> read_documents(const std::vector<std::string>& paths,
                                             Terminal& terminal, bool recursive);

// TYPE NAME.., TYPE/NAME.. taken apart: types with no name mean all objects.
struct Target {
  ResourceType type;
  std::string name;  // "" = the collection
};
Result<std::vector<Target>> read_targets(Cluster& cluster, const std::vector<std::string>& words);

}  // namespace kueue::cli
