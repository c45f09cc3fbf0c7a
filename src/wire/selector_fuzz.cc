#include "wire/selector_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  kueue::wire::check_selector_text({reinterpret_cast<const char*>(data), size});
  return 0;
}
