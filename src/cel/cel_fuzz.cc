// Expressions under arbitrary text: the first line is the expression, the rest a JSON document for
// `self`. Compiling and evaluating never fail in other ways than an error, within the cost limit,
// and twice the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "cel/bodies.h"
#include "cel/program.h"
#include "json/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kueue;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t line = text.find('\n');
  json::Value document;
  if (line != std::string_view::npos) {
    auto parsed = json::parse(text.substr(line + 1));
    if (parsed.ok()) document = std::move(parsed).value();
  }
  auto program = cel::compile(text.substr(0, line), {{"self", cel::CelType()}});
  if (!program.ok()) return 0;
  std::string results[2];
  for (std::string& result : results) {
    cel::Arena arena;
    cel::Value self = cel::from_json(document, nullptr, arena);
    cel::Evaluation e = (*program)->evaluate({&self, 1}, arena, 100'000);
    result = json::write_sorted(cel::to_json(e.value, arena)) + cel::body_text(e.value);
  }
  KUEUE_CHECK(results[0] == results[1], "evaluation is deterministic");
  return 0;
}
