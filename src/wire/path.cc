#include "wire/path.h"

#include <vector>

namespace kueue::wire {
namespace {

bool unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == '~';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> segments;
  while (!path.empty()) {
    size_t slash = path.find('/');
    std::string_view segment = path.substr(0, slash);
    if (!segment.empty()) segments.push_back(percent_decode(segment, false));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return segments;
}

}  // namespace

std::optional<ResourcePath> parse_resource_path(std::string_view path) {
  std::vector<std::string> segments = split_path(path);
  ResourcePath out;
  size_t at = 0;
  auto left = [&] { return segments.size() - at; };
  if (left() >= 2 && segments[0] == "api") {
    out.version = segments[1];
    at = 2;
  } else if (left() >= 3 && segments[0] == "apis") {
    out.group = segments[1];
    out.version = segments[2];
    at = 3;
  } else {
    return std::nullopt;
  }
  if (left() > 0 && segments[at] == "watch") {
    out.watch_prefix = true;
    ++at;
  }
  // /namespaces/NS/RESOURCE is inside a namespace; /namespaces/NS and its two subresources are the
  // Namespace itself.
  if (left() > 2 && segments[at] == "namespaces" &&
      !(out.group.empty() && left() == 3 &&
        (segments[at + 2] == "status" || segments[at + 2] == "finalize"))) {
    out.namespace_ = segments[at + 1];
    at += 2;
  }
  if (left() == 0) return std::nullopt;
  out.resource = segments[at++];
  if (left() > 0) out.name = segments[at++];
  for (; left() > 0; ++at) {
    if (!out.subresource.empty()) out.subresource += '/';
    out.subresource += segments[at];
  }
  return out;
}

std::string resource_path(const ResourcePath& path) {
  std::string out = path.group.empty() ? "/api/" : "/apis/" + percent_encode(path.group) + "/";
  out += percent_encode(path.version);
  if (path.watch_prefix) out += "/watch";
  if (!path.namespace_.empty()) out += "/namespaces/" + percent_encode(path.namespace_);
  out += "/" + percent_encode(path.resource);
  if (path.name.empty()) return out;
  out += "/" + percent_encode(path.name);
  std::string_view rest = path.subresource;
  while (!rest.empty()) {
    size_t slash = rest.find('/');
    out += "/" + percent_encode(rest.substr(0, slash));
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  return out;
}

std::string percent_encode(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    if (unreserved(c)) {
      out += c;
    } else {
      out += '%';
      out += kDigits[static_cast<uint8_t>(c) >> 4];
      out += kDigits[static_cast<uint8_t>(c) & 15];
    }
  }
  return out;
}

std::string percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high >= 0 && low >= 0) {
        out += static_cast<char>(high * 16 + low);
        i += 2;
        continue;
      }
    }
    out += text[i] == '+' && plus_is_space ? ' ' : text[i];
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> parse_query(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> query;
  while (!text.empty()) {
    size_t ampersand = text.find('&');
    std::string_view item = text.substr(0, ampersand);
    if (!item.empty()) {
      size_t equals = item.find('=');
      query.emplace_back(percent_decode(item.substr(0, equals), true),
                         equals == std::string_view::npos
                             ? std::string()
                             : percent_decode(item.substr(equals + 1), true));
    }
    if (ampersand == std::string_view::npos) break;
    text.remove_prefix(ampersand + 1);
  }
  return query;
}

std::string format_query(const std::vector<std::pair<std::string, std::string>>& query) {
  std::string out;
  for (const auto& [key, value] : query) {
    if (!out.empty()) out += '&';
    out += percent_encode(key) + "=" + percent_encode(value);
  }
  return out;
}

}  // namespace kueue::wire
