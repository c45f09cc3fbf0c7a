// Path of a value inside a document, as Kubernetes writes it: spec.containers[0].env[3].name,
// metadata.labels[app]. A Path is a node of a linked list on the stack of a recursive walk: making
// one costs nothing, and text is only made when there is an error to tell. A Path must not outlive
// its parent nor the name it was given.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kueue::schema {

class Path {
 public:
  // The whole document.
  constexpr Path() = default;
  // ".name", or "name" directly below the root.
  constexpr Path child(std::string_view name) const& { return Path(this, Step::kChild, name, 0); }
  // "[3]".
  constexpr Path index(size_t i) const& { return Path(this, Step::kIndex, {}, i); }
  // "[key]": an entry of a map.
  constexpr Path key(std::string_view name) const& { return Path(this, Step::kKey, name, 0); }
  // A step from a temporary would point to what is gone at the end of the statement: name the
  // parent.
  Path child(std::string_view) const&& = delete;
  Path index(size_t) const&& = delete;
  Path key(std::string_view) const&& = delete;

  constexpr bool is_root() const { return parent_ == nullptr; }
  // "" for the root.
  std::string str() const;

 private:
  enum class Step : unsigned char { kRoot, kChild, kIndex, kKey };
  constexpr Path(const Path* parent, Step step, std::string_view name, size_t index)
      : parent_(parent), name_(name), index_(index), step_(step) {}
  void append_to(std::string& out) const;

  const Path* parent_ = nullptr;
  std::string_view name_ = {};
  size_t index_ = 0;
  Step step_ = Step::kRoot;
};

}  // namespace kueue::schema
