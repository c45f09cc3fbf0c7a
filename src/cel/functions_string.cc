// The strings extension and Kubernetes' regex library. Positions count code points.
#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cel/bodies.h"
#include "cel/format_text.h"
#include "cel/functions.h"

namespace kueue::cel {
namespace {

// Byte offsets of the code points of a text, and its end.
class Runes {
 public:
  explicit Runes(std::string_view text) : text_(text) {
    for (size_t i = 0; i < text.size(); ++i)
      if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) starts_.push_back(i);
    starts_.push_back(text.size());
  }
  size_t size() const { return starts_.size() - 1; }
  std::string_view slice(size_t from, size_t to) const {
    return text_.substr(starts_[from], starts_[to] - starts_[from]);
  }
  std::string_view from(size_t i) const { return text_.substr(starts_[i]); }
  size_t byte(size_t i) const { return starts_[i]; }
  // Position of the code point at a byte offset.
  size_t at_byte(size_t offset) const {
    return static_cast<size_t>(std::lower_bound(starts_.begin(), starts_.end(), offset) -
                               starts_.begin());
  }

 private:
  std::string_view text_;
  std::vector<size_t> starts_;
};

Value out_of_range(Context& context, int64_t i) {
  return make_error(context.arena, "index out of range: " + std::to_string(i));
}

bool text(const Value& v) { return v.kind == Kind::kString; }

Value char_at(Context& context, Arguments a) {
  int64_t i = 0;
  if (!text(a[0]) || !int_argument(a[1], &i)) return no_such_overload();
  Runes runes(a[0].str());
  if (i < 0 || static_cast<size_t>(i) > runes.size()) return out_of_range(context, i);
  auto at = static_cast<size_t>(i);
  return Value::of_string(at == runes.size() ? std::string_view() : runes.slice(at, at + 1));
}

// indexOf and lastIndexOf of lists.
Value list_index(Context& context, Arguments a, bool last) {
  if (a.size() != 2) return no_such_overload();
  size_t n = container_size(a[0]);
  if (!context.charge(n)) return Context::limit_error();
  for (size_t k = 0; k < n; ++k) {
    size_t i = last ? n - 1 - k : k;
    if (is_equal(list_item(a[0], i, context.arena), a[1], context.arena))
      return Value::of_int(static_cast<int64_t>(i));
  }
  return Value::of_int(-1);
}

Value index_of(Context& context, Arguments a) {
  if (a[0].kind == Kind::kList) return list_index(context, a, false);
  int64_t offset = 0;
  if (!text(a[0]) || !text(a[1]) || (a.size() == 3 && !int_argument(a[2], &offset)))
    return no_such_overload();
  Runes runes(a[0].str());
  if (a[1].text.size == 0 && a.size() == 2) return Value::of_int(0);
  if (offset < 0) return out_of_range(context, offset);
  if (static_cast<size_t>(offset) > runes.size()) return Value::of_int(-1);
  size_t start = runes.byte(static_cast<size_t>(offset));
  size_t found = a[0].str().find(a[1].str(), start);
  if (found == std::string_view::npos) return Value::of_int(-1);
  return Value::of_int(static_cast<int64_t>(runes.at_byte(found)));
}

Value last_index_of(Context& context, Arguments a) {
  if (a[0].kind == Kind::kList) return list_index(context, a, true);
  if (!text(a[0]) || !text(a[1])) return no_such_overload();
  Runes runes(a[0].str());
  auto offset = static_cast<int64_t>(runes.size());
  if (a.size() == 3) {
    if (!int_argument(a[2], &offset)) return no_such_overload();
    if (offset < 0) return out_of_range(context, offset);
    if (static_cast<size_t>(offset) > runes.size()) return Value::of_int(-1);
  }
  size_t found = a[0].str().rfind(a[1].str(), runes.byte(static_cast<size_t>(offset)));
  if (found == std::string_view::npos) return Value::of_int(-1);
  return Value::of_int(static_cast<int64_t>(runes.at_byte(found)));
}

template <char first, char last>
Value change_case(Context& context, Arguments a) {
  if (!text(a[0])) return no_such_overload();
  std::string out(a[0].str());
  for (char& c : out)
    if (c >= first && c <= last) c = static_cast<char>(c ^ 0x20);
  return string_value(context, out);
}

Value replace(Context& context, Arguments a) {
  int64_t limit = -1;
  if (!text(a[0]) || !text(a[1]) || !text(a[2]) || (a.size() == 4 && !int_argument(a[3], &limit)))
    return no_such_overload();
  std::string_view from = a[0].str(), old = a[1].str(), with = a[2].str();
  std::string out;
  int64_t done = 0;
  size_t at = 0;
  while (limit < 0 || done < limit) {
    if (!context.charge(1 + with.size() / 10)) return Context::limit_error();
    size_t hit = old.empty() ? at : from.find(old, at);
    if (hit == std::string_view::npos) break;
    out += from.substr(at, hit - at);
    out += with;
    ++done;
    at = hit + old.size();
    if (!old.empty()) continue;
    // An empty text stands before each code point and at the end.
    if (at >= from.size()) break;
    do out += from[at++];
    while (at < from.size() && (static_cast<unsigned char>(from[at]) & 0xc0) == 0x80);
  }
  if (at < from.size()) out += from.substr(at);
  return string_value(context, out);
}

Value split(Context& context, Arguments a) {
  int64_t limit = -1;
  if (!text(a[0]) || !text(a[1]) || (a.size() == 3 && !int_argument(a[2], &limit)))
    return no_such_overload();
  std::string_view rest = a[0].str(), separator = a[1].str();
  std::vector<Value> parts;
  if (limit != 0) {
    while (limit < 0 || static_cast<int64_t>(parts.size()) + 1 < limit) {
      if (!context.charge(1)) return Context::limit_error();
      size_t hit = rest.find(separator);
      if (separator.empty()) {
        hit = 1;
        while (hit < rest.size() && (static_cast<unsigned char>(rest[hit]) & 0xc0) == 0x80) ++hit;
        if (hit >= rest.size()) break;
      }
      if (hit == std::string_view::npos) break;
      parts.push_back(Value::of_string(rest.substr(0, hit)));
      rest.remove_prefix(hit + separator.size());
    }
    if (!separator.empty() || !rest.empty()) parts.push_back(Value::of_string(rest));
  }
  Value* items = context.arena.array<Value>(parts.size());
  std::copy(parts.begin(), parts.end(), items);
  return Value::of_list({items, parts.size()});
}

Value join(Context& context, Arguments a) {
  if (a[0].kind != Kind::kList || (a.size() == 2 && !text(a[1]))) return no_such_overload();
  std::string out;
  size_t n = container_size(a[0]);
  for (size_t i = 0; i < n; ++i) {
    Value item = list_item(a[0], i, context.arena);
    if (!text(item)) return no_such_overload();
    if (i > 0 && a.size() == 2) out += a[1].str();
    out += item.str();
    if (!context.charge(1 + item.text.size / 10 + (a.size() == 2 ? a[1].text.size / 10 : 0)))
      return Context::limit_error();
  }
  return string_value(context, out);
}

Value substring(Context& context, Arguments a) {
  int64_t from = 0, to = 0;
  if (!text(a[0]) || !int_argument(a[1], &from) || (a.size() == 3 && !int_argument(a[2], &to)))
    return no_such_overload();
  Runes runes(a[0].str());
  auto size = static_cast<int64_t>(runes.size());
  if (a.size() == 2) to = size;
  if (from < 0 || from > size) return out_of_range(context, from);
  if (to < 0 || to > size) return out_of_range(context, to);
  if (from > to)
    return make_error(context.arena, "invalid substring range. start: " + std::to_string(from) +
                                         ", end: " + std::to_string(to));
  return Value::of_string(runes.slice(static_cast<size_t>(from), static_cast<size_t>(to)));
}

bool white(std::string_view rune) {
  static constexpr std::string_view kWhite[] = {
      "\t",           "\n",          "\v",           "\f",           "\r",           " ",
      "\xc2\x85",     "\xc2\xa0",    "\xe1\x9a\x80", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf",
      "\xe2\x81\x9f", "\xe3\x80\x80"};
  if (std::find(std::begin(kWhite), std::end(kWhite), rune) != std::end(kWhite)) return true;
  return rune.size() == 3 && rune.starts_with("\xe2\x80") &&
         static_cast<unsigned char>(rune[2]) <= 0x8a;
}

Value trim(Context&, Arguments a) {
  if (!text(a[0])) return no_such_overload();
  Runes runes(a[0].str());
  size_t from = 0, to = runes.size();
  while (from < to && white(runes.slice(from, from + 1))) ++from;
  while (to > from && white(runes.slice(to - 1, to))) --to;
  return Value::of_string(runes.slice(from, to));
}

Value quote(Context& context, Arguments a) {
  if (!text(a[0])) return no_such_overload();
  std::string out = "\"";
  for (char c : a[0].str()) {
    static constexpr std::string_view kFrom = "\a\b\f\n\r\t\v\\\"", kTo = "abfnrtv\\\"";
    size_t i = kFrom.find(c);
    if (i == std::string_view::npos) {
      out += c;
    } else {
      out += '\\';
      out += kTo[i];
    }
  }
  return string_value(context, out + '"');
}

Value format(Context& context, Arguments a) {
  if (!text(a[0]) || a[1].kind != Kind::kList) return no_such_overload();
  return format_text(context, a[0].str(), a[1]);
}

// The compiled pattern of a call: the checker's where the pattern is a constant. nullptr: *failure
// is set.
const re2::RE2* pattern(Context& context, const Value& source, std::unique_ptr<re2::RE2>* owned,
                        Value* failure) {
  if (context.regex != nullptr) return context.regex;
  if (!context.charge(source.text.size / 4 + 1)) {
    *failure = Context::limit_error();
    return nullptr;
  }
  re2::RE2::Options options;
  options.set_log_errors(false);
  *owned =
      std::make_unique<re2::RE2>(re2::StringPiece(source.text.data, source.text.size), options);
  if ((*owned)->ok()) return owned->get();
  *failure = make_error(context.arena, regex_error(**owned));
  return nullptr;
}

re2::StringPiece piece(std::string_view t) { return {t.data(), t.size()}; }

Value matches(Context& context, Arguments a) {
  if (!text(a[0]) || !text(a[1])) return no_such_overload();
  std::unique_ptr<re2::RE2> owned;
  Value failure;
  const re2::RE2* regex = pattern(context, a[1], &owned, &failure);
  if (regex == nullptr) return failure;
  return Value::of_bool(re2::RE2::PartialMatch(piece(a[0].str()), *regex));
}

Value find(Context& context, Arguments a) {
  if (!text(a[0]) || !text(a[1])) return no_such_overload();
  std::unique_ptr<re2::RE2> owned;
  Value failure;
  const re2::RE2* regex = pattern(context, a[1], &owned, &failure);
  if (regex == nullptr) return failure;
  re2::StringPiece found;
  re2::StringPiece in = piece(a[0].str());
  if (!regex->Match(in, 0, in.size(), re2::RE2::UNANCHORED, &found, 1)) return Value::of_string({});
  return Value::of_string({found.data(), found.size()});
}

Value find_all(Context& context, Arguments a) {
  int64_t limit = -1;
  if (!text(a[0]) || !text(a[1]) || (a.size() == 3 && !int_argument(a[2], &limit)))
    return no_such_overload();
  std::unique_ptr<re2::RE2> owned;
  Value failure;
  const re2::RE2* regex = pattern(context, a[1], &owned, &failure);
  if (regex == nullptr) return failure;
  std::vector<Value> hits;
  re2::StringPiece in = piece(a[0].str());
  size_t at = 0;
  while (at <= in.size() && (limit < 0 || static_cast<int64_t>(hits.size()) < limit)) {
    re2::StringPiece found;
    if (!context.charge(1)) return Context::limit_error();
    if (!regex->Match(in, at, in.size(), re2::RE2::UNANCHORED, &found, 1)) break;
    hits.push_back(Value::of_string({found.data(), found.size()}));
    auto end = static_cast<size_t>(found.data() - in.data()) + found.size();
    at = found.empty() ? end + 1 : end;
  }
  Value* items = context.arena.array<Value>(hits.size());
  std::copy(hits.begin(), hits.end(), items);
  return Value::of_list({items, hits.size()});
}

constexpr Function kFunctions[] = {
    {"charAt", true, 2, 2, char_at, "s,i:s"},
    {"indexOf", true, 2, 3, index_of, "s,s:i|s,s,i:i|[A],A:i"},
    {"lastIndexOf", true, 2, 3, last_index_of, "s,s:i|s,s,i:i|[A],A:i"},
    {"lowerAscii", true, 1, 1, change_case<'A', 'Z'>, "s:s"},
    {"upperAscii", true, 1, 1, change_case<'a', 'z'>, "s:s"},
    {"replace", true, 3, 4, replace, "s,s,s:s|s,s,s,i:s"},
    {"split", true, 2, 3, split, "s,s:[s]|s,s,i:[s]"},
    {"join", true, 1, 2, join, "[s]:s|[s],s:s"},
    {"substring", true, 2, 3, substring, "s,i:s|s,i,i:s"},
    {"trim", true, 1, 1, trim, "s:s"},
    {"format", true, 2, 2, format, "s,[d]:s"},
    {"strings.quote", false, 1, 1, quote, "s:s"},
    {"matches", true, 2, 2, matches, "s,s:b"},
    {"matches", false, 2, 2, matches, "s,s:b"},
    {"find", true, 2, 2, find, "s,s:s"},
    {"findAll", true, 2, 3, find_all, "s,s:[s]|s,s,i:[s]"},
};

}  // namespace

