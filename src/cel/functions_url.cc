// Kubernetes' url library.
#include <algorithm>

#include "cel/bodies.h"
#include "cel/functions.h"
#include "cel/url.h"

namespace kueue::cel {
namespace {

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// False for a '%' without two hex digits.
bool unescape(std::string_view text, bool query, std::string* out) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && query) {
      *out += ' ';
    } else if (text[i] != '%') {
      *out += text[i];
    } else {
      if (i + 2 >= text.size() || hex(text[i + 1]) < 0 || hex(text[i + 2]) < 0) return false;
      *out += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
      i += 2;
    }
  }
  return true;
}

// The path as it must be escaped in a URL: valid escapes stay.
std::string escape_path(std::string_view path) {
  static constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~$&+,/:;=@!'()*[]%";
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (char c : path) {
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

bool valid_host(std::string_view host) {
  size_t at = host.rfind('@');
  if (at != std::string_view::npos) host.remove_prefix(at + 1);
  std::string_view port;
  if (host.starts_with('[')) {
    size_t close = host.find(']');
    if (close == std::string_view::npos) return false;
    port = host.substr(close + 1);
    if (!port.empty() && port[0] != ':') return false;
  } else {
    if (host.find_first_of(" <>\"\\^`{|}") != std::string_view::npos) return false;
    size_t colon = host.find(':');
    if (colon != std::string_view::npos) port = host.substr(colon);
  }
  if (!port.empty()) port.remove_prefix(1);
  return port.find_first_not_of("0123456789") == std::string_view::npos;
}

void parse_query(std::string_view text, UrlBody* out) {
  while (!text.empty()) {
    size_t amp = text.find('&');
    std::string_view pair = text.substr(0, amp);
    text = amp == std::string_view::npos ? std::string_view() : text.substr(amp + 1);
    if (pair.empty()) continue;
    size_t eq = pair.find('=');
    std::string key, value;
    if (!unescape(pair.substr(0, eq), true, &key)) continue;
    if (eq != std::string_view::npos && !unescape(pair.substr(eq + 1), true, &value)) continue;
    out->query.emplace_back(std::move(key), std::move(value));
  }
}

Value url(Context& context, Arguments a) {
  if (a[0].kind != Kind::kString) return no_such_overload();
  UrlBody body;
  if (!parse_url(a[0].str(), &body))
    return make_error(context.arena, "URL parse error during conversion from string: parse \"" +
                                         std::string(a[0].str()) + "\": invalid URI for request");
  Value v;
  v.kind = Kind::kUrl;
  v.url = context.arena.make<UrlBody>(std::move(body));
  return v;
}
Value is_url(Context&, Arguments a) {
  if (a[0].kind != Kind::kString) return no_such_overload();
  UrlBody body;
  return Value::of_bool(parse_url(a[0].str(), &body));
}
Value scheme(Context& context, Arguments a) {
  return a[0].kind == Kind::kUrl ? string_value(context, a[0].url->scheme) : no_such_overload();
}
Value host(Context& context, Arguments a) {
  return a[0].kind == Kind::kUrl ? string_value(context, a[0].url->host) : no_such_overload();
}

// Where the port's colon is; npos when there is no port.
size_t port_at(std::string_view h) {
  size_t close = h.find(']');
  return h.find(':', close == std::string_view::npos ? 0 : close);
}

Value host_name(Context& context, Arguments a) {
  if (a[0].kind != Kind::kUrl) return no_such_overload();
  std::string_view h = a[0].url->host;
  h = h.substr(0, port_at(h));
  if (h.starts_with('[') && h.ends_with(']')) h = h.substr(1, h.size() - 2);
  return string_value(context, h);
}
Value port(Context& context, Arguments a) {
  if (a[0].kind != Kind::kUrl) return no_such_overload();
  std::string_view h = a[0].url->host;
  size_t at = port_at(h);
  return string_value(context,
                      at == std::string_view::npos ? std::string_view() : h.substr(at + 1));
}
Value escaped_path(Context& context, Arguments a) {
  return a[0].kind == Kind::kUrl ? string_value(context, escape_path(a[0].url->path))
                                 : no_such_overload();
}

Value query(Context& context, Arguments a) {
  if (a[0].kind != Kind::kUrl) return no_such_overload();
  const auto& pairs = a[0].url->query;
  std::vector<Entry> entries;
  for (size_t i = 0; i < pairs.size(); ++i) {
    bool seen = std::any_of(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(i),
                            [&](const auto& p) { return p.first == pairs[i].first; });
    if (!context.charge(i + 1)) return Context::limit_error();
    if (seen) continue;
    std::vector<Value> values;
    for (size_t k = i; k < pairs.size(); ++k)
      if (pairs[k].first == pairs[i].first)
        values.push_back(string_value(context, pairs[k].second));
    Value* items = context.arena.array<Value>(values.size());
    std::copy(values.begin(), values.end(), items);
    entries.push_back(
        {string_value(context, pairs[i].first), Value::of_list({items, values.size()})});
  }
  Entry* stored = context.arena.array<Entry>(entries.size());
  std::copy(entries.begin(), entries.end(), stored);
  return make_map({stored, entries.size()}, context.arena);
}

constexpr Function kFunctions[] = {
    {"url", false, 1, 1, url, "s:U"},
    {"isURL", false, 1, 1, is_url, "s:b"},
    {"getScheme", true, 1, 1, scheme, "U:s"},
    {"getHost", true, 1, 1, host, "U:s"},
    {"getHostname", true, 1, 1, host_name, "U:s"},
    {"getPort", true, 1, 1, port, "U:s"},
    {"getEscapedPath", true, 1, 1, escaped_path, "U:s"},
    {"getQuery", true, 1, 1, query, "U:{s[s]}"},
};

}  // namespace

std::span<const Function> url_functions() { return kFunctions; }

bool parse_url(std::string_view text, UrlBody* out) {
  if (text.empty()) return false;
  for (char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  size_t mark = text.find('?');
  std::string_view rest = text.substr(0, mark);
  if (mark != std::string_view::npos) {
    out->raw_query = std::string(text.substr(mark + 1));
    parse_query(out->raw_query, out);
  }
  size_t colon = rest.find(':');
  size_t slash = rest.find('/');
  if (colon != std::string_view::npos && (slash == std::string_view::npos || colon < slash)) {
    std::string_view name = rest.substr(0, colon);
    bool letter = !name.empty() && ((name[0] | 0x20) >= 'a' && (name[0] | 0x20) <= 'z');
    if (!letter) return false;
    for (char c : name)
      if (!((c | 0x20) >= 'a' && (c | 0x20) <= 'z') && !(c >= '0' && c <= '9') && c != '+' &&
          c != '-' && c != '.')
        return false;
    out->scheme = std::string(name);
    for (char& c : out->scheme)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    rest.remove_prefix(colon + 1);
  }
  if (out->scheme.empty() && !rest.starts_with('/')) return false;
  if (!out->scheme.empty() && rest.starts_with("//")) {
    rest.remove_prefix(2);
    size_t end = rest.find('/');
    std::string_view host = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end);
    if (!valid_host(host)) return false;
    size_t at = host.rfind('@');
    out->host = std::string(at == std::string_view::npos ? host : host.substr(at + 1));
  }
  out->path = std::string(rest);
  std::string plain;
  return unescape(rest, false, &plain);
}

}  // namespace kueue::cel
