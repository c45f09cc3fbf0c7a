// From flags to a Playground, and until a signal.
#include "app/up.h"

#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>

#include "app/playground.h"
#include "base/log.h"
#include "cli/commands.h"
#include "net/loop.h"

namespace kueue::app {
namespace {

// Shown to the user for another terminal, which may stand in another folder.
std::string absolute(const std::string& path) {
  if (path.empty() || path[0] == '/') return path;
  char folder[4096];
  return getcwd(folder, sizeof folder) == nullptr ? path : std::string(folder) + "/" + path;
}

// Of this program, when a shell would not find it there by itself.
std::string own_folder() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  if (n <= 0) return "";
  const std::string_view program(path, static_cast<size_t>(n));
  const std::string_view folder = program.substr(0, program.rfind('/'));
  for (const char* usual : {"/bin", "/usr/bin", "/usr/local/bin"})
    if (folder == usual) return "";
  return std::string(folder);
}

PlaygroundOptions options_of(const cli::Arguments& arguments) {
  PlaygroundOptions options;
  options.memory = arguments.is_set("memory");
  options.data_dir = arguments.text("data-dir");
  options.kubeconfig = arguments.text("kubeconfig");
  if (options.data_dir.empty()) options.data_dir = cli::default_data_dir();
  while (options.data_dir.size() > 1 && options.data_dir.ends_with('/'))
    options.data_dir.pop_back();
  // What is kept in the folder has a kubeconfig of its own there.
  if (options.kubeconfig.empty())
    options.kubeconfig =
        options.data_dir + (options.memory ? cli::kMemoryKubeconfig : cli::kKubeconfig);
  options.data_dir = absolute(options.data_dir);
  options.kubeconfig = absolute(options.kubeconfig);
  options.address = arguments.text("address");
  if (arguments.given("port")) options.port = static_cast<int>(arguments.number("port"));
  options.nodes = arguments.text("nodes");
  options.stand_ins = arguments.text("stand-ins");
  options.manager = !arguments.is_set("no-manager");
  options.config_path = arguments.text("config");
  return options;
}

// Until everything is ready a signal ends the process at once: nothing has been acknowledged that
// is not on disk, and waiting for a large folder to be read helps nobody. Afterwards it ends
// wait().
class StopSignal {
 public:
  StopSignal()
      : watch_(loop_, {SIGINT, SIGTERM, SIGHUP}, [this](int signal) { on_signal(signal); }) {
    loop_.start("kueue-signals");
  }
  ~StopSignal() { loop_.stop(); }

  void ready() {
    std::lock_guard lock(mutex_);
    ready_ = true;
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stop_; });
  }

 private:
  void on_signal(int signal) {
    std::lock_guard lock(mutex_);
    if (!ready_) {
      constexpr std::string_view kText = "Stopped before it was ready.\n";
      [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, kText.data(), kText.size());
      _exit(128 + signal);
    }
    stop_ = true;
    changed_.notify_all();
  }

  net::Loop loop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ready_ = false, stop_ = false;
  net::SignalWatch watch_;
};

std::string greeting(const Playground& playground, bool colours) {
  const PlaygroundOptions& options = playground.options();
  std::string out =
      cli::green("kueue " KUEUE_VERSION " is ready", colours) + ": " + playground.url() + "\n";
  out += options.memory ? "Nothing is stored: all is gone when it ends.\n"
                        : "Everything is kept in " + options.data_dir + ".\n";
  out += options.manager ? "" : "Without manager: nothing is queued or admitted.\n";
  out += "\nIn another terminal:\n";
  if (const std::string folder = own_folder(); !folder.empty())
    out += "  export PATH=" + folder + ":$PATH\n";
  out += "  export KUBECONFIG=" + options.kubeconfig + "\n";
  out +=
      "  kubectl get nodes                     (or: kueue get nodes)\n"
      "  kubectl apply -f FILE                 (or: kueue apply -f FILE)\n"
      "  kubectl get workloads -A -w           (or: kueue get workloads -A -w)\n"
      "  kueue explain workload NAME           why it waits, what would help, when it starts\n"
      "\nCtrl-C ends it.\n";
  return out;
}

}  // namespace

int run_up(const cli::Arguments& arguments, cli::Terminal& terminal) {
  LogOptions logging;
  logging.encoding = LogEncoding::kText;
  // Quiet but for errors, so that the greeting stays in view.
  logging.verbosity = static_cast<int>(arguments.number("verbosity")) - 1;
  configure_logging(logging);

  StopSignal signal;
  PlaygroundOptions options = options_of(arguments);
  if (const int64_t port = arguments.number("port"); port > 65535 || port < 0) {
    terminal.err("error: invalid value for --port: must be from 0 to 65535\n");
    return cli::kUsage;
  }
  const Logger log("up");
  options.log = [log](const std::string& line) { log.info(line); };
  auto playground = Playground::start(std::move(options));
  if (!playground.ok()) {
    terminal.err("error: " + playground.error().message + "\n");
    return playground.error().code == ErrorCode::kInvalid ? cli::kUsage : cli::kFailed;
  }
  signal.ready();
  terminal.out(greeting(**playground, terminal.colours()));
  for (const std::string& warning : (*playground)->warnings())
    terminal.err(cli::yellow("warning", terminal.colours()) + ": " + warning + "\n");
  signal.wait();
  terminal.out("Stopping.\n");
  (*playground)->stop();
  return cli::kOk;
}

}  // namespace kueue::app
