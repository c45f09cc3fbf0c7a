#include "controllers/jobs/naming.h"

#include <openssl/sha.h>

#include <array>

namespace kueue::controllers::jobs {
namespace {

constexpr size_t kHashLength = 5;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string sha1_hex(std::string_view text) {
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest;
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::string out;
  for (unsigned char byte : digest) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

}  // namespace

std::string workload_name(const OwnerName& owner, std::string_view extra, bool short_names) {
  std::string hashed;
  for (std::string_view part : {owner.kind, owner.group, owner.name}) {
    hashed += part;
    hashed += '\n';
  }
  hashed += owner.uid;
  if (!extra.empty()) {
    hashed += '\n';
    hashed += extra;
  }
  std::string name = lower(owner.kind) + "-" + std::string(owner.name);
  const size_t limit = (short_names ? 63 : 253) - kHashLength - 1;
  if (name.size() > limit) name.resize(limit);
  return name + "-" + sha1_hex(hashed).substr(0, kHashLength);
}

}  // namespace kueue::controllers::jobs
