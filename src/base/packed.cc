#include "base/packed.h"

#include <lz4.h>

#include <cstring>
#include <new>
#include <vector>

#include "base/check.h"

namespace kueue {

namespace {

constexpr size_t kSamplesBytes = 16u << 10;
// A collection of fewer texts is not worth samples.
constexpr uint32_t kFirstSamplesAfter = 32;
// New samples keep the old ones alive as long as texts are packed against them, so they come at
// most this often (64 bytes per text), and only while many texts resemble none.
constexpr uint32_t kNewSamplesAfter = 256;
constexpr uint32_t kNovelShare = 8;
// A text packed to more than one in this many bytes resembles no sample.
constexpr size_t kNovelRatio = 10;
// What saves less than this is left as it is.
constexpr size_t kWorthwhile = 32;

}  // namespace

struct Packer::State {
  LZ4_stream_t prepared;
};

PackedPtr::PackedPtr(const PackedPtr& other) : packed_(other.packed_) {
  if (packed_ != nullptr) packed_->references_.fetch_add(1, std::memory_order_relaxed);
}

PackedPtr::~PackedPtr() {
  if (packed_ == nullptr) return;
  if (packed_->references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  packed_->~Packed();
  ::operator delete(packed_);
}

std::string Packed::text() const {
  if (packed_size_ == text_size_) return {data(), text_size_};
  std::string text(text_size_, '\0');
  const int size = static_cast<int>(text_size_);
  const char* samples = samples_ == nullptr ? nullptr : samples_->data();
  const int samples_size = samples_ == nullptr ? 0 : static_cast<int>(samples_->size());
  const int got = LZ4_decompress_safe_usingDict(data(), text.data(), static_cast<int>(packed_size_),
                                                size, samples, samples_size);
  KUEUE_CHECK(got == size, "a packed object is damaged");
  return text;
}

Packer::Packer() = default;
Packer::~Packer() = default;
Packer::Packer(Packer&&) noexcept = default;
Packer& Packer::operator=(Packer&&) noexcept = default;

PackedPtr Packer::pack(std::string_view text, uint64_t revision) {
  KUEUE_CHECK(text.size() < (1u << 30), "an object of more than 1 GiB");
  thread_local std::vector<char> buffer;
  thread_local LZ4_stream_t stream;
  const int size = static_cast<int>(text.size());
  const int bound = LZ4_compressBound(size);
  if (buffer.size() < static_cast<size_t>(bound)) buffer.resize(static_cast<size_t>(bound));
  // A prepared stream is a plain table of positions in the samples: a copy of it starts anew.
  if (state_ != nullptr)
    stream = state_->prepared;
  else
    LZ4_initStream(&stream, sizeof stream);
  const int made = LZ4_compress_fast_continue(&stream, text.data(), buffer.data(), size, bound, 1);
  const size_t packed_size = made > 0 ? static_cast<size_t>(made) : text.size();
  const bool packed = packed_size + kWorthwhile <= text.size();

  const size_t kept = packed ? packed_size : text.size();
  auto* fresh = new (::operator new(sizeof(Packed) + kept)) Packed;
  fresh->text_size_ = static_cast<uint32_t>(text.size());
  fresh->packed_size_ = static_cast<uint32_t>(kept);
  fresh->revision_ = revision;
  if (packed) fresh->samples_ = samples_;
  if (kept > 0) std::memcpy(fresh->data(), packed ? buffer.data() : text.data(), kept);
  PackedPtr result(fresh);

  // A rare huge text shall not leave its buffer behind.
  if (buffer.size() > (1u << 20)) std::vector<char>().swap(buffer);
  learn(text, kept);
  return result;
}

void Packer::learn(std::string_view text, size_t packed_size) {
  ++since_;
  if (samples_ == nullptr || packed_size * kNovelRatio > text.size()) {
    ++novel_count_;
    if (text.size() <= kSamplesBytes / 2 && novel_.size() + text.size() <= kSamplesBytes)
      novel_.append(text);
  }
  if (since_ < (samples_ == nullptr ? kFirstSamplesAfter : kNewSamplesAfter)) return;
  if (!novel_.empty() && novel_count_ * kNovelShare >= since_) {
    std::string samples = samples_ == nullptr ? std::string() : *samples_;
    samples.append(novel_);
    if (samples.size() > kSamplesBytes) samples.erase(0, samples.size() - kSamplesBytes);
    samples.shrink_to_fit();
    samples_ = std::make_shared<const std::string>(std::move(samples));
    if (state_ == nullptr) state_ = std::make_unique<State>();
    LZ4_initStream(&state_->prepared, sizeof state_->prepared);
    LZ4_loadDict(&state_->prepared, samples_->data(), static_cast<int>(samples_->size()));
  }
  since_ = novel_count_ = 0;
  std::string().swap(novel_);
}

}  // namespace kueue
