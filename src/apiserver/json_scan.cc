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
