// KeyIndex: from "namespace, name" to ids of records that hold their key themselves. A table of
// slots with open addressing: 8 bytes an entry, and no copy of the texts.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace kueue::engine {

// `matches(id)` tells whether the record has the key that is looked for.
template <typename IdType>
class KeyIndex {
 public:
  template <typename Matches>
  IdType find(std::string_view ns, std::string_view name, const Matches& matches) const {
    size_t at = locate(ns, name, matches);
    return at == kNowhere ? IdType() : slots_[at].id;
  }
  // The key must not be there yet.
  void insert(std::string_view ns, std::string_view name, IdType id) {
    if ((size_ + 1) * 4 > slots_.size() * 3) grow();
    place({id, hash(ns, name)});
    ++size_;
  }
  template <typename Matches>
  void erase(std::string_view ns, std::string_view name, const Matches& matches) {
    size_t hole = locate(ns, name, matches);
    if (hole == kNowhere) return;
    // Whoever stands behind its place because of the hole moves up.
    for (size_t at = next(hole); slots_[at].id.valid(); at = next(at)) {
      size_t home = slots_[at].hash & (slots_.size() - 1);
      bool stays = hole < at ? (hole < home && home <= at) : (hole < home || home <= at);
      if (stays) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = Slot();
    --size_;
  }
  size_t size() const { return size_; }

 private:
  struct Slot {
    IdType id;
    uint32_t hash = 0;
  };
  static constexpr size_t kNowhere = SIZE_MAX;

  static uint32_t hash(std::string_view ns, std::string_view name) {
    uint64_t h = std::hash<std::string_view>()(ns) * 0x9e3779b97f4a7c15u;
    h = (h ^ std::hash<std::string_view>()(name)) * 0x9e3779b97f4a7c15u;
    return static_cast<uint32_t>(h >> 32);
  }
  size_t next(size_t at) const { return (at + 1) & (slots_.size() - 1); }

  template <typename Matches>
  size_t locate(std::string_view ns, std::string_view name, const Matches& matches) const {
    if (slots_.empty()) return kNowhere;
    uint32_t h = hash(ns, name);
    for (size_t at = h & (slots_.size() - 1); slots_[at].id.valid(); at = next(at))
      if (slots_[at].hash == h && matches(slots_[at].id)) return at;
    return kNowhere;
  }
  void place(Slot slot) {
    size_t at = slot.hash & (slots_.size() - 1);
    while (slots_[at].id.valid()) at = next(at);
    slots_[at] = slot;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.id.valid()) place(slot);
  }

  std::vector<Slot> slots_;  // a power of two
  size_t size_ = 0;
};

}  // namespace kueue::engine
