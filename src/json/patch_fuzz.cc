#include "json/fuzz_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  kueue::json::check_patch_text({reinterpret_cast<const char*>(data), size});
  return 0;
}
