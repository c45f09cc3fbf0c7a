// kueue: one program for the playground, the manager and the command line.
#include <signal.h>
#include <sys/resource.h>

#include <string>
#include <string_view>
#include <vector>

#include "app/connect.h"
#include "app/manager_command.h"
#include "app/outside_explanation.h"
#include "app/replay.h"
#include "app/up.h"
#include "base/huge_pages.h"
#include "cli/commands.h"
#include "net/loop.h"

// jemalloc's settings; MALLOC_CONF in the environment wins. Freed memory goes back after a second,
// on jemalloc's own thread, and few arenas leave less of it half used.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "narenas:4,dirty_decay_ms:1000,muzzy_decay_ms:0,background_thread:true";
}

namespace {

void prepare_process() {
  kueue::use_huge_pages_when_large();
  kueue::net::ignore_sigpipe();
  // A file that reached its limit is an error like a full disk, not the end of the process.
  signal(SIGXFSZ, SIG_IGN);
  // Each watch of a client holds a descriptor; the usual soft limit of 1024 is for select().
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
}

}  // namespace

int main(int argc, char** argv) {
  prepare_process();
  std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  // Under the name of Kueue's own program it is that program: Deployments name it and its flags.
  if (argc > 0 && std::string_view(argv[0]).ends_with("/manager"))
    arguments.insert(arguments.begin(), "manager");
  // Under the name kubectl-kueue it is the plug-in `kubectl kueue`, with the same commands: kubectl
  // passes on what follows.
  kueue::cli::Terminal& terminal = kueue::cli::system_terminal();
  kueue::cli::Hooks hooks;
  hooks.connect = [](const kueue::kube::ClientConfig& config) {
    return kueue::app::connect(config);
  };
  hooks.up = kueue::app::run_up;
  hooks.manager = kueue::app::run_manager;
  hooks.explain = kueue::app::explain_from_outside;
  hooks.replay = kueue::app::run_replay;
  return kueue::cli::run(arguments, hooks, terminal);
}
