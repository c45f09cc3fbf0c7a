#include "app/profiler.h"

#include <dirent.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <vector>

#include "json/json.h"
#include "json/value.h"

namespace kueue::app {
namespace {

constexpr int kHertz = 100;
constexpr size_t kWords = 1u << 20;
constexpr int kDepth = 64;
constexpr int kOwnFrames = 2;  // the handler and the kernel's trampoline

// Written by the signal handler, which may interrupt anything: no lock, no allocation.
std::atomic<uint64_t*> samples{nullptr};
std::atomic<size_t> used{0};

std::mutex profile_mutex;
std::unique_ptr<uint64_t[]> buffer;

void sample(int) {
  const int saved = errno;
  uint64_t* words = samples.load(std::memory_order_acquire);
  if (words != nullptr) {
    void* frames[kDepth];
    const int depth = backtrace(frames, kDepth);
    if (depth > kOwnFrames) {
      const auto count = static_cast<size_t>(depth - kOwnFrames);
      const size_t at = used.fetch_add(count + 2, std::memory_order_relaxed);
      if (at + count + 2 <= kWords) {
        words[at] = 1;
        words[at + 1] = count;
        for (size_t i = 0; i < count; ++i)
          words[at + 2 + i] = reinterpret_cast<uint64_t>(frames[i + kOwnFrames]);
      }
    }
  }
  errno = saved;
}

void set_timer(int64_t period_us) {
  itimerval timer{};
  timer.it_interval.tv_usec = period_us;
  timer.it_value.tv_usec = period_us;
  setitimer(ITIMER_PROF, &timer, nullptr);
}

std::string read_all(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The fields of /proc/.../stat behind the name in parentheses: index 0 is the state.
std::vector<std::string> stat_fields(const std::string& text) {
  std::vector<std::string> fields;
  const size_t end = text.rfind(')');
  std::stringstream rest(end == std::string::npos ? "" : text.substr(end + 1));
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

double ticks(const std::vector<std::string>& fields, size_t index) {
  return index < fields.size() ? std::strtod(fields[index].c_str(), nullptr) /
                                     static_cast<double>(sysconf(_SC_CLK_TCK))
                               : 0;
}

std::vector<std::string> entries_of(const char* folder) {
  std::vector<std::string> names;
  DIR* dir = opendir(folder);
  if (dir == nullptr) return names;
  while (const dirent* entry = readdir(dir))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  closedir(dir);
  std::sort(names.begin(), names.end());
  return names;
}

double boot_time() {
  std::stringstream text(read_all("/proc/stat"));
  for (std::string word; text >> word;) {
    double value = 0;
    if (word == "btime" && text >> value) return value;
  }
  return 0;
}

}  // namespace

Result<void> start_cpu_profile() {
  std::lock_guard lock(profile_mutex);
  if (buffer) return make_error(ErrorCode::kAlreadyExists, "a profile is being taken");
  void* warm[4];
  backtrace(warm, 4);  // loads what it needs, outside of the handler
  buffer = std::make_unique<uint64_t[]>(kWords);
  used.store(0);
  samples.store(buffer.get(), std::memory_order_release);
  struct sigaction action{};
  action.sa_handler = sample;
  action.sa_flags = SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  set_timer(1'000'000 / kHertz);
  return {};
}

std::string stop_cpu_profile() {
  std::lock_guard lock(profile_mutex);
  if (!buffer) return "";
  set_timer(0);
  samples.store(nullptr, std::memory_order_release);
  std::vector<uint64_t> words = {0, 3, 0, 1'000'000 / kHertz, 0};
  const size_t end = std::min(used.load(), kWords);
  for (size_t at = 0; at + 2 <= end;) {
    const uint64_t count = buffer[at + 1];
    if (buffer[at] != 1 || at + 2 + count > end) break;  // one that no longer fitted
    words.insert(words.end(), &buffer[at], &buffer[at] + 2 + count);
    at += 2 + count;
  }
  words.insert(words.end(), {0, 1, 0});
  // A handler that is still under way writes into this; it is kept for the process's life.
  static std::unique_ptr<uint64_t[]> last;
  last = std::move(buffer);
  std::string out(words.size() * sizeof(uint64_t), '\0');
  std::memcpy(out.data(), words.data(), out.size());
  return out + read_all("/proc/self/maps");
}

std::string threads_json() {
  json::Value threads = json::Value::array();
  for (const std::string& id : entries_of("/proc/self/task")) {
    const std::string folder = "/proc/self/task/" + id;
    std::string name = read_all(folder + "/comm");
    while (!name.empty() && name.back() == '\n') name.pop_back();
    const auto fields = stat_fields(read_all(folder + "/stat"));
    threads.as_array().push_back(json::Value::object(
        {{"id", id}, {"name", name}, {"cpuSeconds", ticks(fields, 11) + ticks(fields, 12)}}));
  }
  return json::write_pretty(threads) + "\n";
}

std::string process_metrics_text() {
  const auto fields = stat_fields(read_all("/proc/self/stat"));
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  const auto number = [&](size_t index) {
    return index < fields.size() ? std::strtod(fields[index].c_str(), nullptr) : 0;
  };
  struct Line {
    const char *name, *type, *help;
    double value;
  };
  const Line lines[] = {
      {"process_cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.",
       ticks(fields, 11) + ticks(fields, 12)},
      {"process_max_fds", "gauge", "Maximum number of open file descriptors.",
       static_cast<double>(files.rlim_cur)},
      {"process_open_fds", "gauge", "Number of open file descriptors.",
       static_cast<double>(entries_of("/proc/self/fd").size())},
      {"process_resident_memory_bytes", "gauge", "Resident memory size in bytes.",
       number(21) * static_cast<double>(sysconf(_SC_PAGESIZE))},
      {"process_start_time_seconds", "gauge",
       "Start time of the process since unix epoch in seconds.", boot_time() + ticks(fields, 19)},
      {"process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.", number(20)},
  };
  std::string out;
  for (const Line& line : lines) {
    const std::string name = line.name;
    out += "# HELP " + name + " " + line.help + "\n# TYPE " + name + " " + line.type + "\n" + name +
           " " + json::format_double(line.value) + "\n";
  }
  return out;
}

}  // namespace kueue::app
