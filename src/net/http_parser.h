// Incremental HTTP/1.1 parser for both directions. Strict where leniency has let requests be
// smuggled (RFC 9112 sections 5.1, 6.1, 6.3): no bare line feeds, no blanks before a colon, no
// folded headers, no Transfer-Encoding beside Content-Length, no two different lengths.
//
// Not thread safe. Bounded: head and body have limits, and nothing is allocated ahead of what
// arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/http.h"

namespace kueue::net {

class HttpParser {
 public:
  enum class Kind : uint8_t { kRequest, kResponse };
  enum class Failure : uint8_t {
    kNone,
    kMalformed,       // 400
    kHeadTooLarge,    // 431
    kBodyTooLarge,    // 413
    kNotImplemented,  // 501: a transfer coding other than chunked
    kVersion,         // 505
  };

  HttpParser(Kind kind, size_t head_limit, size_t body_limit);

  // Takes bytes and returns how many were used: all of them unless the message is complete or
  // failed.
  size_t feed(std::string_view data);
  // The peer closed. Completes a response whose end is the end of the connection; otherwise a
  // failure, unless nothing of a message had arrived.
  void feed_eof();
  // Ready for the next message of the connection.
  void reset();
  // The response that follows belongs to a HEAD request: it has no body whatever its headers say.
  void expect_no_body() { no_body_ = true; }

  bool started() const { return state_ != State::kStart; }
  bool head_done() const { return state_ >= State::kBodyLength; }
  bool done() const { return state_ == State::kDone; }
  bool failed() const { return state_ == State::kFailed; }
  Failure failure() const { return failure_; }
  const std::string& failure_text() const { return failure_text_; }

  // Valid once head_done().
  std::string& method() { return method_; }
  std::string& target() { return target_; }
  int status() const { return status_; }
  wire::Headers& headers() { return headers_; }
  int minor_version() const { return minor_version_; }
  bool keep_alive() const { return keep_alive_; }
  bool expects_continue() const { return expects_continue_; }
  // Body bytes that arrived and were not taken. Taking them makes room under the body limit only
  // for streams: the limit is on what is held, or on the declared length.
  std::string& body() { return body_; }

 private:
  enum class State : uint8_t {
    kStart,
    kHead,
    kFailed,
    kBodyLength,
    kBodyUntilClose,
    kChunkSize,
    kChunkData,
    kChunkEnd,
    kTrailer,
    kDone,
  };

  size_t feed_head(std::string_view data);
  size_t feed_chunked(std::string_view data);
  size_t take_line(std::string_view data, bool* complete);
  void take_body(std::string_view data);
  void parse_head(std::string_view head);
  bool parse_start_line(std::string_view line);
  bool parse_header_line(std::string_view line);
  bool parse_version(std::string_view text);
  void decide_body();
  void begin_chunk();
  void fail(Failure failure, std::string text);

  Kind kind_;
  size_t head_limit_;
  size_t body_limit_;
  State state_ = State::kStart;
  Failure failure_ = Failure::kNone;
  bool no_body_ = false;
  bool keep_alive_ = true;
  bool expects_continue_ = false;
  int minor_version_ = 1;
  int status_ = 0;
  uint64_t left_ = 0;  // of the body or the chunk
  size_t trailer_bytes_ = 0;
  std::string text_;  // head or line in the making
  std::string failure_text_;
  std::string method_;
  std::string target_;
  wire::Headers headers_;
  std::string body_;
};

// Equal without regard to ASCII case.
bool equal_fold(std::string_view a, std::string_view b);
// Whether a comma-separated header value has this element, without regard to case or parameters.
bool has_element(std::string_view value, std::string_view element);
// No byte in it can end a header or a request line.
bool is_safe_header_value(std::string_view value);

}  // namespace kueue::net
