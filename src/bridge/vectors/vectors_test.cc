// Runs every vector of the shared folders, and holds what passes: test/vectors/passing.txt lists
// one vector per line and only grows. UPDATE_PASSING=1 rewrites it; VECTOR_ONLY=text runs matching
// ids and prints their differences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "bridge/vectors/replay.h"
#include "json/json.h"

namespace kueue::bridge::vectors {
namespace {

namespace fs = std::filesystem;

std::string env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path shared() {
  return env("KUEUE_SHARED").empty() ? fs::path(KUEUE_SOURCE_DIR) / ".." / "shared"
                                     : fs::path(env("KUEUE_SHARED"));
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::set<std::string> passing_list() {
  std::set<std::string> out;
  std::istringstream in(read(fs::path(KUEUE_SOURCE_DIR) / "test/vectors/passing.txt"));
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') out.insert(line);
  return out;
}

Differences run_one(const json::Value& vector) {
  std::string_view kind = vector.get_string({"kind"});
  if (kind == "cycle") return CycleReplay(vector).run();
  if (kind == "preemptionTargets") return replay_preemption_targets(vector);
  if (kind == "tasPlacement") return replay_placement(vector);
  return {"no runner for kind " + std::string(kind)};
}

void run_folder(const std::string& folder) {
  fs::path dir = shared() / "vectors" / folder;
  if (!fs::exists(dir)) GTEST_SKIP() << "NOT RUN: no vectors at " << dir;
  std::set<std::string> known = passing_list();
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(dir))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string only = env("VECTOR_ONLY");
  std::vector<std::string> passed;
  size_t failed = 0;
  for (const fs::path& file : files) {
    std::string name = folder + "/" + file.stem().string();
    if (!only.empty() && name.find(only) == std::string::npos) continue;
    Result<json::Value> vector = json::parse(read(file));
    ASSERT_TRUE(vector.ok()) << file;
    Differences differences = run_one(*vector);
    if (differences.empty()) {
      passed.push_back(name);
    } else {
      ++failed;
      if (known.contains(name)) ADD_FAILURE() << name << " passed before:\n" << differences.front();
      if (!only.empty() || !env("VECTOR_VERBOSE").empty())
        for (const std::string& d : differences) std::printf("%s %s\n", name.c_str(), d.c_str());
    }
  }
  std::printf("%s: %zu passed, %zu failed\n", folder.c_str(), passed.size(), failed);
  if (!env("UPDATE_PASSING").empty() && only.empty()) {
    std::set<std::string> all = passing_list();
    all.insert(passed.begin(), passed.end());
    fs::path path = fs::path(KUEUE_SOURCE_DIR) / "test/vectors/passing.txt";
    fs::create_directories(path.parent_path());
    std::ofstream out(path);
    out << "# Vectors that pass. Only grows; UPDATE_PASSING=1 test_bridge adds to it.\n";
    for (const std::string& name : all) out << name << "\n";
  }
}

TEST(Vectors, Cycle) { run_folder("cycle"); }
TEST(Vectors, RandomQuota) { run_folder("random/quota"); }
TEST(Vectors, RandomFair) { run_folder("random/fair"); }
TEST(Vectors, RandomMixed) { run_folder("random/mixed"); }
TEST(Vectors, RandomTas) { run_folder("random/tas"); }
TEST(Vectors, TasPlacement) { run_folder("tas-placement"); }
TEST(Vectors, PreemptionTargets) { run_folder("preemption-targets"); }

}  // namespace
}  // namespace kueue::bridge::vectors
