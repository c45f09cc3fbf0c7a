// Where the members and items of a YAML document stand in its text, for messages about them.
// Immutable after construction; thread safe.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace kueue::json {

class YamlLines {
 public:
  // Of the text's first document. A text that is no YAML has the lines up to its first fault.
  explicit YamlLines(std::string_view text);

  // Line, from 1, of the member or item at a path: "a.b[2].c"; members of maps also as "a[key]".
  // 0 when there is none.
  size_t of(std::string_view path) const;
  // The same for the innermost of those around it that is there: where something is missing.
  size_t near(std::string_view path) const;

 private:
  std::map<std::string, size_t, std::less<>> lines_;
};

}  // namespace kueue::json
