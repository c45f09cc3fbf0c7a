// Base64 and keyed digests. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kueue::apiserver {

std::string base64_encode(std::string_view bytes);
// nullopt for bad input; padding is needed.
std::optional<std::string> base64_decode(std::string_view text);
// Without padding.
std::string base64url_encode(std::string_view bytes);
std::optional<std::string> base64url_decode(std::string_view text);
std::string hmac_sha256(std::string_view key, std::string_view text);
std::string sha256_hex(std::string_view text);
std::string random_bytes(size_t n);
// Equal in a time that does not depend on where they differ.
bool equal_constant_time(std::string_view a, std::string_view b);

}  // namespace kueue::apiserver
