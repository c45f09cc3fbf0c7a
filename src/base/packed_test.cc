#include "base/packed.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace kueue {
namespace {

std::string object(int number) {
  std::string text = "{\"metadata\":{\"name\":\"w-" + std::to_string(number) + "\"},\"env\":[";
  for (int i = 0; i < 40; ++i)
    text += "{\"name\":\"SETTING_" + std::to_string(i) + "\",\"value\":\"an ordinary value\"},";
  return text + "]}";
}

// Bytes that nothing compresses.
std::string noise(size_t size, uint32_t seed) {
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    seed = seed * 1664525u + 1013904223u;
    text += static_cast<char>(seed >> 24);
  }
  return text;
}

TEST(Packed, GivesBackEveryText) {
  Packer packer;
  std::vector<std::pair<std::string, PackedPtr>> kept;
  const auto keep = [&](std::string text) {
    const uint64_t revision = kept.size() + 1;
    PackedPtr packed = packer.pack(text, revision);
    EXPECT_EQ(packed->text_size(), text.size());
    kept.emplace_back(std::move(text), std::move(packed));
  };
  keep("");
  keep("{}");
  keep(noise(100, 1));
  keep(std::string(3u << 20, 'x'));
  keep(noise(3u << 20, 2));
  // Like ones, then others, then both: samples are chosen and replaced on the way.
  for (int i = 0; i < 300; ++i) keep(object(i));
  for (int i = 0; i < 2000; ++i) keep(noise(700, static_cast<uint32_t>(i)));
  for (int i = 0; i < 600; ++i) keep(i % 2 == 0 ? object(i) : noise(5000, 7) + object(i));
  for (size_t i = 0; i < kept.size(); ++i) {
    ASSERT_EQ(kept[i].second->text(), kept[i].first) << "text " << i;
    ASSERT_EQ(kept[i].second->revision(), i + 1);
  }
}

TEST(Packed, LikeObjectsBecomeSmall) {
  Packer packer;
  size_t cost = 0;
  for (int i = 0; i < 1000; ++i) {
    const PackedPtr packed = packer.pack(object(i), 1);
    if (i >= 500) cost += packed->cost();
  }
  EXPECT_LT(cost / 500, 200u);
  EXPECT_GT(object(0).size(), 2000u);
}

TEST(Packed, OutlivesItsPackerAndIsReadByMany) {
  PackedPtr packed;
  {
    Packer packer;
    for (int i = 0; i < 100; ++i) packed = packer.pack(object(i), 1);
  }
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; ++t)
    readers.emplace_back([copy = packed] {
      for (int i = 0; i < 100; ++i) {
        PackedPtr mine = copy;
        EXPECT_EQ(mine->text(), object(99));
      }
    });
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace kueue
