// The command `kueue manager`: the manager against any API server, with its health, metrics and
// webhook ports.
#pragma once

#include <span>
#include <string>

#include "cli/terminal.h"

namespace kueue::app {

// Runs until SIGINT or SIGTERM, or until its lease is lost; the exit code.
int run_manager(std::span<const std::string> arguments, cli::Terminal& terminal);

}  // namespace kueue::app
