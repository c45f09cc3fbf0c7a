// Invariant checks that stay on in every build. A broken invariant is a bug of ours: it ends the
// process with a message. Input never reaches a CHECK; input errors are values (base/result.h).
#pragma once

namespace kueue {

// Prints "file:line: CHECK failed: expression message" to stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* expression,
                               const char* message);

}  // namespace kueue

#define KUEUE_CHECK(expression, message)                               \
  do {                                                                 \
    if (!(expression)) [[unlikely]]                                    \
      ::kueue::check_failed(__FILE__, __LINE__, #expression, message); \
  } while (false)
