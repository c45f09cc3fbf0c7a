#include "sim/script.h"

#include <charconv>

namespace kueue::sim {
namespace {

int64_t number_in(const Arguments& arguments, std::string_view key, int64_t fallback) {
  auto found = arguments.find(key);
  if (found == arguments.end()) return fallback;
  int64_t n = 0;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() ? n : fallback;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (true) {
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const size_t end = std::min(line.find_first_of(" \t\r"), line.size());
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

}  // namespace

std::pair<std::string, std::string> Step::key() const {
  const size_t slash = name.find('/');
  if (slash == std::string::npos) return {"", name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}
std::string Step::get(std::string_view key, std::string_view fallback) const {
  auto found = arguments.find(key);
  return found == arguments.end() ? std::string(fallback) : found->second;
}
int64_t Step::number_of(std::string_view key, int64_t fallback) const {
  return number_in(arguments, key, fallback);
}
int64_t Script::config_number(std::string_view key, int64_t fallback) const {
  return number_in(config, key, fallback);
}

std::string write_step(const Step& step) {
  std::string line = std::to_string(step.number) + " " + step.verb;
  if (!step.name.empty()) line += " " + step.name;
  for (const auto& [key, value] : step.arguments) line += " " + key + "=" + value;
  return line;
}

std::string write_script(const Script& script) {
  std::string text = "seed " + std::to_string(script.seed) + "\nconfig";
  for (const auto& [key, value] : script.config) text += " " + key + "=" + value;
  text += "\n";
  for (const Step& step : script.steps) text += write_step(step) + "\n";
  return text;
}

Result<Script> parse_script(std::string_view text) {
  Script script;
  int line_number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::vector<std::string> words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    if (words.empty() || words[0][0] == '#') continue;
    const auto wrong = [&](std::string_view why) {
      return make_error(ErrorCode::kBadRequest,
                        "line " + std::to_string(line_number) + ": " + std::string(why));
    };
    Arguments* arguments = &script.config;
    size_t at = 1;
    if (words[0] == "seed" && words.size() == 2) {
      script.seed = std::strtoull(words[1].c_str(), nullptr, 10);
      continue;
    }
    if (words[0] != "config") {
      if (words.size() < 2) return wrong("wants: NUMBER VERB [NAME] [KEY=VALUE]..");
      Step& step = script.steps.emplace_back();
      step.number = std::strtoll(words[0].c_str(), nullptr, 10);
      step.verb = words[1];
      at = 2;
      if (words.size() > 2 && words[2].find('=') == std::string::npos) step.name = words[at++];
      arguments = &step.arguments;
    }
    for (; at < words.size(); ++at) {
      const size_t equals = words[at].find('=');
      if (equals == std::string::npos) return wrong("'" + words[at] + "' is not KEY=VALUE");
      (*arguments)[words[at].substr(0, equals)] = words[at].substr(equals + 1);
    }
  }
  return script;
}

}  // namespace kueue::sim
