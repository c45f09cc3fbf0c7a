// `kueue replay FILE`: one scheduling cycle of a dumped engine state, again.
#pragma once

#include "cli/args.h"
#include "cli/terminal.h"

namespace kueue::app {

// Reads the dump ("-" = standard input), runs its cycle and prints the plan and why. 0, or 1 with
// the reason when the file cannot be read or is no dump.
int run_replay(const cli::Arguments& arguments, cli::Terminal& terminal);

}  // namespace kueue::app
