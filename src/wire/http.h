// The Kubernetes protocol without IO: a request, a response, a stream of chunks, and the two seams
// that everything meets at. A Handler answers requests (the embedded API server, webhooks,
// metrics). A Transport sends them (HTTPS in net/, in process in app/, fakes in tests). Neither
// side knows what stands behind the other.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace kueue::wire {

// Case-insensitive header names, in the order they were set.
class Headers {
 public:
  // "" when absent.
  std::string_view get(std::string_view name) const;
  bool has(std::string_view name) const;
  // Replaces all of that name.
  void set(std::string_view name, std::string value);
  void add(std::string_view name, std::string value);
  const std::vector<std::pair<std::string, std::string>>& all() const { return items_; }

 private:
  std::vector<std::pair<std::string, std::string>> items_;
};

// Who sent a request, as authentication found out.
struct Identity {
  std::string user;  // "" = nobody was authenticated
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
  // Name in a verified certificate of a front proxy: who may be believed when it says for whom it
  // asks. "" = no such certificate, or a server that looks for none.
  std::string proxy = {};
  // A certificate was presented that is no good: expired, or of an unknown authority.
  bool refused = false;
};

struct Request {
  std::string method = "GET";
  std::string path =
      "/";  // percent-encoded as on the wire; parse_resource_path decodes each segment; no query
  std::vector<std::pair<std::string, std::string>> query;  // decoded
  Headers headers;
  std::string body;
  Identity identity;  // filled by the server side

  // First value of that name, "" when absent.
  std::string_view query_value(std::string_view name) const;
  bool has_query(std::string_view name) const;
  bool operator==(const Request&) const = delete;
};

struct Response {
  int status = 200;
  Headers headers;
  std::string body;
};

// Where a Handler puts its answer. Exactly one of respond() or begin_stream() is called, from any
// thread, at once or later. The sink may outlive the connection: then calls do nothing and write()
// returns false.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  virtual void respond(Response response) = 0;
  // Head of a chunked answer (watch). Its body is ignored.
  virtual void begin_stream(Response head) = 0;
  // Queues one chunk. False when the peer is gone or more than the sink's limit is queued unsent (a
  // watcher that does not read): the caller then drops the stream.
  virtual bool write(std::string chunk) = 0;
  virtual void end_stream() = 0;
  // Called once when the peer goes away before the answer is complete; at once if it is gone
  // already.
  virtual void on_close(std::function<void()> callback) = 0;
};

class Handler {
 public:
  virtual ~Handler() = default;
  // Must not block for long: it runs on the server's loop thread.
  virtual void handle(Request request, std::shared_ptr<ResponseSink> sink) = 0;
};

// Receives a streamed response. Calls come from one thread at a time: on_head once, on_data any
// number, on_end once and last. on_end's error is empty when the server ended the stream in good
// order.
class StreamReceiver {
 public:
  virtual ~StreamReceiver() = default;
  virtual void on_head(
      const Response& head) = 0;  // not 200: the body follows in on_data as for any error
  virtual void on_data(std::string_view chunk) = 0;
  virtual void on_end(Result<void> result) = 0;
};

// Keeps a stream open; destroying it closes the stream, and no call to the receiver starts
// afterwards.
class StreamHandle {
 public:
  virtual ~StreamHandle() = default;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Blocks until the whole response is in or `timeout` has passed (kTimeout). Connection failures
  // are kUnavailable. Thread safe. HTTP errors are responses, not Errors.
  virtual Result<Response> round_trip(const Request& request, Duration timeout) = 0;
  // Starts a streamed request; returns at once. The receiver must live until the handle is
  // destroyed.
  virtual std::unique_ptr<StreamHandle> open_stream(const Request& request,
                                                    std::shared_ptr<StreamReceiver> receiver) = 0;
};

}  // namespace kueue::wire
