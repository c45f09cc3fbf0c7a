// Random: the one source of chance in a simulation. Small, seeded, the same everywhere.
#pragma once

#include <cstdint>
#include <string_view>

namespace kueue::sim {

// SplitMix64. Not thread safe.
class Random {
 public:
  explicit Random(uint64_t seed = 0) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // 0 .. n-1; 0 for n <= 1.
  int64_t below(int64_t n) {
    return n <= 1 ? 0 : static_cast<int64_t>(next() % static_cast<uint64_t>(n));
  }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool percent(int64_t p) { return below(100) < p; }

 private:
  uint64_t state_;
};

// FNV-1a over what happens: two runs with equal hashes did the same.
class TraceHash {
 public:
  void add(std::string_view text) {
    for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211u;
    hash_ = (hash_ ^ 0xff) * 1099511628211u;
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 14695981039346656037u;
};

}  // namespace kueue::sim
