#include "config/yaml_lines.h"

#include <string>
#include <vector>

namespace kueue::config {
namespace {

struct Line {
  size_t number;
  size_t indent;           // of the key, behind any "- "
  size_t dash = SIZE_MAX;  // column of the item's "-"
  std::string_view key;
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> out;
  size_t number = 0;
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    ++number;
    Line entry{number, 0, SIZE_MAX, {}};
    size_t at = line.find_first_not_of(' ');
    while (at != std::string_view::npos && line[at] == '-' &&
           (at + 1 == line.size() || line[at + 1] == ' ')) {
      entry.dash = at;
      at = line.find_first_not_of(' ', at + 1);
    }
    if (at == std::string_view::npos) at = line.size();
    entry.indent = at;
    std::string_view rest = line.substr(at);
    size_t colon = rest.find(':');
    if (colon != std::string_view::npos && !rest.starts_with('#')) {
      entry.key = rest.substr(0, colon);
      if (entry.key.size() > 1 && (entry.key.front() == '"' || entry.key.front() == '\''))
        entry.key = entry.key.substr(1, entry.key.size() - 2);
    }
    if (!entry.key.empty() || entry.dash != SIZE_MAX) out.push_back(entry);
  }
  return out;
}

}  // namespace

size_t line_of(std::string_view text, std::string_view path) {
  std::vector<Line> lines = lines_of(text);
  size_t from = 0, found = 0;
  size_t parent = SIZE_MAX;  // indentation of the member above; SIZE_MAX at the top
  while (!path.empty()) {
    size_t end = path.find_first_of(".[");
    std::string_view name = path.substr(0, end);
    path = end == std::string_view::npos ? std::string_view() : path.substr(end);
    bool hit = name.empty();
    for (size_t i = from; i < lines.size() && !hit; ++i) {
      bool inside = parent == SIZE_MAX || lines[i].indent > parent || lines[i].dash == parent;
      if (!inside && lines[i].dash == SIZE_MAX) break;
      if (lines[i].key != name) continue;
      hit = true;
      found = lines[i].number;
      parent = lines[i].indent;
      from = i + 1;
    }
    if (!hit) return 0;
    while (path.starts_with('[')) {
      size_t close = path.find(']');
      if (close == std::string_view::npos) return 0;
      std::string digits(path.substr(1, close - 1));
      if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos ||
          digits.size() > 6)
        return found;
      size_t wanted = std::stoul(digits), seen = 0, column = SIZE_MAX;
      bool item = false;
      for (size_t i = from; i < lines.size(); ++i) {
        if (lines[i].dash == SIZE_MAX) continue;
        if (column == SIZE_MAX) column = lines[i].dash;
        if (lines[i].dash != column || seen++ != wanted) continue;
        found = lines[i].number;
        from = i;
        parent = lines[i].dash;
        item = true;
        break;
      }
      if (!item) return found;
      path.remove_prefix(close + 1);
    }
    if (path.starts_with('.')) path.remove_prefix(1);
  }
  return found;
}

}  // namespace kueue::config
