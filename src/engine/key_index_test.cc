#include "engine/key_index.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace kueue::engine {
namespace {

using TestId = Id<struct KeyIndexTestTag>;

TEST(KeyIndex, AgreesWithAMap) {
  KeyIndex<TestId> index;
  std::map<std::string, size_t> map;
  auto name_of = [](size_t i) { return "name-" + std::to_string(i); };
  uint64_t random = 7;
  for (int step = 0; step < 20000; ++step) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    size_t i = (random >> 33) % 300;
    std::string name = name_of(i);
    auto matches = [&](TestId id) { return name_of(id.value) == name; };
    ASSERT_EQ(index.find("ns", name, matches).valid(), map.contains(name));
    ASSERT_FALSE(index.find("other", name, [](TestId) { return false; }).valid());
    if (map.contains(name)) {
      ASSERT_EQ(index.find("ns", name, matches), TestId(map[name]));
      index.erase("ns", name, matches);
      map.erase(name);
    } else {
      index.insert("ns", name, TestId(i));
      map[name] = i;
    }
    ASSERT_EQ(index.size(), map.size());
  }
}

}  // namespace
}  // namespace kueue::engine
