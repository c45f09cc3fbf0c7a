// Bodies of the library types that have no literal: quantities, addresses, URLs, versions, named
// formats. They live in the arena of an evaluation. Plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/quantity.h"
#include "cel/value.h"

namespace kueue::cel {

struct QuantityBody {
  api::Quantity quantity;
};

struct IpBody {
  bool v6 = false;
  std::array<uint8_t, 16> bytes{};  // v4: the first four
};

struct CidrBody {
  IpBody ip;  // as written, host bits kept
  int prefix = 0;
};

struct UrlBody {
  std::string scheme, host, path, raw_query;  // host with port, brackets kept; path as written
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
};

struct SemverBody {
  uint64_t major = 0, minor = 0, patch = 0;
  std::vector<std::string> prerelease;
  std::string build;
};

struct FormatBody {
  std::string_view name;
  // Appends what is wrong with the text; nothing when it has the format.
  void (*validate)(std::string_view text, std::vector<std::string>* problems);
};

// Two values of the same kind, one of those above.
bool equal_bodies(const Value& a, const Value& b);
// The text of such a value, or of a scalar.
std::string body_text(const Value& value);

}  // namespace kueue::cel
