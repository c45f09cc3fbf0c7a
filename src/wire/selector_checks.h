// What must hold for any text given to the selector parsers. Used by the fuzzer and by the replay
// of its corpus.
#pragma once

#include <string>
#include <string_view>

#include "base/check.h"
#include "wire/path.h"
#include "wire/selector.h"

namespace kueue::wire {

inline void check_selector_text(std::string_view text) {
  auto labels = LabelSelector::parse(text);
  if (labels.ok()) {
    auto again = LabelSelector::parse(labels->to_string());
    KUEUE_CHECK(again.ok() && *again == *labels, "label selector round trip");
    labels->matches(LabelMap{{"a", "b"}, {"n", "5"}});
  }
  auto fields = FieldSelector::parse(text);
  if (fields.ok()) fields->matches([](std::string_view path) { return std::string(path); });
  auto path = parse_resource_path(text);
  if (path) {
    auto again = parse_resource_path(resource_path(*path));
    KUEUE_CHECK(again && again->resource == path->resource && again->name == path->name,
                "path round trip");
  }
  KUEUE_CHECK(parse_query(format_query(parse_query(text))) == parse_query(text),
              "query round trip");
}

}  // namespace kueue::wire
