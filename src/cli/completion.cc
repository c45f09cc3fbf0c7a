// kueue completion: scripts for shells, made from the command table.
#include "cli/actions.h"

namespace kueue::cli {
namespace {

std::string words_of_commands() {
  std::string out;
  for (const Command& command : commands())
    out += (out.empty() ? "" : " ") + std::string(command.name);
  return out;
}

std::string words_of_flags(const Command& command) {
  std::string out;
  const auto add = [&](const Flag& flag) {
    out += (out.empty() ? "--" : " --") + std::string(flag.name);
    if (flag.letter != 0) out += std::string(" -") + flag.letter;
  };
  for (const Flag& flag : command.flags) add(flag);
  if (command.cluster) {
    for (const Flag& flag : cluster_flags()) add(flag);
  }
  return out + (out.empty() ? "" : " ") + "--help -h";
}

constexpr const char* kTypes =
    "workloads clusterqueues localqueues cohorts resourceflavors admissionchecks topologies "
    "workloadpriorityclasses jobs pods nodes namespaces events";

bool takes_types(const Command& command) {
  return command.name == "get" || command.name == "describe" || command.name == "delete" ||
         command.name == "explain";
}

bool takes_files(const Command& command) {
  for (const Flag& flag : command.flags) {
    if (flag.name == "filename") return true;
  }
  return false;
}

std::string bash_script() {
  std::string out =
      "# bash completion of kueue: source <(kueue completion bash)\n"
      "_kueue() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"" +
      words_of_commands() +
      " help\" -- \"$cur\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"$prev\" in\n"
      "    -f|--filename|--kubeconfig|--config|--data-dir) COMPREPLY=($(compgen -f -- \"$cur\")); "
      "return ;;\n"
      "    -o|--output) COMPREPLY=($(compgen -W \"json yaml wide name\" -- \"$cur\")); return ;;\n"
      "  esac\n"
      "  case \"${COMP_WORDS[1]}\" in\n";
  for (const Command& command : commands()) {
    std::string words = words_of_flags(command);
    if (takes_types(command)) words = std::string(kTypes) + " " + words;
    if (command.name == "completion") words = "bash zsh fish";
    if (command.raw)
      words = "$(\"${COMP_WORDS[0]}\" manager --help 2>/dev/null | grep -o '^  --[a-z-]*')";
    out += "    " + std::string(command.name) + ") words=\"" + words + "\" ;;\n";
  }
  out +=
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
      "}\n"
      "complete -o default -F _kueue kueue\n";
  return out;
}

std::string quoted(std::string_view text, std::string_view specials) {
  std::string out;
  for (const char c : text) {
    if (specials.find(c) != std::string_view::npos) out += '\\';
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out;
}

std::string zsh_script() {
  std::string out =
      "#compdef kueue\n"
      "# zsh completion of kueue: source <(kueue completion zsh)\n"
      "_kueue() {\n"
      "  local -a names\n"
      "  if (( CURRENT == 2 )); then\n"
      "    names=(\n";
  for (const Command& command : commands()) {
    out += "      '" + std::string(command.name) + ":" + quoted(command.summary, ":") + "'\n";
  }
  out +=
      "    )\n"
      "    _describe 'command' names\n"
      "    return\n"
      "  fi\n"
      "  case $words[2] in\n";
  for (const Command& command : commands()) {
    if (command.raw) {
      out += "    " + std::string(command.name) +
             ") compadd -- ${(f)\"$($words[1] manager --help 2>/dev/null | grep -o -- "
             "'--[a-z][a-z-]*' | sort -u)\"} ;;\n";
      continue;
    }
    out += "    " + std::string(command.name) + ") _arguments -s";
    const auto add = [&](const Flag& flag) {
      std::string value;
      if (flag.kind != FlagKind::kBool) {
        value = flag.name == "filename" || flag.name == "kubeconfig" || flag.name == "data-dir"
                    ? ":file:_files"
                : flag.name == "output" ? ":format:(json yaml wide name)"
                                        : ":value: ";
      }
      out += " \\\n      '--" + std::string(flag.name) + (flag.kind == FlagKind::kBool ? "" : "=") +
             "[" + quoted(flag.help, "[]:") + "]" + value + "'";
    };
    for (const Flag& flag : command.flags) add(flag);
    if (command.cluster) {
      for (const Flag& flag : cluster_flags()) add(flag);
    }
    if (takes_types(command)) out += " \\\n      '1:type:(" + std::string(kTypes) + ")'";
    if (command.name == "completion") out += " \\\n      '1:shell:(bash zsh fish)'";
    if (takes_files(command)) out += " \\\n      '*:file:_files'";
    out += " ;;\n";
  }
  out +=
      "  esac\n"
      "}\n"
      "compdef _kueue kueue\n";
  return out;
}

std::string fish_script() {
  std::string out =
      "# fish completion of kueue: kueue completion fish | source\ncomplete -c kueue -f\n";
  for (const Command& command : commands()) {
    out += "complete -c kueue -n __fish_use_subcommand -a " + std::string(command.name) + " -d '" +
           quoted(command.summary, "") + "'\n";
    const std::string when =
        "complete -c kueue -n '__fish_seen_subcommand_from " + std::string(command.name) + "'";
    const auto add = [&](const Flag& flag) {
      out += when + " -l " + std::string(flag.name);
      if (flag.letter != 0) out += std::string(" -s ") + flag.letter;
      if (flag.kind != FlagKind::kBool)
        out += flag.name == "filename" || flag.name == "kubeconfig" ? " -r -F" : " -r";
      out += " -d '" + quoted(flag.help, "") + "'\n";
    };
    for (const Flag& flag : command.flags) add(flag);
    if (command.cluster) {
      for (const Flag& flag : cluster_flags()) add(flag);
    }
    if (takes_types(command)) out += when + " -a '" + kTypes + "'\n";
    if (command.name == "completion") out += when + " -a 'bash zsh fish'\n";
    if (command.raw)
      out += when +
             " -a '(kueue manager --help 2>/dev/null | string match -r -g \"^  (--[a-z-]+)\")'\n";
  }
  return out;
}

}  // namespace

int run_completion(const Arguments& arguments, Terminal& terminal) {
  const std::string& shell = arguments.positional()[0];
  if (shell == "bash") {
    terminal.out(bash_script());
  } else if (shell == "zsh") {
    terminal.out(zsh_script());
  } else if (shell == "fish") {
    terminal.out(fish_script());
  } else {
    return usage_error(terminal, "unknown shell '" + shell + "': must be one of bash, zsh, fish");
  }
  return kOk;
}

}  // namespace kueue::cli
