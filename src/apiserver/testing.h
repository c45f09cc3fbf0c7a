// For tests: a Server in memory or in a folder, and a client that calls it in process.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/server.h"
#include "json/value.h"
#include "wire/http.h"

namespace kueue::apiserver::testing {

// A folder that is removed at the end.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Options in memory with every kind built in.
Options memory_options();
Options folder_options(const std::string& folder);

struct Answer {
  int status = 0;
  wire::Headers headers;
  std::string body;
  json::Value json;  // null when the body is no JSON
};

// An open watch: lines as they come.
class Stream {
 public:
  // The next event; null after `seconds` without one or at the end.
  json::Value next(int seconds = 5);
  bool ended(int seconds = 5);
  int status();
  void close();  // the client goes away

  struct State;
  std::shared_ptr<State> state;
};

class Client {
 public:
  explicit Client(wire::Handler& handler) : handler_(handler) {}
  // A path with its query. Waits for the answer.
  Answer call(std::string_view method, std::string_view path, std::string_view body = {},
              std::string_view content_type = "application/json");
  Answer get(std::string_view path) { return call("GET", path); }
  Answer post(std::string_view path, std::string_view body) { return call("POST", path, body); }
  Answer put(std::string_view path, std::string_view body) { return call("PUT", path, body); }
  Answer merge(std::string_view path, std::string_view body) {
    return call("PATCH", path, body, "application/merge-patch+json");
  }
  Answer remove(std::string_view path, std::string_view body = {}) {
    return call("DELETE", path, body);
  }
  Stream watch(std::string_view path);
  // Until get(path) answers `status`, or 10 seconds have passed; the last answer.
  Answer await_status(std::string_view path, int status);

  std::string accept;  // of the next calls
  wire::Identity identity{.user = "admin", .groups = {"system:masters"}, .extra = {}};
  std::string authorization;
  std::string user_agent = "test/1";

 private:
  wire::Request request(std::string_view method, std::string_view path);
  wire::Handler& handler_;
};

}  // namespace kueue::apiserver::testing
