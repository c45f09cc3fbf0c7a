// JSON text to Value and back. The parser is a recursive descent over the bytes: it fills two
// scratch stacks and moves each finished container out with its exact size, so that stored
// documents hold no slack.
#include "json/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "json/utf8.h"

namespace kueue::json {
namespace {

// What a byte means inside a string: 0 plain, 1 ends a plain run and is legal, 2 control character,
// 3 non-ASCII.
constexpr std::array<uint8_t, 256> make_string_classes() {
  std::array<uint8_t, 256> classes{};
  for (size_t i = 0; i < 256; ++i) classes[i] = i < 0x20 ? 2 : i >= 0x80 ? 3 : 0;
  classes['"'] = classes['\\'] = 1;
  return classes;
}
constexpr size_t kMaxDuplicatesTold = 100;
constexpr std::array<uint8_t, 256> kStringClass = make_string_classes();

// Past the bytes that stand in a string as they are: eight at a time, then one by one.
const char* past_plain(const char* at, const char* end) {
  constexpr uint64_t kEach = 0x0101010101010101, kHigh = 0x80 * kEach;
  const auto with_zero = [](uint64_t word) { return (word - kEach) & ~word; };
  while (end - at >= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    const uint64_t below_space = (word - 0x20 * kEach) & ~word;
    // A byte after one that is found may be taken for another: then the loop below looks.
    if (((word | below_space | with_zero(word ^ ('"' * kEach)) | with_zero(word ^ ('\\' * kEach))) &
         kHigh) != 0)
      break;
    at += 8;
  }
  while (at < end && kStringClass[static_cast<uint8_t>(*at)] == 0) ++at;
  return at;
}

void append_utf8(std::string& out, uint32_t c) {
  auto put = [&](uint32_t b) { out.push_back(static_cast<char>(b)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6));
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3F));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

class Parser {
 public:
  Parser(std::string_view text, const ParseOptions& options)
      : start_(text.data()), at_(start_), end_(start_ + text.size()), options_(options) {}

  Result<Value> run() {
    Value value;
    if (!parse_value(value, nullptr, 0)) return take_error();
    skip_space();
    if (at_ != end_) {
      fail(unexpected("after top-level value"));
      return take_error();
    }
    return value;
  }

 private:
  // Where a container stands in the document, for the paths of duplicate keys.
  struct Frame {
    const Frame* parent = nullptr;
    size_t base = 0;  // first of its members or items on the stack
    bool object = false;
  };

  bool fail(std::string message) {
    if (error_.empty()) {
      error_ = std::move(message);
      error_at_ = at_;
    }
    return false;
  }

  Error take_error() const {
    size_t line = 1;
    const char* line_start = start_;
    for (const char* p = start_; p < error_at_; ++p) {
      if (*p == '\n') {
        ++line;
        line_start = p + 1;
      }
    }
    return make_error(ErrorCode::kBadRequest, "line " + std::to_string(line) + ", column " +
                                                  std::to_string(error_at_ - line_start + 1) +
                                                  ": " + error_);
  }

  std::string unexpected(const char* context) const {
    if (at_ >= end_) return "unexpected end of JSON input";
    auto c = static_cast<uint8_t>(*at_);
    char shown[8];
    if (c >= 0x20 && c < 0x7F && c != '\'') {
      std::snprintf(shown, sizeof shown, "'%c'", *at_);
    } else {
      std::snprintf(shown, sizeof shown, "'\\x%02x'", c);
    }
    return std::string("invalid character ") + (c == '\'' ? "'\\''" : shown) + " " + context;
  }

  void skip_space() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }

  bool parse_value(Value& out, const Frame* parent, size_t depth) {
    skip_space();
    if (at_ == end_) return fail("unexpected end of JSON input");
    switch (*at_) {
      case '{':
        return parse_object(out, parent, depth);
      case '[':
        return parse_array(out, parent, depth);
      case '"': {
        out = Value(std::string());
        return parse_string(out.as_string());
      }
      case 't':
        return parse_word("true", Value(true), out);
      case 'f':
        return parse_word("false", Value(false), out);
      case 'n':
        return parse_word("null", Value(), out);
      default:
        return parse_number(out);
    }
  }

