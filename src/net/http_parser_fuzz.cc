// The HTTP parser on arbitrary bytes: no crash, and the same result however the bytes are split.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "net/http_parser.h"

namespace {

struct Outcome {
  bool done;
  bool failed;
  size_t used;
  std::string body;
  bool operator==(const Outcome&) const = default;
};

Outcome parse(kueue::net::HttpParser::Kind kind, std::string_view text, size_t step) {
  kueue::net::HttpParser parser(kind, 2048, 4096);
  size_t used = 0;
  while (used < text.size() && !parser.done() && !parser.failed()) {
    used += parser.feed(text.substr(used, step));
  }
  // How far a refused message was read depends on the steps.
  return {parser.done(), parser.failed(), parser.failed() ? 0 : used,
          parser.failed() ? "" : parser.body()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto kind :
       {kueue::net::HttpParser::Kind::kRequest, kueue::net::HttpParser::Kind::kResponse}) {
    if (!(parse(kind, text, size == 0 ? 1 : size) == parse(kind, text, 1))) abort();
  }
  return 0;
}
