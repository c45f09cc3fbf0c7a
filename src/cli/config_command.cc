// kueue config: the manager's Configuration without a manager.
#include "cli/actions.h"
#include "cli/kubeconfig.h"
#include "config/config.h"
#include "json/json.h"

namespace kueue::cli {
namespace {

Result<std::string> read_text(const std::string& file, Terminal& terminal) {
  return file == "-" ? Result<std::string>(terminal.read_input()) : read_file(file);
}

void print(const std::string& file, std::string_view word, const std::vector<config::Fault>& faults,
           Terminal& terminal) {
  std::string out;
  for (const config::Fault& fault : faults)
    out += file + ":" + (fault.line > 0 ? std::to_string(fault.line) + ":" : "") + " " +
           std::string(word) + (fault.field.empty() ? "" : fault.field + ": ") + fault.message +
           "\n";
  if (!out.empty()) terminal.err(out);
}

// Everything a manager would refuse at its start, and what it would leave out.
int check(const std::string& name, const std::string& gates_flag, Terminal& terminal) {
  const auto text = read_text(name, terminal);
  if (!text.ok()) return fail(terminal, text.error());
  const std::string file = name == "-" ? "standard input" : name;
  const config::Checked checked = config::check(*text, gates_flag);
  print(file, "", checked.faults, terminal);
  print(file, "warning: ", checked.warnings, terminal);
  if (!checked.faults.empty()) return kFailed;
  terminal.out(file + ": valid" +
               (checked.empty ? ", but it says nothing: everything has its default, which 'kueue "
                                "config defaults' shows"
                : checked.warnings.empty() ? ""
                                           : ", with warnings") +
               "\n");
  return kOk;
}

int defaults(const std::vector<std::string>& words, Terminal& terminal) {
  std::string text;
  const std::string name = words.size() > 1 ? words[1] : "";
  if (!name.empty()) {
    const auto read = read_text(name, terminal);
    if (!read.ok()) return fail(terminal, read.error());
    text = *read;
  }
  const auto loaded = config::load(text);
  if (!loaded.ok()) {
    print(name == "-" ? "standard input" : name, "", config::check(text).faults, terminal);
    return kFailed;
  }
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
