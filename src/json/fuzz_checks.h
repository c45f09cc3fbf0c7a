// What must hold for any text that parsers are given. Used by the fuzzers and by the test that
// replays their corpus.
#pragma once

#include <string_view>

#include "base/check.h"
#include "json/json.h"
#include "json/patch.h"

namespace kueue::json {

// What is read can be written and read again, and is the same. Only doubles may become something
// else the first time, since Go writes some of them like integers: 92233720368547758.0 as
// 92233720368547760, -0.0 as -0.
inline void check_json_text(std::string_view text) {
  std::vector<std::string> duplicates;
  auto value = parse(text, {.duplicates = &duplicates});
  auto strict = parse(text, {.reject_duplicate_keys = true});
  KUEUE_CHECK(value.ok() || !strict.ok(), "strict parsing accepts more");
  if (!value.ok()) return;
  KUEUE_CHECK(strict.ok() == duplicates.empty(), "strict parsing and reported duplicates differ");
  bool whole = text.find_first_of(".eE") == std::string_view::npos &&
               text.find("-0") == std::string_view::npos;
  for (const std::string& written : {write(*value), write_sorted(*value), write_pretty(*value)}) {
    auto again = parse(written);
    KUEUE_CHECK(again.ok() && (!whole || *again == *value), "JSON round trip");
    auto third = parse(write(*again));
    KUEUE_CHECK(third.ok() && *third == *again, "second JSON round trip");
  }
  // Other texts may hold characters that YAML does not have.
  if (!value->is_object()) return;
  auto yaml = parse_yaml(write(*value), {.reject_duplicate_keys = false});
  KUEUE_CHECK(yaml.ok() && write(*yaml) == write(parse(write(*value)).value()),
              "JSON read as YAML");
}

inline void check_yaml_text(std::string_view text) {
  auto value = parse_yaml(text, {.max_nodes = 10'000});
  auto all = parse_yaml_all(text, {.max_nodes = 10'000});
  if (all.ok() && !all->empty()) KUEUE_CHECK(value.ok(), "the first of several good documents");
  if (!value.ok()) return;
  std::string written = write_yaml(*value);
  auto again = parse_yaml(written);
  KUEUE_CHECK(again.ok() && *again == *value, written.c_str());
}

// The text is a document and a patch, one to a line.
inline void check_patch_text(std::string_view text) {
  size_t line_end = text.find('\n');
  if (line_end == std::string_view::npos) return;
  auto document = parse(text.substr(0, line_end), {.max_depth = 64});
  auto patch = parse(text.substr(line_end + 1), {.max_depth = 64});
  if (!document.ok() || !patch.ok()) return;
  auto patched = apply_json_patch(*document, *patch);
  if (patched.ok()) write(*patched);
  Value merged = apply_merge_patch(*document, *patch);
  Value difference = make_merge_patch(*document, merged);
  if (merged.is_object()) {
    KUEUE_CHECK(apply_merge_patch(*document, difference) == merged, "difference as a merge patch");
  }
}

}  // namespace kueue::json
