#include "net/http_parser.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace kueue::net {
namespace {

using Kind = HttpParser::Kind;
using Failure = HttpParser::Failure;

struct Case {
  const char* name;
  Kind kind;
  std::string text;
  Failure failure;
  std::string body;
  size_t left = 0;  // bytes behind the message
};

const std::vector<Case>& cases() {
  static const std::string host = "Host: a\r\n";
  static const std::vector<Case> all = {
      {"get", Kind::kRequest, "GET /a?b=c HTTP/1.1\r\n" + host + "\r\n", Failure::kNone, ""},
      {"empty lines first", Kind::kRequest, "\r\n\r\nGET / HTTP/1.1\r\n" + host + "\r\n",
       Failure::kNone, ""},
      {"length", Kind::kRequest, "POST / HTTP/1.1\r\n" + host + "Content-Length: 3\r\n\r\nabcGET",
       Failure::kNone, "abc", 3},
      {"equal lengths", Kind::kRequest,
       "POST / HTTP/1.1\r\n" + host + "Content-Length: 1\r\ncontent-length: 1\r\n\r\nx",
       Failure::kNone, "x"},
      {"chunked", Kind::kRequest,
       "POST / HTTP/1.1\r\n" + host +
           "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: "
           "v\r\n\r\nrest",
       Failure::kNone, "abc0123456789", 4},
      {"http 1.0", Kind::kRequest, "GET / HTTP/1.0\r\n\r\n", Failure::kNone, ""},
      {"two lengths", Kind::kRequest,
       "POST / HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx",
       Failure::kMalformed, ""},
      {"length and chunked", Kind::kRequest,
       "POST / HTTP/1.1\r\n" + host + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
       Failure::kMalformed, ""},
      {"negative length", Kind::kRequest,
       "POST / HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n", Failure::kMalformed, ""},
      {"signed length", Kind::kRequest,
       "POST / HTTP/1.1\r\n" + host + "Content-Length: +1\r\n\r\nx", Failure::kMalformed, ""},
      {"huge length", Kind::kRequest,
       "POST / HTTP/1.1\r\n" + host + "Content-Length: 99999999999999999999\r\n\r\n",
       Failure::kMalformed, ""},
      {"other coding", Kind::kRequest,
       "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip, chunked\r\n\r\n",
       Failure::kNotImplemented, ""},
      {"bare line feeds", Kind::kRequest, "GET / HTTP/1.1\nHost: a\n\n", Failure::kMalformed, ""},
      {"bare line feed", Kind::kRequest, "GET / HTTP/1.1\r\nHost: a\n", Failure::kMalformed, ""},
      {"no host", Kind::kRequest, "GET / HTTP/1.1\r\n\r\n", Failure::kMalformed, ""},
      {"two hosts", Kind::kRequest, "GET / HTTP/1.1\r\n" + host + host + "\r\n",
       Failure::kMalformed, ""},
      {"blank before colon", Kind::kRequest, "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
       Failure::kMalformed, ""},
      {"folded header", Kind::kRequest, "GET / HTTP/1.1\r\n" + host + "A: b\r\n c\r\n\r\n",
       Failure::kMalformed, ""},
      {"control in header", Kind::kRequest, "GET / HTTP/1.1\r\n" + host + "A: b\x01\r\n\r\n",
       Failure::kMalformed, ""},
      {"bare lf in header", Kind::kRequest, "GET / HTTP/1.1\r\n" + host + "A: b\nC: d\r\n\r\n",
       Failure::kMalformed, ""},
      {"no target", Kind::kRequest, "GET HTTP/1.1\r\n" + host + "\r\n", Failure::kMalformed, ""},
      {"blank in target", Kind::kRequest, "GET /a b HTTP/1.1\r\n" + host + "\r\n",
       Failure::kMalformed, ""},
      {"http 2 preface", Kind::kRequest, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Failure::kVersion, ""},
      {"garbage", Kind::kRequest, "\x16\x03\x01\r\n\r\n", Failure::kMalformed, ""},
      {"bad chunk size", Kind::kRequest,
       "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
       Failure::kMalformed, ""},
      {"chunk too long", Kind::kRequest,
       "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
       Failure::kMalformed, ""},
      {"bare lf in chunk", Kind::kRequest,
       "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n1\nabc\n",
       Failure::kMalformed, ""},
      {"huge chunk", Kind::kRequest,
       "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
       Failure::kMalformed, ""},
      {"body over limit", Kind::kRequest,
       "POST / HTTP/1.1\r\n" + host + "Content-Length: 1001\r\n\r\n", Failure::kBodyTooLarge, ""},
      {"chunks over limit", Kind::kRequest,
       "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3e9\r\n" +
           std::string(1001, 'x'),
       Failure::kBodyTooLarge, ""},
      {"head over limit", Kind::kRequest,
       "GET / HTTP/1.1\r\n" + host + "A: " + std::string(2000, 'x'), Failure::kHeadTooLarge, ""},
      {"response", Kind::kResponse, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
       Failure::kNone, "ok"},
      {"response without reason", Kind::kResponse, "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok",
       Failure::kNone, "ok"},
      {"interim response", Kind::kResponse,
       "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nx",
       Failure::kNone, "x"},
      {"no content", Kind::kResponse, "HTTP/1.1 204 No Content\r\n\r\n", Failure::kNone, ""},
      {"no response", Kind::kResponse, "SSH-2.0-OpenSSH_9.2p1\r\n\r\n", Failure::kMalformed, ""},
  };
  return all;
}

// The result must not depend on how the bytes arrive.
TEST(HttpParser, Table) {
  for (const Case& c : cases()) {
    for (const size_t step : {size_t{1}, size_t{2}, size_t{7}, c.text.size()}) {
      SCOPED_TRACE(std::string(c.name) + " in steps of " + std::to_string(step));
      HttpParser parser(c.kind, 1024, 1000);
      size_t used = 0;
      while (used < c.text.size() && !parser.done() && !parser.failed()) {
        used += parser.feed(std::string_view(c.text).substr(used, step));
      }
      EXPECT_EQ(parser.failure(), c.failure) << parser.failure_text();
      if (c.failure != Failure::kNone) continue;
      EXPECT_TRUE(parser.done());
      EXPECT_EQ(parser.body(), c.body);
      EXPECT_EQ(c.text.size() - used, c.left);
    }
  }
}

TEST(HttpParser, ReadsHead) {
  HttpParser parser(Kind::kRequest, 1024, 1000);
  parser.feed(
      "PATCH /x?y HTTP/1.1\r\nhOST: h\r\nX-A:  v w \t\r\nConnection: foo, Close\r\n"
      "Expect: 100-continue\r\nContent-Length: 1\r\n\r\n");
  EXPECT_TRUE(parser.head_done());
  EXPECT_FALSE(parser.done());
  EXPECT_EQ(parser.method(), "PATCH");
  EXPECT_EQ(parser.target(), "/x?y");
  EXPECT_EQ(parser.headers().get("x-a"), "v w");
  EXPECT_FALSE(parser.keep_alive());
  EXPECT_TRUE(parser.expects_continue());
}

TEST(HttpParser, EndOfConnection) {
  HttpParser open_end(Kind::kResponse, 1024, 1000);
  open_end.feed("HTTP/1.1 200 OK\r\n\r\nabc");
  EXPECT_FALSE(open_end.done());
  open_end.feed_eof();
  EXPECT_TRUE(open_end.done());
  EXPECT_EQ(open_end.body(), "abc");

  HttpParser cut(Kind::kResponse, 1024, 1000);
  cut.feed("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc");
  cut.feed_eof();
  EXPECT_TRUE(cut.failed());

  HttpParser nothing(Kind::kRequest, 1024, 1000);
  nothing.feed_eof();
  EXPECT_FALSE(nothing.failed());
}

TEST(HttpParser, HeadAnswerHasNoBody) {
  HttpParser parser(Kind::kResponse, 1024, 1000);
  parser.expect_no_body();
  parser.feed("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  EXPECT_TRUE(parser.done());
}

// The fuzzer's inputs, cut at every length: no crash, and a cut message is never a complete one
// with more body.
TEST(HttpParser, Corpus) {
  size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(KUEUE_SOURCE_DIR "/test/corpus/http_parser")) {
    ++files;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    for (const Kind kind : {Kind::kRequest, Kind::kResponse}) {
      HttpParser whole(kind, 2048, 4096);
      whole.feed(text);
      for (size_t n = 0; n < text.size(); ++n) {
        HttpParser cut(kind, 2048, 4096);
        cut.feed(std::string_view(text).substr(0, n));
        EXPECT_LE(cut.body().size(), std::max<size_t>(whole.body().size(), n)) << entry.path();
        cut.feed_eof();
      }
    }
  }
  EXPECT_GT(files, 0u);
}

}  // namespace
}  // namespace kueue::net
