// A sink for tests of handlers that answer at once, without a stream.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "wire/http.h"

namespace kueue::wire {

struct Answer final : ResponseSink {
  Response response;
  void respond(Response r) override { response = std::move(r); }
  void begin_stream(Response) override {}
  bool write(std::string) override { return false; }
  void end_stream() override {}
  void on_close(std::function<void()>) override {}
};

}  // namespace kueue::wire
