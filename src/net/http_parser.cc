// HTTP/1.1 messages from bytes.
#include "net/http_parser.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace kueue::net {
namespace {

bool is_token_char(char c) {
  const auto u = static_cast<unsigned char>(c);
  if (u <= 0x20 || u >= 0x7f) return false;
  return std::string_view("\"(),/:;<=>?@[\\]{}").find(c) == std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<uint64_t> parse_number(std::string_view text, int base) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || at != end) return std::nullopt;
  return value;
}

constexpr size_t kMaxLine = 4096;  // chunk sizes with extensions, and trailers

}  // namespace

bool equal_fold(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [&](char x, char y) { return lower(x) == lower(y); });
}

bool has_element(std::string_view value, std::string_view element) {
  while (!value.empty()) {
    const size_t comma = value.find(',');
    std::string_view one = value.substr(0, comma);
    value.remove_prefix(comma == std::string_view::npos ? value.size() : comma + 1);
    if (equal_fold(trim(one.substr(0, one.find(';'))), element)) return true;
  }
  return false;
}

bool is_safe_header_value(std::string_view value) {
  return std::none_of(value.begin(), value.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

HttpParser::HttpParser(Kind kind, size_t head_limit, size_t body_limit)
    : kind_(kind), head_limit_(head_limit), body_limit_(body_limit) {}

void HttpParser::reset() { *this = HttpParser(kind_, head_limit_, body_limit_); }

void HttpParser::fail(Failure failure, std::string text) {
  state_ = State::kFailed;
  failure_ = failure;
  failure_text_ = std::move(text);
}

size_t HttpParser::feed(std::string_view data) {
  size_t used = 0;
  while (used < data.size() && state_ != State::kDone && state_ != State::kFailed) {
    const std::string_view rest = data.substr(used);
    switch (state_) {
      case State::kStart:
        // Empty lines before a request are allowed (RFC 9112 2.2).
        if (rest[0] == '\r' || rest[0] == '\n') {
          ++used;
          continue;
        }
        state_ = State::kHead;
        continue;
      case State::kHead:
        used += feed_head(rest);
        break;
      case State::kBodyLength: {
        const size_t n = static_cast<size_t>(std::min<uint64_t>(left_, rest.size()));
        take_body(rest.substr(0, n));
        left_ -= n;
        used += n;
        if (left_ == 0 && !failed()) state_ = State::kDone;
        break;
      }
      case State::kBodyUntilClose:
        take_body(rest);
        used += rest.size();
        break;
      case State::kChunkSize:
      case State::kChunkData:
      case State::kChunkEnd:
      case State::kTrailer:
        used += feed_chunked(rest);
        break;
      case State::kFailed:
      case State::kDone:
        break;
    }
  }
  return used;
}

void HttpParser::feed_eof() {
  if (state_ == State::kBodyUntilClose) {
    state_ = State::kDone;
    keep_alive_ = false;
  } else if (state_ != State::kStart && state_ != State::kDone && state_ != State::kFailed) {
    fail(Failure::kMalformed, "the connection was closed in the middle of a message");
  }
}

// In the text from `start` on.
static bool has_bare_line_feed(std::string_view text, size_t start) {
  for (size_t at = text.find('\n', start); at != std::string_view::npos;
       at = text.find('\n', at + 1))
    if (at == 0 || text[at - 1] != '\r') return true;
  return false;
}

size_t HttpParser::feed_head(std::string_view data) {
  // The end marker may straddle two reads, so the search starts three bytes back.
  const size_t before = text_.size();
  const size_t room = head_limit_ > before ? head_limit_ - before : 0;
  text_.append(data.substr(0, room));
  const size_t end = text_.find("\r\n\r\n", before > 3 ? before - 3 : 0);
  if (end == std::string::npos) {
    // Told at once: whoever ends lines like this waits for an answer and sends nothing more.
    if (has_bare_line_feed(text_, before)) {
      fail(Failure::kMalformed, "a line feed without carriage return in the head");
    } else if (text_.size() >= head_limit_) {
      fail(Failure::kHeadTooLarge,
           "request line and headers are larger than " + std::to_string(head_limit_) + " bytes");
    }
    return std::min(room, data.size());
  }
  const std::string head = std::move(text_);
  text_.clear();
  parse_head(std::string_view(head).substr(0, end + 2));
  return end + 4 - before;
}

void HttpParser::parse_head(std::string_view head) {
  bool first = true;
  while (!head.empty()) {
    const size_t end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    if (first ? !parse_start_line(line) : !parse_header_line(line)) return;
    first = false;
  }
  decide_body();
}

bool HttpParser::parse_version(std::string_view text) {
  if (text.size() != 8 || !text.starts_with("HTTP/") || text[6] != '.') {
    fail(Failure::kMalformed, "no HTTP version in the first line");
    return false;
  }
  if (text[5] != '1' || text[7] < '0' || text[7] > '9') {
    fail(Failure::kVersion, "only HTTP/1.0 and HTTP/1.1 are spoken here");
    return false;
  }
  minor_version_ = text[7] == '0' ? 0 : 1;
  keep_alive_ = minor_version_ == 1;
  return true;
}

bool HttpParser::parse_start_line(std::string_view line) {
  if (kind_ == Kind::kResponse) {
    // HTTP/1.1 200 OK
    if (line.size() < 12 || line[8] != ' ' || !parse_version(line.substr(0, 8))) {
      if (!failed()) fail(Failure::kMalformed, "not an HTTP response");
      return false;
    }
    const auto status = parse_number(line.substr(9, 3), 10);
    if (!status || *status < 100 || (line.size() > 12 && line[12] != ' ')) {
      fail(Failure::kMalformed, "not an HTTP response");
      return false;
    }
    status_ = static_cast<int>(*status);
    return true;
  }
  const size_t a = line.find(' ');
  const size_t b = line.rfind(' ');
  if (a == std::string_view::npos || a == b || !is_token(line.substr(0, a))) {
    fail(Failure::kMalformed, "malformed request line");
    return false;
  }
  const std::string_view target = line.substr(a + 1, b - a - 1);
  if (!parse_version(line.substr(b + 1))) return false;
  const bool clean = std::all_of(target.begin(), target.end(), [](char c) {
    return static_cast<unsigned char>(c) > 0x20 && c != 0x7f;
  });
  if (target.empty() || !clean) {
    fail(Failure::kMalformed, "malformed request target");
    return false;
  }
  method_ = line.substr(0, a);
  target_ = target;
  return true;
}

bool HttpParser::parse_header_line(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    fail(Failure::kMalformed, "malformed header line");
    return false;
  }
  const std::string_view value = trim(line.substr(colon + 1));
  if (!is_safe_header_value(value)) {
    fail(Failure::kMalformed, "control character in a header value");
    return false;
  }
  headers_.add(line.substr(0, colon), std::string(value));
  return true;
}

void HttpParser::decide_body() {
  std::optional<uint64_t> length;
  bool chunked = false;
  int hosts = 0;
  for (const auto& [name, value] : headers_.all()) {
    if (equal_fold(name, "Content-Length")) {
      const auto n = parse_number(value, 10);
      if (!n || (length && *length != *n)) {
        return fail(Failure::kMalformed, "malformed Content-Length");
      }
      length = n;
    } else if (equal_fold(name, "Transfer-Encoding")) {
      if (!equal_fold(value, "chunked")) {
        return fail(Failure::kNotImplemented, "unsupported transfer encoding");
      }
      if (chunked) return fail(Failure::kMalformed, "more than one Transfer-Encoding");
      chunked = true;
    } else if (equal_fold(name, "Connection")) {
      if (has_element(value, "close")) keep_alive_ = false;
      if (minor_version_ == 0 && has_element(value, "keep-alive")) keep_alive_ = true;
    } else if (equal_fold(name, "Expect")) {
      expects_continue_ = minor_version_ == 1 && equal_fold(value, "100-continue");
    } else if (equal_fold(name, "Host")) {
      ++hosts;
    }
  }
  if (chunked && (length || minor_version_ == 0)) {
    return fail(Failure::kMalformed, "ambiguous message length");
  }
  if (kind_ == Kind::kRequest && (hosts > 1 || (hosts == 0 && minor_version_ == 1))) {
    return fail(Failure::kMalformed,
                hosts == 0 ? "missing required Host header" : "too many Host headers");
  }
  const bool response = kind_ == Kind::kResponse;
  if (response && status_ < 200 && status_ != 101) {
    // An interim answer (100 Continue): the real one follows.
    const bool no_body = no_body_;
    reset();
    no_body_ = no_body;
    return;
  }
  if (response && (no_body_ || status_ == 204 || status_ == 304 || status_ == 101)) {
    state_ = State::kDone;
    return;
  }
  if (chunked) {
    state_ = State::kChunkSize;
    return;
  }
  if (!length && response) {
    state_ = State::kBodyUntilClose;
    keep_alive_ = false;
    return;
  }
  left_ = length.value_or(0);
  if (left_ > body_limit_) {
    return fail(Failure::kBodyTooLarge, "limit is " + std::to_string(body_limit_));
  }
  state_ = left_ == 0 ? State::kDone : State::kBodyLength;
}

void HttpParser::take_body(std::string_view data) {
  if (data.size() > body_limit_ - std::min(body_limit_, body_.size())) {
    return fail(Failure::kBodyTooLarge, "limit is " + std::to_string(body_limit_));
  }
  if (state_ == State::kBodyLength && body_.empty() && left_ > data.size()) {
    // A declared length is believed step by step: a lie costs the peer, not our memory.
    body_.reserve(static_cast<size_t>(std::min<uint64_t>(left_, 256 * 1024)));
  }
  body_.append(data);
}

size_t HttpParser::take_line(std::string_view data, bool* complete) {
  const size_t end = data.find('\n');
  const size_t n = end == std::string_view::npos ? data.size() : end + 1;
  text_.append(data.substr(0, n));
  *complete = end != std::string_view::npos;
  if (text_.size() > kMaxLine) {
    fail(Failure::kMalformed, "chunk header or trailer too long");
  } else if (*complete && (text_.size() < 2 || text_[text_.size() - 2] != '\r')) {
    fail(Failure::kMalformed, "bare line feed in a chunked body");
  }
  if (failed()) *complete = false;
  return n;
}

void HttpParser::begin_chunk() {
  std::string_view line(text_);
  line.remove_suffix(2);
  const auto size = parse_number(trim(line.substr(0, line.find(';'))), 16);
  text_.clear();
  if (!size || *size > (uint64_t{1} << 60)) {
    return fail(Failure::kMalformed, "malformed chunk size");
  }
  left_ = *size;
  // A stream's chunk may be larger than what is held of it at a time; a request's body may not.
  if (kind_ == Kind::kRequest && left_ > body_limit_) {
    return fail(Failure::kBodyTooLarge, "limit is " + std::to_string(body_limit_));
  }
  state_ = left_ == 0 ? State::kTrailer : State::kChunkData;
}

size_t HttpParser::feed_chunked(std::string_view data) {
  if (state_ == State::kChunkData) {
    const size_t n = static_cast<size_t>(std::min<uint64_t>(left_, data.size()));
    take_body(data.substr(0, n));
    left_ -= n;
    if (left_ == 0 && !failed()) state_ = State::kChunkEnd;
    return n;
  }
  bool complete = false;
  const size_t n = take_line(data, &complete);
  if (!complete) return n;
  if (state_ == State::kChunkSize) {
    begin_chunk();
    return n;
  }
  const bool empty = text_.size() == 2;
  if (state_ == State::kChunkEnd) {
    if (!empty) {
      fail(Failure::kMalformed, "chunk longer than its size");
      return n;
    }
    state_ = State::kChunkSize;
  } else if (empty) {
    state_ = State::kDone;
  } else {
    trailer_bytes_ += text_.size();
    if (trailer_bytes_ > head_limit_) fail(Failure::kHeadTooLarge, "trailers too large");
  }
  text_.clear();
  return n;
}

}  // namespace kueue::net