  bool parse_word(std::string_view word, Value value, Value& out) {
    for (char c : word) {
      if (at_ == end_ || *at_ != c) {
        std::string context = "in literal " + std::string(word);
        return fail(unexpected(context.c_str()));
      }
      ++at_;
    }
    out = std::move(value);
    return true;
  }

  bool enter(size_t depth) {
    if (depth < options_.max_depth) return true;
    return fail("exceeded max depth of " + std::to_string(options_.max_depth));
  }

  bool parse_array(Value& out, const Frame* parent, size_t depth) {
    if (!enter(depth)) return false;
    ++at_;
    Frame frame{parent, items_.size(), false};
    skip_space();
    if (at_ < end_ && *at_ == ']') {
      ++at_;
      out = Value(Array());
      return true;
    }
    for (;;) {
      Value item;
      if (!parse_value(item, &frame, depth + 1)) return false;
      items_.push_back(std::move(item));
      skip_space();
      if (at_ < end_ && *at_ == ',') {
        ++at_;
        continue;
      }
      if (at_ < end_ && *at_ == ']') break;
      return fail(unexpected("after array element"));
    }
    ++at_;
    auto first = items_.begin() + static_cast<std::ptrdiff_t>(frame.base);
    out = Value(Array(std::make_move_iterator(first), std::make_move_iterator(items_.end())));
    items_.erase(first, items_.end());
    return true;
  }

  bool parse_object(Value& out, const Frame* parent, size_t depth) {
    if (!enter(depth)) return false;
    ++at_;
    Frame frame{parent, members_.size(), true};
    skip_space();
    if (at_ < end_ && *at_ == '}') {
      ++at_;
      out = Value(Object());
      return true;
    }
    bool ascending = true;  // strictly: then no key comes twice
    for (;;) {
      skip_space();
      if (at_ == end_ || *at_ != '"') {
        return fail(unexpected("looking for beginning of object key string"));
      }
      const char* key_at = at_;
      members_.emplace_back();
      key_at_.push_back(key_at);
      size_t mine = members_.size() - 1;
      if (!parse_string(members_[mine].first)) return false;
      if (mine > frame.base && members_[mine].first <= members_[mine - 1].first) ascending = false;
      skip_space();
      if (at_ == end_ || *at_ != ':') return fail(unexpected("after object key"));
      ++at_;
      skip_space();
      if (is_skipped(frame, members_[mine].first)) {
        if (options_.skipped_items ? !pass_over_items() : !pass_over()) return false;
        members_.pop_back();
        key_at_.pop_back();
      } else if (at_ < end_ && (*at_ == '{' || *at_ == '[')) {
        // What is inside goes through the same stack, which may move.
        Value value;
        if (!parse_value(value, &frame, depth + 1)) return false;
        members_[mine].second = std::move(value);
      } else if (!parse_value(members_[mine].second, &frame, depth + 1)) {
        return false;
      }
      skip_space();
      if (at_ < end_ && *at_ == ',') {
        ++at_;
        continue;
      }
      if (at_ < end_ && *at_ == '}') break;
      return fail(unexpected("after object key:value pair"));
    }
    ++at_;
    if (!ascending && has_duplicates(frame) && !merge_duplicates(frame)) return false;
    auto first = members_.begin() + static_cast<std::ptrdiff_t>(frame.base);
    std::vector<Object::Member> members(std::make_move_iterator(first),
                                        std::make_move_iterator(members_.end()));
    members_.erase(first, members_.end());
    key_at_.resize(frame.base);
    out = Value(Object::from_members(std::move(members)));
    return true;
  }

  bool is_skipped(const Frame& frame, const std::string& key) const {
    return !options_.skipped.empty() && key == options_.skipped && at_ < end_ &&
           (*at_ == '{' || *at_ == '[') && frame.parent != nullptr && frame.parent->object &&
           members_[frame.base - 1].first == options_.skipped_in;
  }

