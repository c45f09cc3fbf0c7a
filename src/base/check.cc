#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace kueue {

void check_failed(const char* file, int line, const char* expression, const char* message) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s: %s\n", file, line, expression, message);
  std::abort();
}

}  // namespace kueue
