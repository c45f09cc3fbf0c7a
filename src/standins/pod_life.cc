#include "standins/pod_life.h"

#include <charconv>
#include <string>
#include <vector>

namespace kueue::standins {

namespace {

// The words of the commands and arguments of all containers, split at blanks and shell separators.
std::vector<std::string> words_of(const json::Value& container) {
  std::vector<std::string> words;
  for (std::string_view part : {"command", "args"}) {
    const json::Value* list = container.find(part);
    if (list == nullptr || !list->is_array()) continue;
    for (const json::Value& item : list->as_array()) {
      std::string word;
      for (char c : std::string(item.string_or("")) + " ") {
        bool separator = c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|' ||
                         c == '(' || c == ')' || c == '"' || c == '\'';
        if (!separator) {
          word += c;
        } else if (!word.empty()) {
          words.push_back(std::move(word));
          word.clear();
        }
      }
    }
  }
  return words;
}

// "2", "0.5", "3m"; nullopt when it is no such thing.
std::optional<Duration> sleep_time(std::string_view text) {
  int64_t unit_s = 1;
  if (!text.empty()) {
    switch (text.back()) {
      case 'd':
        unit_s = 86'400;
        break;
      case 'h':
        unit_s = 3'600;
        break;
      case 'm':
        unit_s = 60;
        break;
      case 's':
        unit_s = 1;
        break;
      default:
        unit_s = 0;
        break;
    }
    if (unit_s != 0)
      text.remove_suffix(1);
    else
      unit_s = 1;
  }
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > 1e9)
    return std::nullopt;
  return Duration{static_cast<int64_t>(value * 1e9) * unit_s};
}

std::optional<int> exit_code(std::string_view text) {
  int code = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  if (error != std::errc() || end != text.data() + text.size() || code < 0 || code > 255)
    return std::nullopt;
  return code;
}

struct Told {
  std::optional<Duration> sleep;
  std::optional<int> exit;
  bool forever = false;
};

void listen(const json::Value& container, Told& told) {
  std::vector<std::string> words = words_of(container);
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (size_t slash = word.rfind('/'); slash != std::string_view::npos)
      word.remove_prefix(slash + 1);
    if (word == "pause") told.forever = true;
    if (i + 1 == words.size()) continue;
    if (word == "sleep") {
      if (words[i + 1] == "infinity" || words[i + 1] == "inf") told.forever = true;
      std::optional<Duration> time = sleep_time(words[i + 1]);
      if (time && (!told.sleep || *told.sleep < *time)) told.sleep = time;
    } else if (word == "exit") {
      if (std::optional<int> code = exit_code(words[i + 1]); code && *code != 0) told.exit = code;
    }
  }
  std::string_view image = container.get_string({"image"});
  if (words.empty() &&
      (image.find("/pause:") != std::string_view::npos || image.starts_with("pause")))
    told.forever = true;
}

}  // namespace

PodLife pod_life(const json::Value& pod) {
  Told told;
  if (const json::Value* containers = pod.find_path({"spec", "containers"});
      containers != nullptr && containers->is_array())
    for (const json::Value& container : containers->as_array()) listen(container, told);

  PodLife life;
  Result<Duration> asked =
      parse_duration(pod.get_string({"metadata", "annotations", kRunForAnnotation}));
  std::optional<int> code =
      exit_code(pod.get_string({"metadata", "annotations", kExitCodeAnnotation}));
  life.exit_code = code.value_or(told.exit.value_or(0));
  bool restarts = pod.get_string({"spec", "restartPolicy"}, "Always") == "Always";
  if (asked.ok() && asked->ns >= 0) {
    life.run_for = *asked;
  } else if (!restarts && !told.forever) {
    life.run_for = told.sleep.value_or(kDefaultRun);
  }
  return life;
}

}  // namespace kueue::standins