  // Past the object or array that begins here.
  bool pass_over() {
    size_t open = 0;
    while (at_ < end_) {
      const char c = *at_++;
      if (c == '"') {
        while ((at_ = past_plain(at_, end_)) < end_ && *at_ != '"')
          at_ += *at_ == '\\' && end_ - at_ > 1 ? 2 : 1;
        if (at_ >= end_) break;
        ++at_;
      } else if (c == '{' || c == '[') {
        ++open;
      } else if ((c == '}' || c == ']') && --open == 0) {
        return true;
      }
    }
    at_ = end_;
    return fail("unexpected end of JSON input");
  }

  // The same of an array, whose items are noted.
  bool pass_over_items() {
    if (*at_ != '[' || !options_.skipped_items->empty()) return fail("one array is expected");
    ++at_;
    skip_space();
    while (at_ < end_ && *at_ != ']') {
      const char* begin = at_;
      if (*at_ != '{' && *at_ != '[') return fail(unexpected("where an item was to begin"));
      if (!pass_over()) return false;
      options_.skipped_items->emplace_back(begin, static_cast<size_t>(at_ - begin));
      skip_space();
      if (at_ < end_ && *at_ == ']') break;
      if (at_ == end_ || *at_ != ',') return fail(unexpected("after array element"));
      ++at_;
      skip_space();
      if (at_ < end_ && *at_ == ']') return fail(unexpected("looking for beginning of value"));
    }
    if (at_ == end_) return fail("unexpected end of JSON input");
    ++at_;
    return true;
  }

  bool has_duplicates(const Frame& frame) const {
    size_t n = members_.size() - frame.base;
    if (n > 32) return true;  // merge_duplicates() finds out by sorting
    const Object::Member* first = members_.data() + frame.base;
    for (size_t i = 1; i < n; ++i) {
      const std::string& key = first[i].first;
      for (size_t j = 0; j < i; ++j) {
        if (first[j].first.size() == key.size() && first[j].first == key) return true;
      }
    }
    return false;
  }

  // Gives the first of equal keys the value of the last and drops the others.
  bool merge_duplicates(const Frame& frame) {
    std::vector<std::pair<std::string_view, size_t>> keys;
    keys.reserve(members_.size() - frame.base);
    for (size_t i = frame.base; i < members_.size(); ++i) keys.emplace_back(members_[i].first, i);
    std::sort(keys.begin(), keys.end());
    std::vector<size_t> dropped;
    for (size_t i = 0; i < keys.size();) {
      size_t last = i + 1;
      while (last < keys.size() && keys[last].first == keys[i].first) ++last;
      if (last > i + 1 && !report_duplicate(frame, keys[i].second, keys[i + 1].second))
        return false;
      for (size_t k = i + 1; k < last; ++k) dropped.push_back(keys[k].second);
      if (last > i + 1) {
        members_[keys[i].second].second = std::move(members_[keys[last - 1].second].second);
      }
      i = last;
    }
    std::sort(dropped.begin(), dropped.end());
    size_t to = frame.base, next = 0;
    for (size_t from = frame.base; from < members_.size(); ++from) {
      if (next < dropped.size() && dropped[next] == from) {
        ++next;
        continue;
      }
      if (to != from) members_[to] = std::move(members_[from]);
      ++to;
    }
    members_.resize(to);
    return true;
  }

  bool report_duplicate(const Frame& frame, size_t first, size_t second) {
    if (!options_.duplicates && !options_.reject_duplicate_keys) return true;
    std::string path = path_of(frame);
    if (!path.empty()) path += '.';
    path += members_[first].first;
    if (options_.duplicates) {
      if (options_.duplicates->size() < kMaxDuplicatesTold)
        options_.duplicates->push_back(std::move(path));
      return true;
    }
    at_ = key_at_[second];
    return fail("duplicate field \"" + path + "\"");
  }

