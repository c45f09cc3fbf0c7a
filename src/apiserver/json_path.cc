#include "apiserver/json_path.h"

#include <string>
#include <vector>

#include "json/json.h"

namespace kueue::apiserver {

namespace {

using Values = std::vector<const json::Value*>;

void step_member(Values& values, std::string_view name) {
  Values next;
  for (const json::Value* v : values) {
    if (name == "*") {
      if (v->is_array())
        for (const json::Value& item : v->as_array()) next.push_back(&item);
      if (v->is_object())
        for (const auto& [key, item] : v->as_object()) next.push_back(&item);
    } else if (const json::Value* m = v->find(name)) {
      next.push_back(m);
    }
  }
  values = std::move(next);
}

void step_index(Values& values, int64_t index) {
  Values next;
  for (const json::Value* v : values) {
    if (!v->is_array()) continue;
    const auto size = static_cast<int64_t>(v->as_array().size());
    const int64_t at = index < 0 ? size + index : index;
    if (at >= 0 && at < size) next.push_back(&v->as_array()[static_cast<size_t>(at)]);
  }
  values = std::move(next);
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The literal as a value: 'x' and "x" are strings, the rest is JSON.
json::Value literal(std::string_view text) {
  if (text.size() >= 2 && text.front() == text.back() &&
      (text.front() == '\'' || text.front() == '"'))
    return json::Value(text.substr(1, text.size() - 2));
  auto parsed = json::parse(text);
  return parsed.ok() ? std::move(parsed).value() : json::Value();
}

// "@.type=="Ready"" keeps the items for which it holds.
bool step_filter(Values& values, std::string_view condition) {
  size_t op = condition.find("==");
  const bool equal = op != std::string_view::npos;
  if (!equal) op = condition.find("!=");
  std::string_view left = trim(condition.substr(0, op));
  if (left.empty() || left.front() != '@') return false;
  left.remove_prefix(1);
  const json::Value wanted =
      op == std::string_view::npos ? json::Value() : literal(trim(condition.substr(op + 2)));
  Values next;
  for (const json::Value* v : values) {
    if (!v->is_array()) continue;
    for (const json::Value& item : v->as_array()) {
      const json::Value* found = left.empty() ? &item : json_path_first(left, item);
      const bool keep = op == std::string_view::npos
                            ? found != nullptr
                            : found != nullptr && ((*found == wanted) == equal);
      if (keep) next.push_back(&item);
    }
  }
  values = std::move(next);
  return true;
}

// Position after the bracket that closes the one at `at`; quotes are skipped.
size_t closing(std::string_view path, size_t at) {
  char quote = 0;
  int depth = 0;
  for (; at < path.size(); ++at) {
    const char c = path[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[') {
      ++depth;
    } else if (c == ']' && --depth == 0) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

bool step_bracket(Values& values, std::string_view inner) {
  inner = trim(inner);
  if (inner == "*") return step_member(values, "*"), true;
  if (inner.starts_with("?(") && inner.ends_with(")"))
    return step_filter(values, inner.substr(2, inner.size() - 3));
  if (inner.size() >= 2 && (inner.front() == '\'' || inner.front() == '"'))
    return step_member(values, inner.substr(1, inner.size() - 2)), true;
  char* end = nullptr;
  const std::string text(inner);
  const int64_t index = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0') return false;
  step_index(values, index);
  return true;
}

}  // namespace

const json::Value* json_path_first(std::string_view path, const json::Value& root) {
  path = trim(path);
  if (path.starts_with("{") && path.ends_with("}")) path = path.substr(1, path.size() - 2);
  if (path.starts_with("$")) path.remove_prefix(1);
  Values values{&root};
  while (!path.empty() && !values.empty()) {
    if (path.front() == '[') {
      const size_t end = closing(path, 0);
      if (end == std::string_view::npos || !step_bracket(values, path.substr(1, end - 2)))
        return nullptr;
      path.remove_prefix(end);
      continue;
    }
    if (path.front() == '.') path.remove_prefix(1);
    std::string name;
    while (!path.empty() && path.front() != '.' && path.front() != '[') {
      if (path.front() == '\\' && path.size() > 1) path.remove_prefix(1);
      name += path.front();
      path.remove_prefix(1);
    }
    if (name.empty()) {
      if (path.empty()) break;
      return nullptr;
    }
    step_member(values, name);
  }
  return values.empty() ? nullptr : values.front();
}

}  // namespace kueue::apiserver
