#include "wire/http.h"

namespace kueue::wire {
namespace {

bool equal_names(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

}  // namespace

std::string_view Headers::get(std::string_view name) const {
  for (const auto& [key, value] : items_) {
    if (equal_names(key, name)) return value;
  }
  return {};
}

bool Headers::has(std::string_view name) const {
  for (const auto& item : items_) {
    if (equal_names(item.first, name)) return true;
  }
  return false;
}

void Headers::set(std::string_view name, std::string value) {
  bool placed = false;
  std::erase_if(items_, [&](auto& item) {
    if (!equal_names(item.first, name)) return false;
    if (placed) return true;
    placed = true;
    item.second = value;
    return false;
  });
  if (!placed) items_.emplace_back(name, std::move(value));
}

void Headers::add(std::string_view name, std::string value) {
  items_.emplace_back(name, std::move(value));
}

std::string_view Request::query_value(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return {};
}

bool Request::has_query(std::string_view name) const {
  for (const auto& item : query) {
    if (item.first == name) return true;
  }
  return false;
}

}  // namespace kueue::wire
