#include "base/text.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/ids.h"
#include "base/inline_vector.h"
#include "base/slim_vector.h"
#include "base/uid.h"

namespace kueue {
namespace {

TEST(Text, IsTheStringItWasMadeOf) {
  Text empty, cpu("cpu"), again(std::string("cpu")), memory("memory");
  EXPECT_TRUE(empty.empty());
  EXPECT_EQ(empty.str(), "");
  EXPECT_EQ(cpu.str(), "cpu");
  EXPECT_TRUE(cpu == again);
  EXPECT_EQ(&cpu.str(), &again.str());
  EXPECT_FALSE(cpu == memory);
  EXPECT_TRUE(cpu < memory);
  EXPECT_TRUE(empty < cpu);
  EXPECT_TRUE(cpu == "cpu");
  EXPECT_TRUE(std::string("cpu") == cpu);
  EXPECT_EQ("a " + cpu + "/" + memory, "a cpu/memory");
  cpu = memory;
  EXPECT_TRUE(cpu == memory);
  cpu = "x";
  EXPECT_EQ(memory.str(), "memory");
  cpu = Text();
  EXPECT_TRUE(cpu.empty());
}

TEST(Text, ThreadsMakeAndDropTheSameOnes) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 2000; ++i) {
        Text text("text " + std::to_string(i % 7)), copy(text);
        ASSERT_EQ(copy.str(), "text " + std::to_string(i % 7));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Uid, KeepsEveryTextAndItsOrder) {
  const std::vector<std::string> texts = {
      "",
      "0",
      "6f1d2c3b-5a4e-4f60-0123-000000000001",  // another variant
      "6f1d2c3b-5a4e-4f60-8123-000000000001",
      "6f1d2c3b-5a4e-4f60-8123-000000000002",
      "6f1d2c3b-5a4e-4f60-bfff-00000000000g",
      "6f1d2c3b-5a4e-4f60-bfff-ffffffffffff",
      "6f1d2c3b-5a4e-4f61-8123-000000000000",
      "6f1d2c3b-5a4e-4f61-8123-0000000000000",
      "7F1D2C3B-5A4E-4F60-8123-000000000001",
      "uid-1",
  };
  for (size_t i = 0; i < texts.size(); ++i)
    for (size_t k = 0; k < texts.size(); ++k) {
      Uid a(texts[i]), b("other");
      b = Uid(texts[k]);
      EXPECT_EQ(a.str(), texts[i]);
      EXPECT_EQ(a == b, i == k) << texts[i] << " " << texts[k];
      EXPECT_EQ(a < b, texts[i] < texts[k]) << texts[i] << " " << texts[k];
      EXPECT_EQ(a.empty(), texts[i].empty());
    }
}

TEST(SlimVector, BehavesLikeAVector) {
  EXPECT_EQ(sizeof(SlimVector<std::string>), sizeof(void*));
  SlimVector<std::string> v;
  EXPECT_TRUE(v.empty());
  EXPECT_EQ(v.begin(), v.end());
  for (int i = 0; i < 9; ++i)
    v.push_back("a text that is too long for its object " + std::to_string(i));
  v.push_back(v.front());
  EXPECT_EQ(v.size(), 10u);
  EXPECT_EQ(v.back(), v[0]);
  SlimVector<std::string> copy(v), moved(std::move(copy));
  EXPECT_TRUE(moved == v);
  moved.erase(moved.begin());
  EXPECT_EQ(moved.size(), 9u);
  EXPECT_EQ(moved[0], v[1]);
  moved.insert(moved.begin() + 1, "new");
  EXPECT_EQ(moved[1], "new");
  EXPECT_EQ(erase_if(moved, [](const std::string& s) { return s == "new"; }), 1u);
  moved.resize(2);
  moved.resize(4);
  EXPECT_EQ(moved[3], "");
  moved.shrink_to_fit();
  EXPECT_EQ(moved.capacity(), 4u);
  moved = {"x", "y"};
  EXPECT_EQ(moved.size(), 2u);
  moved.clear();
  EXPECT_TRUE(moved.empty());
}

TEST(InlineVector, BehavesLikeAVectorInsideAndOutside) {
  using Pair = std::pair<uint32_t, int64_t>;
  using Pairs = InlineVector<Pair, 2>;
  for (uint32_t n : {0u, 1u, 2u, 3u, 9u}) {
    Pairs v;
    for (uint32_t i = 0; i < n; ++i) v.emplace_back(i, -int64_t{i});
    Pairs copy(v), assigned{{7, 7}, {8, 8}, {9, 9}};
    assigned = copy;
    Pairs moved(std::move(copy)), again;
    again = std::move(moved);
    EXPECT_TRUE(moved.empty());
    EXPECT_EQ(again.size(), n);
    EXPECT_TRUE(again == v && assigned == v);
    again.insert(again.begin(), {100, 0});
    EXPECT_EQ(again.front().first, 100u);
    EXPECT_EQ(erase_if(again, [](const Pair& p) { return p.first < 100; }), n);
    EXPECT_EQ(again.size(), 1u);
    again.push_back(again.front());
    again.push_back(again.front());
    EXPECT_EQ(again[2], again[0]);
    again.erase(again.begin());
    again.resize(5);
    EXPECT_EQ(again.back(), Pair());
  }
}

TEST(PieceVec, GrowsWithoutMovingAnything) {
  PieceVec<Id<struct Tag>, std::string> v;
  EXPECT_TRUE(v.empty());
  const std::string* first = &v[v.push("first")];
  for (int i = 0; i < 1000; ++i) v.push(std::to_string(i));
  EXPECT_EQ(first, &v[Id<struct Tag>(0)]);
  EXPECT_EQ(v[Id<struct Tag>(1000)], "999");
  EXPECT_EQ(v.size(), 1001u);
  EXPECT_FALSE(v.contains(Id<struct Tag>(1001)));
  v.ensure(Id<struct Tag>(3000)) = "far";
  EXPECT_EQ(v.size(), 3001u);
}

}  // namespace
}  // namespace kueue