  // The path of a container that is being read: its parents' last members and items so far.
  std::string path_of(const Frame& frame) const {
    std::vector<std::string> parts;
    size_t members_end = frame.object ? frame.base : members_.size();
    size_t items_end = frame.object ? items_.size() : frame.base;
    for (const Frame* f = frame.parent; f; f = f->parent) {
      if (f->object) {
        parts.push_back("." + members_[members_end - 1].first);
        members_end = f->base;
      } else {
        parts.push_back("[" + std::to_string(items_end - f->base) + "]");
        items_end = f->base;
      }
    }
    std::string path;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) path += *part;
    return path.starts_with('.') ? path.substr(1) : path;
  }

  bool parse_string(std::string& out) {
    ++at_;
    const char* run = at_;
    for (;;) {
      at_ = past_plain(at_, end_);
      if (at_ == end_) return fail("unexpected end of JSON input");
      switch (kStringClass[static_cast<uint8_t>(*at_)]) {
        case 1:
          out.append(run, static_cast<size_t>(at_ - run));
          if (*at_ == '"') {
            ++at_;
            return true;
          }
          if (!parse_escape(out)) return false;
          run = at_;
          break;
        case 2:
          return fail(unexpected("in string literal"));
        default: {
          size_t n = utf8_length(at_, end_);
          if (n == 0) return fail("invalid UTF-8 in string literal");
          at_ += n;
        }
      }
    }
  }

  bool parse_escape(std::string& out) {
    ++at_;
    if (at_ == end_) return fail("unexpected end of JSON input");
    switch (*at_) {
      case '"':
        out += '"';
        break;
      case '\\':
        out += '\\';
        break;
      case '/':
        out += '/';
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'u':
        return parse_unicode_escape(out);
      default:
        return fail(unexpected("in string escape code"));
    }
    ++at_;
    return true;
  }

  // Four hexadecimal digits at p, or -1.
  int32_t hex4(const char* p) const {
    if (end_ - p < 4) return -1;
    uint32_t n = 0;
    auto [stop, error] = std::from_chars(p, p + 4, n, 16);
    return error == std::errc() && stop == p + 4 ? static_cast<int32_t>(n) : -1;
  }

  bool parse_unicode_escape(std::string& out) {
    int32_t unit = hex4(at_ + 1);
    if (unit < 0) return fail("invalid \\u escape in string literal");
    at_ += 5;
    auto c = static_cast<uint32_t>(unit);
    if (c >= 0xD800 && c < 0xE000) {
      int32_t low =
          c < 0xDC00 && end_ - at_ >= 6 && at_[0] == '\\' && at_[1] == 'u' ? hex4(at_ + 2) : -1;
      if (low >= 0xDC00 && low < 0xE000) {
        c = 0x10000 + ((c - 0xD800) << 10) + (static_cast<uint32_t>(low) - 0xDC00);
        at_ += 6;
      } else {
        c = 0xFFFD;  // half a pair becomes the replacement character, as in Go
      }
    }
    append_utf8(out, c);
    return true;
  }

  bool is_digit() const { return at_ < end_ && *at_ >= '0' && *at_ <= '9'; }

  bool digits(const char* context) {
    if (!is_digit()) return fail(unexpected(context));
    while (is_digit()) ++at_;
    return true;
  }

  bool parse_number(Value& out) {
    const char* begin = at_;
    bool negative = *at_ == '-';
    if (negative) ++at_;
    if (!is_digit()) {
      return fail(unexpected(negative ? "in numeric literal" : "looking for beginning of value"));
    }
    if (*at_ == '0') {
      ++at_;
    } else {
      while (is_digit()) ++at_;
    }
    bool whole = true;
    if (at_ < end_ && *at_ == '.') {
      whole = false;
      ++at_;
      if (!digits("after decimal point in numeric literal")) return false;
    }
    if (at_ < end_ && (*at_ == 'e' || *at_ == 'E')) {
      whole = false;
      ++at_;
      if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      if (!digits("in exponent of numeric literal")) return false;
    }
    if (whole) {
      int64_t n = 0;
      if (std::from_chars(begin, at_, n).ec == std::errc()) {
        // -0 has no integer; Go's decoder yields 0 for it.
        out = Value(n);
        return true;
      }
      uint64_t u = 0;
      if (!negative && std::from_chars(begin, at_, u).ec == std::errc()) {
        out = Value(u);
        return true;
      }
    }
    double d = 0;
    auto [stop, error] = std::from_chars(begin, at_, d);
    if (error == std::errc::result_out_of_range) {
      // Too small is zero, too big is an error; from_chars does not tell which.
      d = std::strtod(std::string(begin, at_).c_str(), nullptr);
      if (std::isinf(d)) {
        at_ = begin;
        return fail("number out of range");
      }
    }
    out = Value(d);
    return true;
  }

  const char* start_;
  const char* at_;
  const char* end_;
  const ParseOptions& options_;
  std::vector<Object::Member> members_;
  std::vector<const char*> key_at_;  // parallel to members_
  std::vector<Value> items_;
  std::string error_;
  const char* error_at_ = nullptr;
};

