#include "schema/fuzz_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  kueue::schema::check_strategic_text({reinterpret_cast<const char*>(data), size});
  return 0;
}
