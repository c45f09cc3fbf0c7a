// The command `kueue up`.
#pragma once

#include "cli/args.h"
#include "cli/terminal.h"

namespace kueue::app {

// Runs until SIGINT or SIGTERM; the exit code.
int run_up(const cli::Arguments& arguments, cli::Terminal& terminal);

}  // namespace kueue::app