std::span<const Function> string_functions() { return kFunctions; }

std::string regex_error(const re2::RE2& regex) {
  struct Text {
    re2::RE2::ErrorCode code;
    std::string_view text;
  };
  static constexpr Text kTexts[] = {
      {re2::RE2::ErrorBadEscape, "invalid escape sequence"},
      {re2::RE2::ErrorBadCharClass, "invalid character class range"},
      {re2::RE2::ErrorBadCharRange, "invalid character class range"},
      {re2::RE2::ErrorMissingBracket, "missing closing ]"},
      {re2::RE2::ErrorMissingParen, "missing closing )"},
      {re2::RE2::ErrorUnexpectedParen, "unexpected )"},
      {re2::RE2::ErrorTrailingBackslash, "trailing backslash at end of expression"},
      {re2::RE2::ErrorRepeatArgument, "missing argument to repetition operator"},
      {re2::RE2::ErrorRepeatSize, "invalid repeat count"},
      {re2::RE2::ErrorRepeatOp, "invalid nested repetition operator"},
      {re2::RE2::ErrorBadPerlOp, "invalid or unsupported Perl syntax"},
      {re2::RE2::ErrorBadUTF8, "invalid UTF-8"},
      {re2::RE2::ErrorBadNamedCapture, "invalid named capture"},
  };
  std::string_view what = "internal error";
  for (const Text& t : kTexts)
    if (t.code == regex.error_code()) what = t.text;
  return "error parsing regexp: " + std::string(what) + ": `" + regex.error_arg() + "`";
}

}  // namespace kueue::cel
