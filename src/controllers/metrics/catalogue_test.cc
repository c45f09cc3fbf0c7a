// Every metric against the recorded catalogue: name, type, labels and buckets. Help is in our own
// words.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "controllers/metrics/metrics.h"

namespace kueue::controllers::metrics {
namespace {

struct Entry {
  std::string name, type;
  std::vector<std::vector<std::string>> label_sets;
  std::vector<std::string> buckets;
};

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> out;
  for (size_t from = 0; from < text.size();) {
    const size_t to = std::min(text.find(separator, from), text.size());
    out.push_back(text.substr(from, to - from));
    from = to + separator.size();
  }
  return out;
}

// "name (type): help", then indented "labels: a, b" and "buckets: 1 2 +Inf".
std::vector<Entry> read_catalogue(const std::string& path) {
  std::ifstream in(path);
  std::vector<Entry> entries;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("  labels: ")) {
      entries.back().label_sets.push_back(split(line.substr(10), ", "));
    } else if (line.starts_with("  buckets: ")) {
      entries.back().buckets = split(line.substr(11), " ");
    } else if (const size_t open = line.find(" (");
               !line.starts_with("#") && !line.empty() && open != std::string::npos) {
      const size_t close = line.find(')', open);
      entries.push_back({.name = line.substr(0, open),
                         .type = line.substr(open + 2, close - open - 2),
                         .label_sets = {},
                         .buckets = {}});
    }
  }
  return entries;
}

const char* type_text(Type type) {
  switch (type) {
    case Type::kCounter:
      return "counter";
    case Type::kGauge:
      return "gauge";
    case Type::kHistogram:
      return "histogram";
  }
  return "";
}

TEST(Catalogue, FamiliesAreAsRecorded) {
  const char* set = std::getenv("KUEUE_SHARED");
  const std::string folder = set != nullptr ? set : std::string(KUEUE_SOURCE_DIR) + "/../shared";
  const std::string path = folder + "/scenarios/metrics-catalogue.txt";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "NO METRICS CATALOGUE AT " << path;
  Metrics metrics;
  int compared = 0;
  for (const Entry& entry : read_catalogue(path)) {
    // The runtime's own metrics are its own; build information is the application's.
    if (!entry.name.starts_with("kueue_") || entry.name == "kueue_build_info") continue;
    const Family* family = metrics.registry.find(entry.name);
    ASSERT_NE(family, nullptr) << entry.name;
    ++compared;
    const Description& ours = family->description();
    EXPECT_EQ(type_text(ours.type), entry.type) << entry.name;
    EXPECT_FALSE(ours.help.empty()) << entry.name;
    for (std::vector<std::string> labels : entry.label_sets) {
      std::erase_if(labels, [](const std::string& label) {
        return label == "replica_role" || label.starts_with("custom_");
      });
      std::vector<std::string> shown = ours.labels;
      std::erase_if(shown, [&](const std::string& label) {
        return std::find(ours.hidden.begin(), ours.hidden.end(), label) != ours.hidden.end();
      });
      std::sort(labels.begin(), labels.end());
      std::sort(shown.begin(), shown.end());
      EXPECT_EQ(shown, labels) << entry.name;
    }
    std::vector<double> bounds;
    for (const std::string& bucket : entry.buckets)
      if (bucket != "+Inf") bounds.push_back(std::strtod(bucket.c_str(), nullptr));
    if (entry.type == "histogram") EXPECT_EQ(ours.buckets, bounds) << entry.name;
  }
  EXPECT_GT(compared, 40);
}

}  // namespace
}  // namespace kueue::controllers::metrics
