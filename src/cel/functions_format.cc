// Kubernetes' format library: named formats with their problems as texts.
#include "base/names.h"
#include "cel/bodies.h"
#include "cel/functions.h"
#include "cel/time.h"
#include "cel/url.h"

namespace kueue::cel {
namespace {

using Problems = std::vector<std::string>;

template <Problems (*check)(std::string_view)>
void run(std::string_view text, Problems* out) {
  *out = check(text);
}

// A prefix of a name may end in '-', as generateName does.
template <Problems (*check)(std::string_view)>
void run_prefix(std::string_view text, Problems* out) {
  std::string filled(text);
  if (filled.size() > 1 && filled.ends_with('-')) filled.back() = 'a';
  *out = check(filled);
}

void uri(std::string_view text, Problems* out) {
  UrlBody body;
  if (!parse_url(text, &body))
    out->push_back("parse \"" + std::string(text) + "\": invalid URI for request");
}

void uuid(std::string_view text, Problems* out) {
  bool ok = text.size() == 36;
  for (size_t i = 0; ok && i < text.size(); ++i) {
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    char c = static_cast<char>(text[i] | 0x20);
    ok = dash ? text[i] == '-' : ((text[i] >= '0' && text[i] <= '9') || (c >= 'a' && c <= 'f'));
  }
  if (!ok) out->emplace_back("does not match the UUID format");
}

void byte(std::string_view text, Problems* out) {
  bool ok = text.size() % 4 == 0;
  size_t padding = 0;
  for (char c : text) {
    bool digit = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                 c == '+' || c == '/';
    if (c == '=') ++padding;
    ok = ok && (digit ? padding == 0 : c == '=');
  }
  if (!ok || padding > 2) out->emplace_back("invalid base64");
}

void date(std::string_view text, Problems* out) {
  Value::Seconds t{};
  if (!parse_timestamp(std::string(text) + "T00:00:00Z", &t)) out->emplace_back("invalid date");
}

void date_time(std::string_view text, Problems* out) {
  Value::Seconds t{};
  if (!parse_timestamp(text, &t)) out->emplace_back("invalid datetime");
}

constexpr FormatBody kFormats[] = {
    {"dns1123Label", run<dns1123_label_problems>},
    {"dns1123Subdomain", run<dns1123_subdomain_problems>},
    {"dns1035Label", run<dns1035_label_problems>},
    {"qualifiedName", run<qualified_name_problems>},
    {"dns1123LabelPrefix", run_prefix<dns1123_label_problems>},
    {"dns1123SubdomainPrefix", run_prefix<dns1123_subdomain_problems>},
    {"dns1035LabelPrefix", run_prefix<dns1035_label_problems>},
    {"labelValue", run<label_value_problems>},
    {"uri", uri},
    {"uuid", uuid},
    {"byte", byte},
    {"date", date},
    {"datetime", date_time},
};

Value wrap(const FormatBody& body) {
  Value v;
  v.kind = Kind::kFormat;
  v.format = &body;
  return v;
}

template <size_t i>
Value format(Context&, Arguments) {
  return wrap(kFormats[i]);
}

Value named(Context& context, Arguments a) {
  if (a[0].kind != Kind::kString) return no_such_overload();
  for (const FormatBody& body : kFormats)
    if (body.name == a[0].str()) return Value::of_optional(context.arena.make<Value>(wrap(body)));
  return Value::of_optional(nullptr);
}

Value validate(Context& context, Arguments a) {
  if (a[0].kind != Kind::kFormat || a[1].kind != Kind::kString) return no_such_overload();
  Problems problems;
  a[0].format->validate(a[1].str(), &problems);
  if (problems.empty()) return Value::of_optional(nullptr);
  Value* items = context.arena.array<Value>(problems.size());
  for (size_t i = 0; i < problems.size(); ++i) items[i] = string_value(context, problems[i]);
  return Value::of_optional(context.arena.make<Value>(Value::of_list({items, problems.size()})));
}

constexpr Function kFunctions[] = {
    {"format.dns1123Label", false, 0, 0, format<0>, ":F"},
    {"format.dns1123Subdomain", false, 0, 0, format<1>, ":F"},
    {"format.dns1035Label", false, 0, 0, format<2>, ":F"},
    {"format.qualifiedName", false, 0, 0, format<3>, ":F"},
    {"format.dns1123LabelPrefix", false, 0, 0, format<4>, ":F"},
    {"format.dns1123SubdomainPrefix", false, 0, 0, format<5>, ":F"},
    {"format.dns1035LabelPrefix", false, 0, 0, format<6>, ":F"},
    {"format.labelValue", false, 0, 0, format<7>, ":F"},
    {"format.uri", false, 0, 0, format<8>, ":F"},
    {"format.uuid", false, 0, 0, format<9>, ":F"},
    {"format.byte", false, 0, 0, format<10>, ":F"},
    {"format.date", false, 0, 0, format<11>, ":F"},
    {"format.datetime", false, 0, 0, format<12>, ":F"},
    {"format.named", false, 1, 1, named, "s:?F"},
    {"validate", true, 2, 2, validate, "F,s:?[s]"},
};

}  // namespace

std::span<const Function> format_functions() { return kFunctions; }

}  // namespace kueue::cel
