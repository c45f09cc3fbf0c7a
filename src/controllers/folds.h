// Folds<T>: API values as they lie while nobody reads them: packed text (base/packed.h), which is a
// tenth of the decoded value. Who opens one gets the decoded value; those opened last stay decoded,
// so that passes over the same object, and values that many objects share, cost nothing. Thread
// safe.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/packed.h"
#include "base/shared.h"
#include "json/json.h"
#include "schema/codec.h"

namespace kueue::controllers {

template <typename T>
class Folds {
 public:
  using Source = typename Shared<T>::Source;

  // At most `kept_open` values stay decoded for nobody's sake.
  explicit Folds(size_t kept_open) : state_(std::make_shared<State>()) {
    state_->recent.resize(kept_open);
  }

  // `text` is the JSON of `made`. What is returned may outlive the Folds.
  std::shared_ptr<const Source> fold(std::string_view text, T made) {
    auto folded = std::make_shared<Folded>(state_);
    std::shared_ptr<const T> value(new T(std::move(made)));
    std::shared_ptr<const T> oldest;  // goes after the lock
    std::lock_guard lock(state_->mutex);
    folded->text = state_->packer.pack(text, 0);
    oldest = state_->keep(value);
    folded->opened = std::move(value);
    return folded;
  }

 private:
  struct State {
    std::mutex mutex;
    Packer packer;
    std::vector<std::shared_ptr<const T>> recent;  // a ring
    size_t next = 0;

    std::shared_ptr<const T> keep(std::shared_ptr<const T> value) {
      std::shared_ptr<const T> oldest = std::exchange(recent[next], std::move(value));
      next = (next + 1) % recent.size();
      return oldest;
    }
  };

  struct Folded final : Source {
    explicit Folded(std::shared_ptr<State> s) : state(std::move(s)) {}

    std::shared_ptr<const T> open() const override {
      {
        std::lock_guard lock(state->mutex);
        if (std::shared_ptr<const T> value = opened.lock()) return value;
      }
      Result<json::Value> document = json::parse(text->text());
      KUEUE_CHECK(document.ok(), "a folded value is no JSON");
      std::shared_ptr<T> made(new T());
      const Result<void> decoded =
          schema::decode_value(schema::value_binding<T>, *document, made.get());
      KUEUE_CHECK(decoded.ok(), "a folded value does not decode any more");
      std::shared_ptr<const T> oldest;  // goes after the lock
      std::lock_guard lock(state->mutex);
      opened = made;
      oldest = state->keep(made);
      return made;
    }

    const std::shared_ptr<State> state;
    PackedPtr text;
    // Of values that are allocated apart from their counters (not by make_shared): those stay as
    // long as this, and must not keep the value's memory.
    mutable std::weak_ptr<const T> opened;
  };

  std::shared_ptr<State> state_;
};

}  // namespace kueue::controllers
