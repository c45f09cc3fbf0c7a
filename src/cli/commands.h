// The command table and the entry of the command line.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/args.h"
#include "cli/kubeconfig.h"
#include "cli/terminal.h"
#include "json/value.h"
#include "wire/http.h"

namespace kueue::cli {

// Exit codes of every command.
constexpr int kOk = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;

// What the application provides: everything with sockets or long-lived processes.
struct Hooks {
  std::function<Result<std::shared_ptr<wire::Transport>>(const kube::ClientConfig& config)> connect;
  // Long-running commands: their arguments behind the command's name, parsed by the table unless
  // raw.
  std::function<int(const Arguments& arguments, Terminal& terminal)> up;
  std::function<int(std::span<const std::string> arguments, Terminal& terminal)> manager;
  // The explanation of a Workload of this cluster, made from its objects when no manager gives one.
  std::function<Result<json::Value>(const kube::ClientConfig& config, const std::string& namespace_,
                                    const std::string& name)>
      explain;
  // A dumped engine state, decided again.
  std::function<int(const Arguments& arguments, Terminal& terminal)> replay;
};

std::span<const Command> commands();
std::span<const Flag> cluster_flags();
const Command* find_command(std::string_view name);

// Runs the command line without the program's name; returns the exit code.
int run(std::span<const std::string> arguments, const Hooks& hooks, Terminal& terminal);

}  // namespace kueue::cli
