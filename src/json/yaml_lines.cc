#include "json/yaml_lines.h"

#include <yaml.h>

namespace kueue::json {
namespace {

constexpr size_t kMostLines = 100'000;
constexpr int kMostDepth = 64;

class Scanner {
 public:
  Scanner(std::string_view text, std::map<std::string, size_t, std::less<>>& lines)
      : lines_(lines) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~Scanner() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }
  Scanner(const Scanner&) = delete;
  Scanner& operator=(const Scanner&) = delete;

  void run() {
    while (next() && event_.type != YAML_DOCUMENT_START_EVENT)
      if (event_.type == YAML_STREAM_END_EVENT) return;
    if (next()) node("", 0);
  }

 private:
  // False at the end and where the text is no YAML.
  bool next() {
    yaml_event_delete(&event_);
    event_ = {};
    return yaml_parser_parse(&parser_, &event_) != 0 && event_.type != YAML_NO_EVENT;
  }
  void note(const std::string& path) {
    if (lines_.size() < kMostLines) lines_.emplace(path, event_.start_mark.line + 1);
  }

  // The node that the current event starts; afterwards the event is its last one.
  bool node(const std::string& path, int depth) {
    if (depth > kMostDepth) return false;
    if (event_.type == YAML_SEQUENCE_START_EVENT) return sequence(path, depth);
    if (event_.type == YAML_MAPPING_START_EVENT) return mapping(path, depth);
    return true;
  }
  bool sequence(const std::string& path, int depth) {
    for (size_t i = 0; next(); ++i) {
      if (event_.type == YAML_SEQUENCE_END_EVENT) return true;
      const std::string item = path + '[' + std::to_string(i) + ']';
      note(item);
      if (!node(item, depth + 1)) return false;
    }
    return false;
  }
  bool mapping(const std::string& path, int depth) {
    while (next()) {
      if (event_.type == YAML_MAPPING_END_EVENT) return true;
      std::string member = path + ".?";  // a key that is no text
      if (event_.type == YAML_SCALAR_EVENT) {
        const std::string key(reinterpret_cast<const char*>(event_.data.scalar.value),
                              event_.data.scalar.length);
        member = path.empty() ? key : path + '.' + key;
        note(member);
        note(path + '[' + key + ']');
      } else if (!node(member, depth + 1)) {
        return false;
      }
      if (!next() || !node(member, depth + 1)) return false;
    }
    return false;
  }

  std::map<std::string, size_t, std::less<>>& lines_;
  yaml_parser_t parser_ = {};
  yaml_event_t event_ = {};
};

}  // namespace

YamlLines::YamlLines(std::string_view text) { Scanner(text, lines_).run(); }

size_t YamlLines::of(std::string_view path) const {
  const auto found = lines_.find(path);
  return found == lines_.end() ? 0 : found->second;
}

size_t YamlLines::near(std::string_view path) const {
  while (!path.empty()) {
    if (const size_t line = of(path); line > 0) return line;
    const size_t cut = path.find_last_of(".[");
    path = path.substr(0, cut == std::string_view::npos ? 0 : cut);
  }
  return 0;
}

}  // namespace kueue::json
