#include "sim/runs.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace kueue::sim {
namespace {

constexpr Instant kBegin{1'700'000'000'000'000'000};

Report report_of(const Outcome& outcome) {
  Report report;
  report.failed = outcome.failure.has_value();
  if (outcome.failure) {
    report.what = outcome.failure->what;
    report.details = outcome.failure->details;
  }
  report.step = outcome.step;
  report.trace = outcome.trace;
  report.writes = outcome.writes;
  report.tasks = outcome.tasks;
  return report;
}

void send(int pipe, const Report& report) {
  std::string text = std::to_string(report.failed) + "\n" + std::to_string(report.step) + "\n" +
                     std::to_string(report.trace) + "\n" + std::to_string(report.writes) + "\n" +
                     std::to_string(report.tasks) + "\n" + report.what + "\n" + report.details;
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = write(pipe, text.data() + at, text.size() - at);
    if (n <= 0) _exit(3);
    at += static_cast<size_t>(n);
  }
}

std::string take_line(std::string& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  std::string line = text.substr(0, end);
  text.erase(0, std::min(end + 1, text.size()));
  return line;
}

}  // namespace

Runner::Runner() : scheduler_(kBegin), cluster_(scheduler_) {}

Report Runner::play_here(const Script& script) {
  World world(scheduler_, cluster_, script, [](const std::string& line) {
    std::fputs((line + "\n").c_str(), stdout);
    std::fflush(stdout);
  });
  return report_of(world.play());
}

Report Runner::play(const Script& script, bool elsewhere, int seconds) {
  int results[2], errors[2];
  KUEUE_CHECK(pipe(results) == 0 && pipe(errors) == 0, "no pipes");
  const pid_t child = fork();
  KUEUE_CHECK(child >= 0, "cannot fork");
  if (child == 0) {
    close(results[0]);
    close(errors[0]);
    dup2(errors[1], STDERR_FILENO);
    const rlimit limit{static_cast<rlim_t>(seconds), static_cast<rlim_t>(seconds + 1)};
    setrlimit(RLIMIT_CPU, &limit);
    std::vector<std::string> moved;
    for (int i = 1; elsewhere && i < 2000; ++i) moved.emplace_back(static_cast<size_t>(i), 'x');
    for (size_t i = 0; i < moved.size(); i += 3) std::string().swap(moved[i]);
    Outcome outcome;
    {
      World world(scheduler_, cluster_, script, {});
      outcome = world.play();
    }
    send(results[1], report_of(outcome));
    _exit(0);
  }
  close(results[1]);
  close(errors[1]);
  std::string texts[2];
  pollfd files[2] = {{results[0], POLLIN, 0}, {errors[0], POLLIN, 0}};
  for (int open = 2; open > 0;) {
    poll(files, 2, -1);
    for (int i = 0; i < 2; ++i) {
      if (files[i].fd < 0 || files[i].revents == 0) continue;
      char buffer[65536];
      const ssize_t n = read(files[i].fd, buffer, sizeof buffer);
      if (n > 0) {
        if (texts[i].size() < 1'000'000) texts[i].append(buffer, static_cast<size_t>(n));
        continue;
      }
      close(files[i].fd);
      files[i].fd = -1;
      --open;
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  Report report;
  std::string& text = texts[0];
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || text.empty()) {
    report.failed = true;
    const bool slow =
        WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL);
    report.what = slow ? "it takes too long" : "crash";
    std::string why = texts[1];
    const size_t end = why.find('\n');
    if (!slow && end != std::string::npos) report.what += ": " + why.substr(0, end);
    report.details = why.substr(0, 4000);
    return report;
  }
  report.failed = take_line(text) == "1";
  report.step = std::strtoll(take_line(text).c_str(), nullptr, 10);
  report.trace = std::strtoull(take_line(text).c_str(), nullptr, 10);
  report.writes = std::strtoll(take_line(text).c_str(), nullptr, 10);
  report.tasks = std::strtoll(take_line(text).c_str(), nullptr, 10);
  report.what = take_line(text);
  report.details = text;
  return report;
}

Script Runner::shrink(const Script& script, const Report& failure, int tries) {
  Script best = script;
  const auto still_fails = [&](const Script& candidate) {
    if (tries-- <= 0) return false;
    const Report report = play(candidate);
    return report.failed && report.what == failure.what;
  };
  // What comes after the failure does not matter.
  if (failure.step > 0) {
    Script cut = best;
    std::erase_if(cut.steps, [&](const Step& step) { return step.number > failure.step; });
    if (still_fails(cut)) best = std::move(cut);
  }
  for (size_t chunk = std::max<size_t>(1, best.steps.size() / 2); tries > 0;) {
    bool smaller = false;
    for (size_t at = 0; at < best.steps.size() && tries > 0;) {
      Script candidate = best;
      const auto from = candidate.steps.begin() + static_cast<std::ptrdiff_t>(at);
      const size_t n = std::min(chunk, best.steps.size() - at);
      candidate.steps.erase(from, from + static_cast<std::ptrdiff_t>(n));
      if (still_fails(candidate)) {
        best = std::move(candidate);
        smaller = true;
      } else {
        at += chunk;
      }
    }
    if (chunk == 1 && !smaller) break;
    chunk = std::max<size_t>(1, chunk / 2);
  }
  for (const auto& [key, value] : script.config) {
    Script candidate = best;
    candidate.config.erase(key);
    // Without Nodes what is right is another matter.
    if (key != "leaders" && key != "topology" && still_fails(candidate))
      best = std::move(candidate);
  }
  return best;
}

}  // namespace kueue::sim
