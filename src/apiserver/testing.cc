#include "apiserver/testing.h"

#include <stdlib.h>

#include <chrono>
#include <deque>
#include <thread>

#include "api/registry.h"
#include "json/json.h"
#include "wire/path.h"

namespace kueue::apiserver::testing {

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "apiserver-XXXXXX").string();
  KUEUE_CHECK(mkdtemp(name.data()) != nullptr, "no temporary folder");
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Options memory_options() {
  Options options;
  options.memory = true;
  const auto resources = api::builtin_resources();
  options.resources.assign(resources.begin(), resources.end());
  return options;
}

Options folder_options(const std::string& folder) {
  Options options = memory_options();
  options.memory = false;
  options.data_dir = folder;
  return options;
}

struct Stream::State : wire::ResponseSink {
  void respond(wire::Response response) override {
    std::lock_guard lock(mutex);
    head = response;
    answer = std::move(response);
    done = true;
    changed.notify_all();
  }
  void begin_stream(wire::Response response) override {
    std::lock_guard lock(mutex);
    head = std::move(response);
    begun = true;
    changed.notify_all();
  }
  bool write(std::string chunk) override {
    std::lock_guard lock(mutex);
    if (gone) return false;
    lines.push_back(std::move(chunk));
    changed.notify_all();
    return true;
  }
  void end_stream() override {
    std::lock_guard lock(mutex);
    done = true;
    changed.notify_all();
  }
  void on_close(std::function<void()> callback) override {
    std::lock_guard lock(mutex);
    close = std::move(callback);
  }
  template <typename F>
  bool wait(int seconds, F ready) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(seconds), ready);
  }

  std::mutex mutex;
  std::condition_variable changed;
  wire::Response head;
  wire::Response answer;
  std::deque<std::string> lines;
  std::function<void()> close;
  bool begun = false;
  bool done = false;
  bool gone = false;
};

json::Value Stream::next(int seconds) {
  if (!state->wait(seconds, [&] { return !state->lines.empty() || state->done; })) return {};
  std::lock_guard lock(state->mutex);
  if (state->lines.empty()) return {};
  auto parsed = json::parse(state->lines.front());
  state->lines.pop_front();
  return parsed.ok() ? std::move(parsed).value() : json::Value();
}

bool Stream::ended(int seconds) {
  return state->wait(seconds, [&] { return state->done; });
}

int Stream::status() {
  state->wait(5, [&] { return state->begun || state->done; });
  std::lock_guard lock(state->mutex);
  return state->head.status;
}

void Stream::close() {
  std::function<void()> callback;
  {
    std::lock_guard lock(state->mutex);
    state->gone = true;
    callback = state->close;
  }
  if (callback) callback();
}

wire::Request Client::request(std::string_view method, std::string_view path) {
  wire::Request r;
  r.method = method;
  const size_t question = path.find('?');
  r.path = path.substr(0, question);
  if (question != std::string_view::npos) r.query = wire::parse_query(path.substr(question + 1));
  if (!accept.empty()) r.headers.set("Accept", accept);
  if (!authorization.empty()) r.headers.set("Authorization", authorization);
  r.headers.set("User-Agent", user_agent);
  r.identity = identity;
  return r;
}

Answer Client::call(std::string_view method, std::string_view path, std::string_view body,
                    std::string_view content_type) {
  wire::Request r = request(method, path);
  r.body = body;
  if (!body.empty()) r.headers.set("Content-Type", std::string(content_type));
  auto sink = std::make_shared<Stream::State>();
  handler_.handle(std::move(r), sink);
  Answer answer;
  if (!sink->wait(30, [&] { return sink->done; })) return answer;
  answer.status = sink->answer.status;
  answer.headers = sink->answer.headers;
  answer.body = sink->answer.body;
  if (auto parsed = json::parse(answer.body); parsed.ok()) answer.json = std::move(parsed).value();
  return answer;
}

Stream Client::watch(std::string_view path) {
  Stream stream;
  stream.state = std::make_shared<Stream::State>();
  handler_.handle(request("GET", path), stream.state);
  return stream;
}

Answer Client::await_status(std::string_view path, int status) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (true) {
    Answer answer = get(path);
    if (answer.status == status || std::chrono::steady_clock::now() > end) return answer;
    std::this_thread::yield();
  }
}

}  // namespace kueue::apiserver::testing
