// Packed: how an object lies in memory while nobody reads it. Objects of one kind resemble each
// other, so a text is compressed (LZ4) against samples of its collection; opening it costs a few
// microseconds. Packed values are immutable and may be shared and opened from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace kueue {

class Packed;

// Owns one reference to a Packed, or none. As thread safe as std::shared_ptr.
class PackedPtr {
 public:
  PackedPtr() = default;
  PackedPtr(std::nullptr_t) {}  // NOLINT: implicit by intent
  PackedPtr(const PackedPtr& other);
  PackedPtr(PackedPtr&& other) noexcept : packed_(std::exchange(other.packed_, nullptr)) {}
  PackedPtr& operator=(PackedPtr other) noexcept {
    std::swap(packed_, other.packed_);
    return *this;
  }
  ~PackedPtr();

  const Packed* operator->() const { return packed_; }
  const Packed& operator*() const { return *packed_; }
  explicit operator bool() const { return packed_ != nullptr; }
  bool operator==(std::nullptr_t) const { return packed_ == nullptr; }

 private:
  friend class Packer;
  explicit PackedPtr(Packed* fresh) : packed_(fresh) {}
  Packed* packed_ = nullptr;
};

class Packed {
 public:
  uint64_t revision() const { return revision_; }
  // Of the text.
  size_t text_size() const { return text_size_; }
  // What it occupies, without its share of the samples.
  size_t cost() const { return sizeof(Packed) + packed_size_; }
  // The text as it was packed. O(text_size()).
  std::string text() const;

 private:
  friend class Packer;
  friend class PackedPtr;
  Packed() = default;
  const char* data() const { return reinterpret_cast<const char*>(this + 1); }
  char* data() { return reinterpret_cast<char*>(this + 1); }

  std::atomic<uint32_t> references_ = 1;
  uint32_t text_size_ = 0;
  uint32_t packed_size_ = 0;  // = text_size_: the text itself
  uint64_t revision_ = 0;
  std::shared_ptr<const std::string> samples_;
};

// Packs the texts of one collection and learns samples from those that resemble none of the
// samples it has. Not thread safe.
class Packer {
 public:
  Packer();
  ~Packer();
  Packer(Packer&&) noexcept;
  Packer& operator=(Packer&&) noexcept;

  // `text` up to 1 GiB.
  PackedPtr pack(std::string_view text, uint64_t revision);

 private:
  struct State;
  void learn(std::string_view text, size_t packed_size);

  std::shared_ptr<const std::string> samples_;  // null at first
  std::unique_ptr<State> state_;                // prepared for samples_; null with them
  std::string novel_;                           // texts that will become samples
  uint32_t since_ = 0;                          // texts packed since the samples were chosen
  uint32_t novel_count_ = 0;                    // of these, those that resembled no sample
};

}  // namespace kueue
