// The simulation as a program: plays seeds, or scripts from files. The last line is
// "N passed, N failed".
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "sim/runs.h"

namespace kueue::sim {
namespace {

constexpr int64_t kSeedsPerLine = 250;

constexpr const char* kUsage =
    "sim [--first-seed N] [--seeds N] [--steps N] [--topology] [--no-faults] [--seconds N]\n"
    "    [--shrink N]\n"
    "    [--failures N] [--out FOLDER] [--scripts FOLDER] [--replay FILE]... [--verbose] "
    "[--print]\n"
    "--topology plays worlds with Topologies and Nodes\n"
    "--seconds  starts no further seed after that long\n"
    "--shrink   runs spent on making a failure small (200; 0 = none)\n"
    "--failures ends after that many seeds failed (10)\n"
    "--print    writes the script of the first seed and plays nothing\n"
    "--out      where small scripts of failures are written\n"
    "--replay   plays scripts instead of seeds; with --verbose everything is printed\n"
    "--scripts  plays all *.script of a folder before the seeds\n";

struct Flags {
  uint64_t first_seed = 1;
  int64_t seeds = 50;
  Generation generation;
  int64_t seconds = 0;
  int shrink = 200;
  std::string out;
  std::vector<std::string> replay;
  std::vector<std::string> scripts;
  bool verbose = false;
  bool print = false;
  int64_t most_failures = 10;
};

bool parse(int count, char** words, Flags& flags) {
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto number = [&] { return i + 1 < count ? std::strtoll(words[++i], nullptr, 10) : 0; };
    if (word == "--first-seed") {
      flags.first_seed = static_cast<uint64_t>(number());
    } else if (word == "--seeds") {
      flags.seeds = number();
    } else if (word == "--steps") {
      flags.generation.steps = number();
    } else if (word == "--topology") {
      flags.generation.topology = true;
    } else if (word == "--no-faults") {
      flags.generation.faults = false;
    } else if (word == "--seconds") {
      flags.seconds = number();
    } else if (word == "--shrink") {
      flags.shrink = static_cast<int>(number());
    } else if (word == "--failures") {
      flags.most_failures = number();
    } else if (word == "--out" && i + 1 < count) {
      flags.out = words[++i];
    } else if (word == "--replay" && i + 1 < count) {
      flags.replay.push_back(words[++i]);
    } else if (word == "--scripts" && i + 1 < count) {
      std::error_code ignored;
      for (const auto& entry : std::filesystem::directory_iterator(words[++i], ignored))
        if (entry.path().extension() == ".script") flags.scripts.push_back(entry.path().string());
      std::sort(flags.scripts.begin(), flags.scripts.end());
    } else if (word == "--verbose") {
      flags.verbose = true;
    } else if (word == "--print") {
      flags.print = true;
    } else {
      return false;
    }
  }
  return true;
}

void tell(const std::string& name, const Report& report) {
  std::printf("FAILED %s at step %lld: %s\n  %s\n", name.c_str(),
              static_cast<long long>(report.step), report.what.c_str(), report.details.c_str());
  std::fflush(stdout);
}

struct Count {
  int64_t passed = 0;
  int64_t failed = 0;
};

Count replay(Runner& runner, const Flags& flags, const std::vector<std::string>& scripts) {
  int64_t passed = 0, failed = 0;
  for (const std::string& name : scripts) {
    std::ifstream file(name);
    if (!file) {
      std::printf("%s cannot be read\n", name.c_str());
      ++failed;
      continue;
    }
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto script = parse_script(text);
    if (!script.ok()) {
      std::printf("%s: %s\n", name.c_str(), script.error().message.c_str());
      ++failed;
      continue;
    }
    const Report report = flags.verbose ? runner.play_here(*script) : runner.play(*script);
    if (report.failed) tell(name, report);
    ++(report.failed ? failed : passed);
    if (flags.verbose) break;
    if (report.failed && flags.shrink > 0 && !flags.out.empty())
      std::ofstream(flags.out + "/shrunk.script")
          << write_script(runner.shrink(*script, report, flags.shrink));
  }
  return {passed, failed};
}

Count seeds(Runner& runner, const Flags& flags) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto began = now();
  const auto since = [&] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now() - began).count();
  };
  int64_t passed = 0, failed = 0, steps = 0, writes = 0, tasks = 0, twice = 0;
  std::map<std::string, int64_t> kinds;
  for (int64_t i = 0; i < flags.seeds; ++i) {
    if (flags.seconds > 0 && since() > flags.seconds * 1000) break;
    const uint64_t seed = flags.first_seed + static_cast<uint64_t>(i);
    const Script script = generate(seed, flags.generation);
    Report report = runner.play(script);
    steps += static_cast<int64_t>(script.steps.size());
    writes += report.writes;
    tasks += report.tasks;
    if (!report.failed && seed % 100 == 1) {
      ++twice;
      const Report again = runner.play(script, /*elsewhere=*/true);
      if (again.failed || again.trace != report.trace)
        report = {.failed = true, .what = "two runs differ", .details = again.what};
    }
    ++(report.failed ? failed : passed);
    if ((i + 1) % kSeedsPerLine == 0)
      std::fprintf(stderr, "seeds up to %llu: %lld passed, %lld failed, %lld s\n",
                   static_cast<unsigned long long>(seed), static_cast<long long>(passed),
                   static_cast<long long>(failed), static_cast<long long>(since() / 1000));
    if (!report.failed) continue;
    tell("seed " + std::to_string(seed), report);
    // One small script for each kind of failure.
    if (++kinds[report.what] == 1 && flags.shrink > 0) {
      const Script small = runner.shrink(script, report, flags.shrink);
      const std::string text = "# " + report.what + "\n" + write_script(small);
      std::printf("it fails with %zu steps:\n%s", small.steps.size(), text.c_str());
      std::fflush(stdout);
      if (!flags.out.empty())
        std::ofstream(flags.out + "/seed-" + std::to_string(seed) + ".script") << text;
    }
    if (failed >= flags.most_failures) break;
  }
  const int64_t ms = std::max<int64_t>(1, since());
  for (const auto& [what, count] : kinds)
    std::printf("%lld x %s\n", static_cast<long long>(count), what.c_str());
  std::printf("%lld steps, %lld writes, %lld tasks, %lld seeds twice, %.1f s: %lld steps/s\n",
              static_cast<long long>(steps), static_cast<long long>(writes),
              static_cast<long long>(tasks), static_cast<long long>(twice),
              static_cast<double>(ms) / 1000, static_cast<long long>(steps * 1000 / ms));
  return {passed, failed};
}

}  // namespace
}  // namespace kueue::sim

int main(int count, char** words) {
  kueue::sim::Flags flags;
  if (!kueue::sim::parse(count, words, flags)) {
    std::fputs(kueue::sim::kUsage, stderr);
    return 2;
  }
  if (flags.print) {
    std::fputs(write_script(generate(flags.first_seed, flags.generation)).c_str(), stdout);
    return 0;
  }
  kueue::sim::Runner runner;
  kueue::sim::Count all;
  const auto add = [&](const kueue::sim::Count& some) {
    all.passed += some.passed;
    all.failed += some.failed;
  };
  add(kueue::sim::replay(runner, flags, flags.replay.empty() ? flags.scripts : flags.replay));
  if (flags.replay.empty()) add(kueue::sim::seeds(runner, flags));
  std::printf("%lld passed, %lld failed\n", static_cast<long long>(all.passed),
              static_cast<long long>(all.failed));
  return all.failed > 0 || all.passed == 0 ? 1 : 0;
}
