// Kubernetes' ip and cidr libraries.
#include <arpa/inet.h>

#include <charconv>
#include <cstring>

#include "cel/bodies.h"
#include "cel/functions.h"

namespace kueue::cel {
namespace {

enum class Failure { kNone, kSyntax, kZone, kMapped };

// Zones and IPv4-mapped addresses are refused, as Kubernetes does.
Failure parse_ip(std::string_view text, IpBody* out) {
  std::string t(text);
  if (t.find('\0') != std::string::npos) return Failure::kSyntax;
  if (t.find('%') != std::string::npos) return Failure::kZone;
  out->bytes = {};
  out->v6 = t.find(':') != std::string::npos;
  if (inet_pton(out->v6 ? AF_INET6 : AF_INET, t.c_str(), out->bytes.data()) != 1)
    return Failure::kSyntax;
  static constexpr uint8_t kMappedPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (out->v6 && std::memcmp(out->bytes.data(), kMappedPrefix, 12) == 0) return Failure::kMapped;
  return Failure::kNone;
}

std::string failure_text(Failure failure, std::string_view text) {
  std::string quoted = '"' + std::string(text) + '"';
  if (failure == Failure::kMapped) return "IPv4-mapped IPv6 address " + quoted + " is not allowed";
  if (failure == Failure::kZone) return "IP address " + quoted + " with zone value is not allowed";
  return "IP Address " + quoted + " parse error during conversion from string: ParseAddr(" +
         quoted + "): unable to parse IP";
}

int width(const IpBody& ip) { return ip.v6 ? 128 : 32; }

bool parse_cidr(std::string_view text, CidrBody* out) {
  size_t slash = text.find('/');
  if (slash == std::string_view::npos ||
      parse_ip(text.substr(0, slash), &out->ip) != Failure::kNone)
    return false;
  std::string_view bits = text.substr(slash + 1);
  if (bits.empty() || (bits.size() > 1 && bits[0] == '0')) return false;
  auto r = std::from_chars(bits.data(), bits.data() + bits.size(), out->prefix);
  return r.ec == std::errc() && r.ptr == bits.data() + bits.size() && out->prefix >= 0 &&
         out->prefix <= width(out->ip);
}

IpBody masked_ip(const IpBody& ip, int prefix) {
  IpBody out = ip;
  for (int bit = prefix; bit < width(ip); ++bit) {
    auto byte = static_cast<size_t>(bit / 8);
    out.bytes[byte] = static_cast<uint8_t>(out.bytes[byte] & ~(0x80 >> (bit % 8)));
  }
  return out;
}

bool same_ip(const IpBody& a, const IpBody& b) { return a.v6 == b.v6 && a.bytes == b.bytes; }

std::string ip_text(const IpBody& ip) {
  char buffer[64] = {};
  inet_ntop(ip.v6 ? AF_INET6 : AF_INET, ip.bytes.data(), buffer, sizeof buffer);
  return buffer;
}

Value wrap(Context& context, const IpBody& ip) {
  Value v;
  v.kind = Kind::kIp;
  v.ip = context.arena.make<IpBody>(ip);
  return v;
}
Value wrap(Context& context, const CidrBody& cidr) {
  Value v;
  v.kind = Kind::kCidr;
  v.cidr = context.arena.make<CidrBody>(cidr);
  return v;
}

Value ip(Context& context, Arguments a) {
  if (a[0].kind == Kind::kCidr) return wrap(context, a[0].cidr->ip);
  if (a[0].kind != Kind::kString) return no_such_overload();
  IpBody body;
  Failure failure = parse_ip(a[0].str(), &body);
  if (failure == Failure::kNone) return wrap(context, body);
  return make_error(context.arena, failure_text(failure, a[0].str()));
}
Value is_ip(Context&, Arguments a) {
  IpBody body;
  if (a[0].kind != Kind::kString) return no_such_overload();
  return Value::of_bool(parse_ip(a[0].str(), &body) == Failure::kNone);
}
Value is_canonical(Context& context, Arguments a) {
  if (a[0].kind != Kind::kString) return no_such_overload();
  Value parsed = ip(context, a);
  return parsed.is_error() ? parsed : Value::of_bool(ip_text(*parsed.ip) == a[0].str());
}
Value family(Context&, Arguments a) {
  return a[0].kind == Kind::kIp ? Value::of_int(a[0].ip->v6 ? 6 : 4) : no_such_overload();
}

bool unspecified(const IpBody& p) {
  for (uint8_t b : p.bytes)
    if (b != 0) return false;
  return true;
}
bool loopback(const IpBody& p) {
  if (!p.v6) return p.bytes[0] == 127;
  IpBody one;
  one.v6 = true;
  one.bytes[15] = 1;
  return same_ip(p, one);
}
bool link_local_multicast(const IpBody& p) {
  if (!p.v6) return p.bytes[0] == 224 && p.bytes[1] == 0 && p.bytes[2] == 0;
  return p.bytes[0] == 0xff && (p.bytes[1] & 0x0f) == 2;
}
bool link_local_unicast(const IpBody& p) {
  if (!p.v6) return p.bytes[0] == 169 && p.bytes[1] == 254;
  return p.bytes[0] == 0xfe && (p.bytes[1] & 0xc0) == 0x80;
}
bool multicast(const IpBody& p) { return p.v6 ? p.bytes[0] == 0xff : (p.bytes[0] & 0xf0) == 0xe0; }
bool global_unicast(const IpBody& p) {
  bool broadcast =
      !p.v6 && p.bytes[0] == 255 && p.bytes[1] == 255 && p.bytes[2] == 255 && p.bytes[3] == 255;
  return !broadcast && !unspecified(p) && !loopback(p) && !multicast(p) && !link_local_unicast(p);
}

template <bool (*predicate)(const IpBody&)>
Value test(Context&, Arguments a) {
  return a[0].kind == Kind::kIp ? Value::of_bool(predicate(*a[0].ip)) : no_such_overload();
}

Value cidr(Context& context, Arguments a) {
  if (a[0].kind != Kind::kString) return no_such_overload();
  CidrBody body;
  if (parse_cidr(a[0].str(), &body)) return wrap(context, body);
  static constexpr std::string_view kWhere =
      "network address parse error during conversion from string: ";
  std::string_view why =
      a[0].str().find('/') == std::string_view::npos ? "no '/'" : "prefix length out of range";
  return make_error(context.arena, std::string(kWhere) + std::string(kWhere) +
                                       "netip.ParsePrefix(\"" + std::string(a[0].str()) +
                                       "\"): " + std::string(why));
}
Value is_cidr(Context&, Arguments a) {
  CidrBody body;
  if (a[0].kind != Kind::kString) return no_such_overload();
  return Value::of_bool(parse_cidr(a[0].str(), &body));
}

bool contains(const CidrBody& net, const IpBody& address) {
  return net.ip.v6 == address.v6 &&
         same_ip(masked_ip(address, net.prefix), masked_ip(net.ip, net.prefix));
}

Value contains_ip(Context& context, Arguments a) {
  if (a[0].kind != Kind::kCidr) return no_such_overload();
  Value other = a[1].kind == Kind::kString ? ip(context, a.subspan(1)) : a[1];
  if (other.is_error()) return no_such_overload();
  return other.kind == Kind::kIp ? Value::of_bool(contains(*a[0].cidr, *other.ip))
                                 : no_such_overload();
}
Value contains_cidr(Context& context, Arguments a) {
  if (a[0].kind != Kind::kCidr) return no_such_overload();
  Value other = a[1].kind == Kind::kString ? cidr(context, a.subspan(1)) : a[1];
  if (other.is_error()) return other;
  if (other.kind != Kind::kCidr) return no_such_overload();
  return Value::of_bool(contains(*a[0].cidr, other.cidr->ip) &&
                        other.cidr->prefix >= a[0].cidr->prefix);
}
Value prefix_length(Context&, Arguments a) {
  return a[0].kind == Kind::kCidr ? Value::of_int(a[0].cidr->prefix) : no_such_overload();
}
Value masked(Context& context, Arguments a) {
  if (a[0].kind != Kind::kCidr) return no_such_overload();
  return wrap(context, CidrBody{masked_ip(a[0].cidr->ip, a[0].cidr->prefix), a[0].cidr->prefix});
}

constexpr Function kFunctions[] = {
    {"ip", false, 1, 1, ip, "s:P"},
    {"ip", true, 1, 1, ip, "C:P"},
    {"isIP", false, 1, 1, is_ip, "s:b"},
    {"ip.isCanonical", false, 1, 1, is_canonical, "s:b"},
    {"family", true, 1, 1, family, "P:i"},
    {"isUnspecified", true, 1, 1, test<unspecified>, "P:b"},
    {"isLoopback", true, 1, 1, test<loopback>, "P:b"},
    {"isLinkLocalMulticast", true, 1, 1, test<link_local_multicast>, "P:b"},
    {"isLinkLocalUnicast", true, 1, 1, test<link_local_unicast>, "P:b"},
    {"isGlobalUnicast", true, 1, 1, test<global_unicast>, "P:b"},
    {"cidr", false, 1, 1, cidr, "s:C"},
    {"isCIDR", false, 1, 1, is_cidr, "s:b"},
    {"containsIP", true, 2, 2, contains_ip, "C,P:b|C,s:b"},
    {"containsCIDR", true, 2, 2, contains_cidr, "C,C:b|C,s:b"},
    {"prefixLength", true, 1, 1, prefix_length, "C:i"},
    {"masked", true, 1, 1, masked, "C:C"},
};

}  // namespace

std::span<const Function> net_functions() { return kFunctions; }

bool equal_bodies(const Value& a, const Value& b) {
  switch (a.kind) {
    case Kind::kQuantity:
      return a.quantity->quantity == b.quantity->quantity;
    case Kind::kIp:
      return same_ip(*a.ip, *b.ip);
    case Kind::kCidr:
      return same_ip(a.cidr->ip, b.cidr->ip) && a.cidr->prefix == b.cidr->prefix;
    case Kind::kUrl:
      return body_text(a) == body_text(b);
    case Kind::kSemver:
      return a.semver->major == b.semver->major && a.semver->minor == b.semver->minor &&
             a.semver->patch == b.semver->patch && a.semver->prerelease == b.semver->prerelease;
    case Kind::kFormat:
      return a.format->name == b.format->name;
    default:
      return false;
  }
}

namespace {

std::string semver_text(const SemverBody& v) {
  std::string out =
      std::to_string(v.major) + '.' + std::to_string(v.minor) + '.' + std::to_string(v.patch);
  for (size_t i = 0; i < v.prerelease.size(); ++i) out += (i == 0 ? '-' : '.') + v.prerelease[i];
  if (!v.build.empty()) out += '+' + v.build;
  return out;
}

}  // namespace

std::string body_text(const Value& value) {
  switch (value.kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return value.boolean ? "true" : "false";
    case Kind::kInt:
      return std::to_string(value.integer);
    case Kind::kUint:
      return std::to_string(value.unsigned_);
    case Kind::kDouble:
      return format_double(value.real);
    case Kind::kTimestamp:
      return format_timestamp(value.time.seconds, value.time.nanos, value.time.offset);
    case Kind::kDuration:
      return format_cel_duration(value.integer);
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kType:
    case Kind::kError:
      return std::string(value.str());
    case Kind::kQuantity:
      return value.quantity->quantity.to_string();
    case Kind::kIp:
      return ip_text(*value.ip);
    case Kind::kCidr:
      return ip_text(value.cidr->ip) + '/' + std::to_string(value.cidr->prefix);
    case Kind::kUrl: {
      const UrlBody& u = *value.url;
      std::string out = u.scheme.empty() ? u.path : u.scheme + "://" + u.host + u.path;
      return u.raw_query.empty() ? out : out + '?' + u.raw_query;
    }
    case Kind::kSemver:
      return semver_text(*value.semver);
    case Kind::kFormat:
      return std::string(value.format->name);
    case Kind::kList:
    case Kind::kMap:
    case Kind::kOptional:
      break;
  }
  return std::string(type_name(value));
}

}  // namespace kueue::cel
