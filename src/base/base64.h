// Base64 with the standard alphabet and padding, as kubeconfig files and Secrets use it. Pure,
// thread safe.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace kueue {

std::string base64_encode(std::string_view data);
// Line breaks and blanks are skipped; kInvalid for anything else outside the alphabet or a wrong
// length.
Result<std::string> base64_decode(std::string_view text);

}  // namespace kueue