constexpr char kHexDigits[] = "0123456789abcdef";

void write_control(std::string& out, uint8_t c) {
  switch (c) {
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += kHexDigits[c >> 4];
      out += kHexDigits[c & 15];
  }
}

void write_string(std::string& out, std::string_view text) {
  out += '"';
  const char* at = text.data();
  const char* end = at + text.size();
  const char* run = at;
  while ((at = past_plain(at, end)) < end) {
    auto c = static_cast<uint8_t>(*at);
    if (kStringClass[c] == 3) {
      size_t n = utf8_length(at, end);
      // U+2028 and U+2029 end a line in JavaScript: encoding/json always escapes them.
      bool separator =
          n == 3 && std::memcmp(at, "\xE2\x80", 2) == 0 && (at[2] & 0xFE) == (char(0xA8) & 0xFE);
      if (n > 0 && !separator) {
        at += n;
        continue;
      }
      out.append(run, static_cast<size_t>(at - run));
      if (n == 0) {
        out += "\\ufffd";
        at += 1;
      } else {
        out += "\\u202";
        out += kHexDigits[at[2] & 15];
        at += 3;
      }
      run = at;
      continue;
    }
    out.append(run, static_cast<size_t>(at - run));
    if (kStringClass[c] == 1) {
      out += '\\';
      out += *at;
    } else {
      write_control(out, c);
    }
    run = ++at;
  }
  out.append(run, static_cast<size_t>(at - run));
  out += '"';
}

template <typename Number>
void write_integer(std::string& out, Number n) {
  char buffer[24];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, n);
  out.append(buffer, static_cast<size_t>(end - buffer));
}

// Members by key. Skips sorting where they are sorted already.
std::vector<const Object::Member*> sorted_members(const Object& object) {
  std::vector<const Object::Member*> members;
  members.reserve(object.size());
  for (const auto& member : object) members.push_back(&member);
  auto less = [](const Object::Member* a, const Object::Member* b) { return a->first < b->first; };
  if (!std::is_sorted(members.begin(), members.end(), less)) {
    std::sort(members.begin(), members.end(), less);
  }
  return members;
}

struct Style {
  bool sorted = false;
  int indent = 0;  // 0 = compact
};

void new_line(std::string& out, const Style& style, int level) {
  if (style.indent == 0) return;
  out += '\n';
  out.append(static_cast<size_t>(style.indent) * static_cast<size_t>(level), ' ');
}

void write_any(std::string& out, const Value& value, const Style& style, int level);

void write_member(std::string& out, const Object::Member& member, const Style& style, int level,
                  bool first) {
  if (!first) out += ',';
  new_line(out, style, level + 1);
  write_string(out, member.first);
  out += style.indent ? ": " : ":";
  write_any(out, member.second, style, level + 1);
}

void write_object(std::string& out, const Object& object, const Style& style, int level) {
  if (object.empty()) {
    out += "{}";
    return;
  }
  out += '{';
  bool first = true;
  if (style.sorted) {
    for (const Object::Member* member : sorted_members(object)) {
      write_member(out, *member, style, level, std::exchange(first, false));
    }
  } else {
    for (const auto& member : object) {
      write_member(out, member, style, level, std::exchange(first, false));
    }
  }
  new_line(out, style, level);
  out += '}';
}

