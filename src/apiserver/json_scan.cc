#include "apiserver/json_scan.h"

#include <cstring>

#include "json/json.h"

namespace kueue::apiserver {

namespace {

// Position after the string that starts at `at` (on its opening quote).
size_t skip_string(std::string_view text, size_t at) {
  size_t i = at + 1;
  while (i < text.size()) {
    const void* hit = std::memchr(text.data() + i, '"', text.size() - i);
    if (hit == nullptr) return text.size();
    i = static_cast<size_t>(static_cast<const char*>(hit) - text.data());
    size_t slashes = 0;
    while (i > at + 1 + slashes && text[i - 1 - slashes] == '\\') ++slashes;
    ++i;
    if (slashes % 2 == 0) return i;
  }
  return text.size();
}

size_t skip_value(std::string_view text, size_t at) {
  if (at >= text.size()) return at;
  if (text[at] == '"') return skip_string(text, at);
  if (text[at] != '{' && text[at] != '[') {
    while (at < text.size() && text[at] != ',' && text[at] != '}' && text[at] != ']') ++at;
    return at;
  }
  size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
      continue;
    }
    ++at;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return at;
  }
  return at;
}

std::string_view member(std::string_view raw, std::string_view key) {
  for (Members m(raw); m.next();)
    if (m.key() == key) return m.value();
  return {};
}

}  // namespace

Members::Members(std::string_view raw) : text_(raw) {
  object_ = !raw.empty() && raw.front() == '{';
  position_ = object_ || (!raw.empty() && raw.front() == '[') ? 1 : raw.size();
}

bool Members::next() {
  if (position_ >= text_.size()) return false;
  if (text_[position_] == ',') ++position_;
  if (position_ >= text_.size() || text_[position_] == '}' || text_[position_] == ']') return false;
  if (object_) {
    if (text_[position_] != '"') return false;
    const size_t end = skip_string(text_, position_);
    key_ = text_.substr(position_ + 1, end - position_ - 2);
    position_ = end + 1;  // the colon
  }
  const size_t end = skip_value(text_, position_);
  value_ = text_.substr(position_, end - position_);
  position_ = end;
  return true;
}

namespace {

size_t scalar_length(std::string_view text, size_t at) {
  for (std::string_view word : {"true", "false", "null"})
    if (text.substr(at, word.size()) == word) return word.size();
  size_t n = 0;
  while (at + n < text.size() && std::strchr("+-.0123456789eE", text[at + n]) != nullptr &&
         text[at + n] != '\0')
    ++n;
  return n;
}

}  // namespace

bool well_formed(std::string_view text) {
  std::string open;        // the brackets around this place
  bool value_next = true;  // a value (in an object: its member) must follow
  bool may_close = false;  // just after an opening bracket
  size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (!value_next || may_close) {
      if (!open.empty() && c == (open.back() == '{' ? '}' : ']')) {
        open.pop_back();
        ++at;
        value_next = may_close = false;
        continue;
      }
      if (!value_next) {
        if (c != ',' || open.empty()) return false;
        ++at;
        value_next = true;
        continue;
      }
    }
    may_close = false;
    if (!open.empty() && open.back() == '{') {
      if (c != '"') return false;
      at = skip_string(text, at);
      if (at >= text.size() || text[at] != ':') return false;
      if (++at >= text.size()) return false;
    }
    if (text[at] == '{' || text[at] == '[') {
      open += text[at++];
      may_close = true;
      continue;
    }
    if (text[at] == '"') {
      const size_t end = skip_string(text, at);
      if (end - at < 2 || text[end - 1] != '"') return false;
      at = end;
    } else {
      const size_t length = scalar_length(text, at);
      if (length == 0) return false;
      at += length;
    }
    value_next = false;
  }
  return open.empty() && !value_next && !text.empty();
}

std::string_view scan_path(std::string_view document,
                           std::initializer_list<std::string_view> path) {
  std::string_view at = document;
  for (std::string_view key : path) {
    if (at.empty() || at.front() != '{') return {};
    at = member(at, key);
  }
  return at;
}

std::string_view scan_dotted(std::string_view document, std::string_view path) {
  std::string_view at = document;
  while (!path.empty()) {
    const size_t dot = path.find('.');
    if (at.empty() || at.front() != '{') return {};
    at = member(at, path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return at;
}

std::string scan_text(std::string_view raw) {
  if (raw == "null") return {};
  if (raw.size() < 2 || raw.front() != '"') return std::string(raw);
  const std::string_view inner = raw.substr(1, raw.size() - 2);
  if (inner.find('\\') == std::string_view::npos) return std::string(inner);
  auto parsed = json::parse(raw);
  return parsed.ok() && parsed->is_string() ? parsed->as_string() : std::string(inner);
}

std::string scan_string(std::string_view document, std::initializer_list<std::string_view> path) {
  return scan_text(scan_path(document, path));
}

}  // namespace kueue::apiserver
