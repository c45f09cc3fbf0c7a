#include "apiserver/wal_check.h"

#include <cstddef>
#include <cstdint>

namespace kueue::apiserver {

namespace {

// https://www.sqlite.org/fileformat2.html#the_write_ahead_log
constexpr size_t kHeadBytes = 32;
constexpr size_t kFrameHeadBytes = 24;
constexpr uint32_t kMagic = 0x377f0682;  // its last bit: checksums are of big-endian words
constexpr size_t kSmallestPage = 512;
constexpr size_t kLargestPage = 65536;

uint32_t word(std::string_view text, size_t at, bool big_endian = true) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) {
    const auto byte = static_cast<uint32_t>(static_cast<unsigned char>(text[at + i]));
    value |= byte << 8 * (big_endian ? 3 - i : i);
  }
  return value;
}

struct Sum {
  uint32_t first = 0;
  uint32_t second = 0;
  void add(std::string_view text, bool big_endian) {
    for (size_t at = 0; at + 8 <= text.size(); at += 8) {
      first += word(text, at, big_endian) + second;
      second += word(text, at + 4, big_endian) + first;
    }
  }
  bool is_at(std::string_view text, size_t at) const {
    return word(text, at) == first && word(text, at + 4) == second;
  }
};

}  // namespace

bool log_is_damaged(std::string_view log) {
  if (log.size() <= kHeadBytes + kFrameHeadBytes) return false;
  const bool big_endian = (word(log, 0) & 1) != 0;
  const size_t page = word(log, 8);
  Sum sum;
  sum.add(log.substr(0, 24), big_endian);
  if ((word(log, 0) & ~1u) != kMagic || page < kSmallestPage || page > kLargestPage ||
      !sum.is_at(log, 24))
    return true;
  bool right = true;
  int ends = 0;  // of transactions behind a wrong frame
  for (size_t at = kHeadBytes; at + kFrameHeadBytes + page <= log.size();
       at += kFrameHeadBytes + page) {
    const bool ours = log.substr(at + 8, 8) == log.substr(16, 8);
    if (right) {
      sum.add(log.substr(at, 8), big_endian);
      sum.add(log.substr(at + kFrameHeadBytes, page), big_endian);
      right = ours && sum.is_at(log, at + 16);
    }
    // Frames of an earlier round of the log, which are left behind its end, have another salt.
    if (!right && ours && word(log, at + 4) != 0) ++ends;
  }
  return ends > 1;
}

}  // namespace kueue::apiserver