void write_any(std::string& out, const Value& value, const Style& style, int level) {
  switch (value.type()) {
    case Type::kNull:
      out += "null";
      return;
    case Type::kBool:
      out += value.as_bool() ? "true" : "false";
      return;
    case Type::kInt:
      write_integer(out, value.as_int());
      return;
    case Type::kUint:
      write_integer(out, value.as_uint());
      return;
    case Type::kDouble:
      out += format_double(value.as_double());
      return;
    case Type::kString:
      write_string(out, value.as_string());
      return;
    case Type::kObject:
      write_object(out, value.as_object(), style, level);
      return;
    case Type::kArray:
      break;
  }
  const Array& items = value.as_array();
  if (items.empty()) {
    out += "[]";
    return;
  }
  out += '[';
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ',';
    new_line(out, style, level + 1);
    write_any(out, items[i], style, level + 1);
  }
  new_line(out, style, level);
  out += ']';
}

}  // namespace

size_t utf8_length(const char* p, const char* end) {
  auto byte = [&](int i) { return static_cast<uint8_t>(p[i]); };
  auto tail = [&](int i) { return (byte(i) & 0xC0) == 0x80; };
  auto left = end - p;
  if (byte(0) < 0x80) return 1;
  if (byte(0) < 0xC2) return 0;
  if (byte(0) < 0xE0) return left >= 2 && tail(1) ? 2 : 0;
  if (byte(0) < 0xF0) {
    if (left < 3 || !tail(1) || !tail(2)) return 0;
    if (byte(0) == 0xE0 && byte(1) < 0xA0) return 0;   // overlong
    if (byte(0) == 0xED && byte(1) >= 0xA0) return 0;  // surrogate
    return 3;
  }
  if (byte(0) > 0xF4 || left < 4 || !tail(1) || !tail(2) || !tail(3)) return 0;
  if (byte(0) == 0xF0 && byte(1) < 0x90) return 0;
  if (byte(0) == 0xF4 && byte(1) >= 0x90) return 0;
  return 4;
}

Result<Value> parse(std::string_view text, const ParseOptions& options) {
  if (text.size() > options.max_bytes) {
    return make_error(ErrorCode::kTooLarge, "JSON text of " + std::to_string(text.size()) +
                                                " bytes exceeds the limit of " +
                                                std::to_string(options.max_bytes));
  }
  return Parser(text, options).run();
}

std::string format_double(double d) {
  if (!std::isfinite(d)) return "null";  // JSON has no such number
  double magnitude = std::fabs(d);
  bool scientific = magnitude != 0 && (magnitude < 1e-6 || magnitude >= 1e21);
  char buffer[64];
  auto format = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, d, format);
  std::string text(buffer, end);
  // Go: 1e-07 is written 1e-7, but 1e+21 keeps its sign.
  size_t n = text.size();
  if (scientific && n >= 4 && text[n - 4] == 'e' && text[n - 3] == '-' && text[n - 2] == '0') {
    text.erase(n - 2, 1);
  }
  // Go pads the shortest digits with zeros, to_chars writes all of them.
  if (!scientific && magnitude > 9007199254740992.0) {
    std::string digits(
        buffer,
        std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::scientific).ptr);
    digits.resize(digits.find('e'));
    std::erase(digits, '.');
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(digits.size()), text.end(), '0');
    std::copy(digits.begin(), digits.end(), text.begin());
  }
  return text;
}

void write_to(std::string& out, const Value& value) { write_any(out, value, Style{}, 0); }

std::string write(const Value& value) {
  std::string out;
  write_to(out, value);
  return out;
}

std::string write_sorted(const Value& value) {
  std::string out;
  write_any(out, value, Style{.sorted = true}, 0);
  return out;
}

std::string write_pretty(const Value& value, int indent) {
  std::string out;
  write_any(out, value, Style{.sorted = true, .indent = indent}, 0);
  return out;
}

}  // namespace kueue::json
