// kueue config: the manager's Configuration without a manager.
#include "cli/actions.h"
#include "cli/kubeconfig.h"
#include "config/config.h"
#include "config/yaml_lines.h"
#include "json/json.h"

namespace kueue::cli {
namespace {

// Everything a manager would refuse at its start; the causes with their lines.
int check(const std::string& file, const std::string& gates_flag, Terminal& terminal) {
  const auto text = read_file(file);
  if (!text.ok()) return fail(terminal, text.error());
  const auto loaded = config::load(*text);
  if (!loaded.ok()) {
    terminal.err(file + ": " + loaded.error().message + "\n");
    return kFailed;
  }
  for (const std::string& warning : loaded->warnings)
    terminal.err(file + ": warning: " + warning + "\n");
  const auto gates = config::effective_gates(gates_flag, loaded->document);
  std::vector<ErrorCause> causes;
  if (gates.ok()) {
    causes = config::validate(loaded->document, *gates);
  } else {
    causes = gates.error().causes;
    if (causes.empty())
      causes.push_back({.reason = "", .message = gates.error().message, .field = ""});
  }
  for (const ErrorCause& cause : causes) {
    const size_t line = cause.field.empty() ? 0 : config::line_of(*text, cause.field);
    terminal.err(file + ":" + (line > 0 ? std::to_string(line) + ":" : "") + " " +
                 (cause.field.empty() ? "" : cause.field + ": ") + cause.message + "\n");
  }
  if (!causes.empty()) return kFailed;
  terminal.out(file + ": valid\n");
  return kOk;
}

int defaults(const std::vector<std::string>& words, Terminal& terminal) {
  std::string text;
  if (words.size() > 1) {
    const auto read = read_file(words[1]);
    if (!read.ok()) return fail(terminal, read.error());
    text = *read;
  }
  const auto loaded = config::load(text);
  if (!loaded.ok()) return fail(terminal, loaded.error());
  terminal.out(json::write_yaml(loaded->document));
  return kOk;
}

}  // namespace

int run_config(const Arguments& arguments, Terminal& terminal) {
  const std::vector<std::string>& words = arguments.positional();
  if (words[0] == "check") {
    if (words.size() != 2) return usage_error(terminal, "config check takes one FILE");
    return check(words[1], arguments.text("feature-gates"), terminal);
  }
  if (words[0] == "defaults") return defaults(words, terminal);
  if (words[0] == "explain")
    return explain_path("configuration" + (words.size() > 1 ? "." + words[1] : ""), "", false,
                        terminal);
  return usage_error(terminal,
                     "config knows check, defaults and explain, not \"" + words[0] + "\"");
}

}  // namespace kueue::cli
