// Kubernetes' semver library: versions of Semantic Versioning 2.0.0.
#include <charconv>

#include "cel/bodies.h"
#include "cel/functions.h"
#include "cel/semver.h"

namespace kueue::cel {
namespace {

bool digits_only(std::string_view t) {
  return !t.empty() && t.find_first_not_of("0123456789") == std::string_view::npos;
}

// Without leading zeros.
bool number(std::string_view t, uint64_t* out) {
  if (!digits_only(t) || (t.size() > 1 && t[0] == '0')) return false;
  auto r = std::from_chars(t.data(), t.data() + t.size(), *out);
  return r.ec == std::errc();
}

bool identifiers(std::string_view t, bool numbers_strict, std::vector<std::string>* out) {
  while (true) {
    size_t dot = t.find('.');
    std::string_view one = t.substr(0, dot);
    if (one.empty() ||
        one.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") !=
            std::string_view::npos)
      return false;
    if (numbers_strict && digits_only(one) && one.size() > 1 && one[0] == '0') return false;
    out->emplace_back(one);
    if (dot == std::string_view::npos) return true;
    t.remove_prefix(dot + 1);
  }
}

// The tolerant form: "v1.2" is "1.2.0", leading zeros are dropped.
std::string normalized(std::string_view t) {
  if (t.starts_with('v')) t.remove_prefix(1);
  size_t end = t.find_first_of("-+");
  std::string_view core = t.substr(0, end);
  std::string out;
  int parts = 0;
  while (true) {
    size_t dot = core.find('.');
    std::string_view one = core.substr(0, dot);
    while (one.size() > 1 && one[0] == '0') one.remove_prefix(1);
    out += (parts++ > 0 ? "." : "") + std::string(one);
    if (dot == std::string_view::npos) break;
    core.remove_prefix(dot + 1);
  }
  while (parts++ < 3) out += ".0";
  if (end != std::string_view::npos) out += t.substr(end);
  return out;
}

Value semver(Context& context, Arguments a) {
  if (a[0].kind != Kind::kString || (a.size() == 2 && a[1].kind != Kind::kBool))
    return no_such_overload();
  std::string text(a[0].str());
  if (a.size() == 2 && a[1].boolean) text = normalized(text);
  SemverBody body;
  if (!parse_semver(text, &body)) return Value::error("No Major.Minor.Patch elements found");
  Value v;
  v.kind = Kind::kSemver;
  v.semver = context.arena.make<SemverBody>(std::move(body));
  return v;
}

Value is_semver(Context&, Arguments a) {
  if (a[0].kind != Kind::kString || (a.size() == 2 && a[1].kind != Kind::kBool))
    return no_such_overload();
  std::string text(a[0].str());
  if (a.size() == 2 && a[1].boolean) text = normalized(text);
  SemverBody body;
  return Value::of_bool(parse_semver(text, &body));
}

template <uint64_t SemverBody::* part>
Value number_of(Context&, Arguments a) {
  return a[0].kind == Kind::kSemver ? Value::of_int(static_cast<int64_t>(a[0].semver->*part))
                                    : no_such_overload();
}

constexpr Function kFunctions[] = {
    {"semver", false, 1, 2, semver, "s:V|s,b:V"},
    {"isSemver", false, 1, 2, is_semver, "s:b|s,b:b"},
    {"major", true, 1, 1, number_of<&SemverBody::major>, "V:i"},
    {"minor", true, 1, 1, number_of<&SemverBody::minor>, "V:i"},
    {"patch", true, 1, 1, number_of<&SemverBody::patch>, "V:i"},
};

int order(uint64_t a, uint64_t b) { return a < b ? -1 : a > b ? 1 : 0; }

// Numbers below texts, numbers by value, texts by bytes.
int compare_identifiers(const std::string& a, const std::string& b) {
  bool na = digits_only(a), nb = digits_only(b);
  if (na != nb) return na ? -1 : 1;
  if (na && a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  int c = a.compare(b);
  return c < 0 ? -1 : c > 0 ? 1 : 0;
}

}  // namespace

std::span<const Function> semver_functions() { return kFunctions; }

bool parse_semver(std::string_view text, SemverBody* out) {
  size_t plus = text.find('+');
  if (plus != std::string_view::npos) {
    std::vector<std::string> parts;
    if (!identifiers(text.substr(plus + 1), false, &parts)) return false;
    out->build = std::string(text.substr(plus + 1));
    text = text.substr(0, plus);
  }
  size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    if (!identifiers(text.substr(dash + 1), true, &out->prerelease)) return false;
    text = text.substr(0, dash);
  }
  size_t first = text.find('.');
  if (first == std::string_view::npos) return false;
  size_t second = text.find('.', first + 1);
  if (second == std::string_view::npos) return false;
  return number(text.substr(0, first), &out->major) &&
         number(text.substr(first + 1, second - first - 1), &out->minor) &&
         number(text.substr(second + 1), &out->patch);
}

int compare_semver(const SemverBody& a, const SemverBody& b) {
  if (int c = order(a.major, b.major)) return c;
  if (int c = order(a.minor, b.minor)) return c;
  if (int c = order(a.patch, b.patch)) return c;
  if (a.prerelease.empty() != b.prerelease.empty()) return a.prerelease.empty() ? 1 : -1;
  for (size_t i = 0; i < a.prerelease.size() && i < b.prerelease.size(); ++i)
    if (int c = compare_identifiers(a.prerelease[i], b.prerelease[i])) return c;
  return order(a.prerelease.size(), b.prerelease.size());
}

}  // namespace kueue::cel
