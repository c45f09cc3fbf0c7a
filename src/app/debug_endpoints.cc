#include "app/debug_endpoints.h"

#include <stdlib.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <sstream>

#include "app/profiler.h"
#include "controllers/runtime.h"
#include "json/json.h"

// jemalloc's; a build with a sanitizer has another allocator.
extern "C" int mallctl(const char* name, void* old, size_t* old_size, void* now, size_t now_size)
    __attribute__((weak));

namespace kueue::app {
namespace {

constexpr int kDefaultSeconds = 30;
constexpr int kMaxSeconds = 300;

wire::Response answer(int status, std::string body, const char* type) {
  wire::Response response;
  response.status = status;
  response.headers.set("Content-Type", type);
  response.headers.set("X-Content-Type-Options", "nosniff");
  response.body = std::move(body);
  return response;
}

wire::Response text(int status, std::string body) {
  return answer(status, std::move(body), "text/plain; charset=utf-8");
}

// Arguments separated by zero bytes.
std::string command_line() {
  std::ifstream file("/proc/self/cmdline");
  std::stringstream all;
  all << file.rdbuf();
  std::string line = all.str();
  if (!line.empty() && line.back() == '\0') line.pop_back();
  return line;
}

json::Value state_of(controllers::Manager& manager) {
  controllers::Runtime& runtime = manager.runtime();
  json::Value out = json::Value::object({{"version", KUEUE_VERSION},
                                         {"ready", manager.ready()},
                                         {"leading", manager.leading()},
                                         {"idle", manager.idle()}});
  json::Value& queues = out["clusterQueues"];
  queues = json::Value::object();
  for (const auto& queue : runtime.stores.cluster_queues.list()) {
    const std::string& name = queue->metadata.name;
    const auto status = runtime.admission.ask(
        [&](const engine::State& state) { return state.cluster_queue_status(name); });
    queues[name] = json::Value::object({{"active", status.pending_active},
                                        {"inadmissible", status.pending_inadmissible},
                                        {"reserving", status.reserving},
                                        {"admitted", status.admitted}});
  }
  out["workloads"] = static_cast<int64_t>(runtime.stores.workloads.size());
  return out;
}

constexpr std::string_view kHeapProfileOff =
    "heap profiles are off; they cost time, so the process has to be started with "
    "MALLOC_CONF=prof:true,lg_prof_sample:19 in its environment\n";

// What pprof and jeprof read; nullopt: the allocator was not told to keep track.
std::optional<std::string> heap_profile() {
  bool on = false;
  size_t size = sizeof on;
  if (mallctl == nullptr || mallctl("opt.prof", &on, &size, nullptr, 0) != 0 || !on)
    return std::nullopt;
  char path[] = "/tmp/kueue-heap-XXXXXX";
  const int file = mkstemp(path);
  if (file < 0) return std::nullopt;
  close(file);
  const char* name = path;
  const bool dumped = mallctl("prof.dump", nullptr, nullptr, &name, sizeof name) == 0;
  std::stringstream all;
  if (dumped) all << std::ifstream(path).rdbuf();
  unlink(path);
  return dumped ? std::optional(all.str()) : std::nullopt;
}

// nullopt: no number from 1 to the largest.
std::optional<int> seconds_of(const wire::Request& request) {
  const std::string_view given = request.query_value("seconds");
  if (given.empty()) return kDefaultSeconds;
  int seconds = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), seconds);
  if (error != std::errc() || end != given.data() + given.size() || seconds < 1 ||
      seconds > kMaxSeconds)
    return std::nullopt;
  return seconds;
}

}  // namespace

void DebugHandler::handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) {
  const std::string& path = request.path;
  if (request.method != "GET") return sink->respond(text(405, "Method Not Allowed\n"));
  if (path == "/debug/pprof/" || path == "/debug/pprof" || path == "/debug" || path == "/debug/")
    return sink->respond(text(200,
                              "/debug/pprof/profile?seconds=30  CPU profile for pprof\n"
                              "/debug/pprof/heap                heap, when started for it\n"
                              "/debug/pprof/cmdline             command line\n"
                              "/debug/threads                   CPU time of threads\n"
                              "/debug/state                     queues and caches\n"));
  if (path == "/debug/pprof/cmdline") return sink->respond(text(200, command_line()));
  if (path == "/debug/pprof/heap" || path == "/debug/pprof/allocs") {
    auto profile = heap_profile();
    if (!profile) return sink->respond(text(404, std::string(kHeapProfileOff)));
    return sink->respond(answer(200, *std::move(profile), "application/octet-stream"));
  }
  if (path == "/debug/threads")
    return sink->respond(answer(200, threads_json(), "application/json"));
  if (path == "/debug/state")
    return sink->respond(
        answer(200, json::write_pretty(state_of(manager_)) + "\n", "application/json"));
  if (path != "/debug/pprof/profile")
    return sink->respond(text(404, "there is no such profile; /debug/pprof/ lists them\n"));
  const auto seconds = seconds_of(request);
  if (!seconds) return sink->respond(text(400, "seconds: must be a number from 1 to 300\n"));
  if (const auto started = start_cpu_profile(); !started.ok())
    return sink->respond(text(409, started.error().message + "\n"));
  executor_.run_after(Duration::seconds(*seconds), [sink = std::move(sink)] {
    sink->respond(answer(200, stop_cpu_profile(), "application/octet-stream"));
  });
}

}  // namespace kueue::app
