#include "cel/lexer.h"

#include <algorithm>
#include <array>

namespace kueue::cel {
namespace {

constexpr size_t kMaxIssues = 100;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_ident_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_ident(char c) { return is_ident_start(c) || is_digit(c); }

uint32_t hex_value(char c) {
  if (is_digit(c)) return static_cast<uint32_t>(c - '0');
  return static_cast<uint32_t>((c | 0x20) - 'a' + 10);
}

void append_utf8(uint32_t code, std::string* out) {
  auto put = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6));
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3f));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

class Lexer {
 public:
  Lexer(std::string_view source, std::vector<Token>* tokens, std::vector<Issue>* issues)
      : source_(source), tokens_(tokens), issues_(issues) {}

  void run() {
    while (true) {
      skip_blanks();
      start_ = at_;
      if (at_ >= source_.size()) {
        push(TokenKind::kEnd);
        return;
      }
      if (!next_token() && issues_->size() >= kMaxIssues) at_ = source_.size();
    }
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  bool fail(std::string message) {
    at_ = std::min(std::max(at_, start_ + 1), source_.size());
    issues_->push_back({static_cast<uint32_t>(start_), "Syntax error: " + std::move(message)});
    return false;
  }
  // What was read since the token began is no token.
  bool no_token() {
    at_ = std::min(std::max(at_, start_ + 1), source_.size());
    return fail("token recognition error at: '" +
                std::string(source_.substr(start_, at_ - start_)) + "'");
  }
  void push(TokenKind kind, std::string value = {}) {
    tokens_->push_back({kind, static_cast<uint32_t>(start_), source_.substr(start_, at_ - start_),
                        std::move(value)});
  }

  void skip_blanks() {
    while (at_ < source_.size()) {
      char c = source_[at_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
        ++at_;
      } else if (c == '/' && peek(1) == '/') {
        while (at_ < source_.size() && source_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }

  bool next_token() {
    char c = peek();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (c == '"' || c == '\'') return text(false, false);
    if (c == '`') return quoted_ident();
    size_t prefix = literal_prefix();
    if (prefix > 0) {
      bool raw = false, bytes = false;
      for (size_t i = 0; i < prefix; ++i) {
        raw |= (peek(i) | 0x20) == 'r';
        bytes |= (peek(i) | 0x20) == 'b';
      }
      at_ += prefix;
      return text(raw, bytes);
    }
    if (is_ident_start(c)) {
      while (is_ident(peek())) ++at_;
      std::string_view word = source_.substr(start_, at_ - start_);
      bool keyword = word == "in" || word == "true" || word == "false" || word == "null";
      push(keyword ? TokenKind::kPunct : TokenKind::kIdent);
      return true;
    }
    return punctuation();
  }

  // Length of r, b, rb, br before a quote; 0 when there is none.
  size_t literal_prefix() const {
    size_t n = 0;
    bool raw = false, bytes = false;
    while (n < 2) {
      char c = static_cast<char>(peek(n) | 0x20);
      if (c == 'r' && !raw) {
        raw = true;
      } else if (c == 'b' && !bytes) {
        bytes = true;
      } else {
        break;
      }
      ++n;
    }
    return n > 0 && (peek(n) == '"' || peek(n) == '\'') ? n : 0;
  }

  bool punctuation() {
    static constexpr std::array<std::string_view, 27> kPunct = {
        "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "%",
        "(",  ")",  "[",  "]",  "{",  "}",  ",", ".", "?", ":", "&", "|", "="};
    for (std::string_view p : kPunct) {
      if (!source_.substr(at_).starts_with(p)) continue;
      if (p == "&" || p == "|" || p == "=") break;
      at_ += p.size();
      push(TokenKind::kPunct);
      return true;
    }
    size_t n = 1;
    while (at_ + n < source_.size() &&
           (static_cast<unsigned char>(source_[at_ + n]) & 0xc0) == 0x80)
      ++n;
    at_ += n;
    return no_token();
  }

  bool quoted_ident() {
    size_t end = source_.find('`', at_ + 1);
    if (end == std::string_view::npos || end == at_ + 1) return no_token();
    std::string value(source_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    for (char c : value)
      if (!is_ident(c) && c != '.' && c != '-' && c != '/' && c != ' ') return no_token();
    push(TokenKind::kQuotedIdent, std::move(value));
    return true;
  }

  bool number() {
    bool real = false;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X') && is_hex(peek(2))) {
      at_ += 2;
      while (is_hex(peek())) ++at_;
    } else {
      while (is_digit(peek())) ++at_;
      if (peek() == '.' && is_digit(peek(1))) {
        real = true;
        ++at_;
        while (is_digit(peek())) ++at_;
      }
      if (peek() == 'e' || peek() == 'E') {
        size_t sign = peek(1) == '+' || peek(1) == '-' ? 2 : 1;
        if (is_digit(peek(sign))) {
          real = true;
          at_ += sign;
          while (is_digit(peek())) ++at_;
        }
      }
    }
    if (real) {
      push(TokenKind::kDouble);
    } else if (peek() == 'u' || peek() == 'U') {
      ++at_;
      push(TokenKind::kUint);
    } else {
      push(TokenKind::kInt);
    }
    return true;
  }

  bool text(bool raw, bool bytes) {
    char quote = peek();
    bool triple = peek(1) == quote && peek(2) == quote;
    at_ += triple ? 3 : 1;
    std::string value;
    while (true) {
      if (at_ >= source_.size()) return no_token();
      char c = source_[at_];
      if (c == quote && (!triple || (peek(1) == quote && peek(2) == quote))) {
        at_ += triple ? 3 : 1;
        break;
      }
      if (!triple && (c == '\n' || c == '\r')) return no_token();
      if (c != '\\') {
        value.push_back(c);
        ++at_;
      } else if (raw) {
        value.push_back(c);
        ++at_;
        if (at_ < source_.size()) value.push_back(source_[at_++]);
      } else if (!escape(bytes, &value)) {
        return false;
      }
    }
    push(bytes ? TokenKind::kBytes : TokenKind::kString, std::move(value));
    return true;
  }

  bool escape(bool bytes, std::string* value) {
    char c = peek(1);
    at_ += 2;
    switch (c) {
      case 'a':
        value->push_back('\a');
        return true;
      case 'b':
        value->push_back('\b');
        return true;
      case 'f':
        value->push_back('\f');
        return true;
      case 'n':
        value->push_back('\n');
        return true;
      case 'r':
        value->push_back('\r');
        return true;
      case 't':
        value->push_back('\t');
        return true;
      case 'v':
        value->push_back('\v');
        return true;
      case '\\':
      case '\'':
      case '"':
      case '`':
      case '?':
        value->push_back(c);
        return true;
      case 'x':
      case 'X':
        return code_escape(2, 16, bytes, value);
      case 'u':
        return !bytes && code_escape(4, 16, false, value) ? true : bad_escape();
      case 'U':
        return !bytes && code_escape(8, 16, false, value) ? true : bad_escape();
      case '0':
      case '1':
      case '2':
      case '3':
        --at_;
        return code_escape(3, 8, bytes, value);
      default:
        return bad_escape();
    }
  }

  bool bad_escape() { return no_token(); }

  bool code_escape(size_t n, uint32_t base, bool bytes, std::string* value) {
    uint32_t code = 0;
    for (size_t i = 0; i < n; ++i) {
      char c = peek();
      if (base == 16 ? !is_hex(c) : c < '0' || c > '7') return bad_escape();
      code = code * base + hex_value(c);
      ++at_;
    }
    if (bytes) {
      value->push_back(static_cast<char>(code));
      return true;
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
      return fail("invalid unicode code point");
    append_utf8(code, value);
    return true;
  }

  std::string_view source_;
  std::vector<Token>* tokens_;
  std::vector<Issue>* issues_;
  size_t at_ = 0;
  size_t start_ = 0;
};

}  // namespace

void tokenize(std::string_view source, std::vector<Token>* tokens, std::vector<Issue>* issues) {
  Lexer(source, tokens, issues).run();
}

std::string format_issues(std::string_view source, std::vector<Issue> issues) {
  for (size_t i = 1; i < issues.size(); ++i)
    for (size_t k = i; k > 0 && issues[k].position < issues[k - 1].position; --k)
      std::swap(issues[k], issues[k - 1]);
  if (issues.size() > kMaxIssues) issues.resize(kMaxIssues);
  std::string out;
  for (const Issue& issue : issues) {
    size_t position = std::min<size_t>(issue.position, source.size());
    size_t line = 1;
    size_t line_start = 0;
    for (size_t i = 0; i < position; ++i) {
      if (source[i] != '\n') continue;
      ++line;
      line_start = i + 1;
    }
    size_t line_end = source.find('\n', line_start);
    if (line_end == std::string_view::npos) line_end = source.size();
    // Wide characters are pointed at by wide dots.
    auto wide = [&source](size_t at) {
      return at < source.size() && static_cast<unsigned char>(source[at]) >= 0x80;
    };
    size_t column = 0;
    std::string pointer;
    for (size_t i = line_start; i < position; ++i) {
      if ((static_cast<unsigned char>(source[i]) & 0xc0) == 0x80) continue;
      ++column;
      pointer += wide(i) ? "\uff0e" : ".";
    }
    pointer += wide(position) ? "\uff3e" : "^";
    if (!out.empty()) out += '\n';
    out += "ERROR: <input>:" + std::to_string(line) + ':' + std::to_string(column + 1) + ": " +
           issue.message;
    out += "\n | ";
    out += source.substr(line_start, line_end - line_start);
    out += "\n | " + pointer;
  }
  return out;
}

}  // namespace kueue::cel
