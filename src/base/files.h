// Reading of whole files: configuration, certificates, tokens. Thread safe.
#pragma once

#include <string>

#include "base/result.h"

namespace kueue {

// kNotFound when there is none, kUnavailable when it cannot be read, is a folder, or is larger than
// 64 MiB (a device never ends). The text starts with the path.
Result<std::string> read_file(const std::string& path);

}  // namespace kueue
