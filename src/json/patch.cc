#include "json/patch.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "json/json.h"

namespace kueue::json {
namespace {

constexpr size_t kMaxOperations = 10'000;
// Copies can double a document with every operation; growth beyond this is refused. The API server
// has the same limit.
constexpr size_t kMaxCopiedBytes = 3u << 20;

// One pass over all members of an object costs as much as so many removals of one.
constexpr size_t kPassCosts = 16;

// The unescaped tokens of a JSON pointer; nullopt when it is malformed.
std::optional<std::vector<std::string>> parse_pointer(std::string_view text) {
  std::vector<std::string> tokens;
  if (text.empty()) return tokens;
  if (text.front() != '/') return std::nullopt;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/') {
      tokens.emplace_back();
    } else if (text[i] == '~') {
      ++i;
      if (i == text.size() || (text[i] != '0' && text[i] != '1')) return std::nullopt;
      tokens.back() += text[i] == '0' ? '~' : '/';
    } else {
      tokens.back() += text[i];
    }
  }
  return tokens;
}

// An index into an array of `size` items: digits without leading zero. `end` allows "-" and the
// size itself.
std::optional<size_t> array_index(std::string_view token, size_t size, bool end) {
  if (end && token == "-") return size;
  if (token.empty() || (token.size() > 1 && token[0] == '0')) return std::nullopt;
  size_t n = 0;
  auto [stop, error] = std::from_chars(token.data(), token.data() + token.size(), n);
  if (error != std::errc() || stop != token.data() + token.size()) return std::nullopt;
  if (end ? n > size : n >= size) return std::nullopt;
  return n;
}

Value* child(Value& parent, const std::string& token) {
  if (parent.is_object()) return parent.find(token);
  if (!parent.is_array()) return nullptr;
  auto i = array_index(token, parent.as_array().size(), false);
  return i ? &parent.as_array()[*i] : nullptr;
}

// About the length of the value's text.
size_t text_size(const Value& value) {
  if (value.is_string()) return value.as_string().size() + 2;
  size_t n = 4;
  if (value.is_array()) {
    for (const Value& item : value.as_array()) n += text_size(item);
  } else if (value.is_object()) {
    for (const auto& [key, item] : value.as_object()) n += key.size() + 4 + text_size(item);
  }
  return n;
}

using Tokens = std::vector<std::string>;

class JsonPatch {
 public:
  JsonPatch(Value document, size_t max_moves)
      : document_(std::move(document)), max_moves_(max_moves) {}

  Result<void> apply(const Value& operation, size_t index) {
    index_ = index;
    if (!operation.is_object()) return malformed("must be an object");
    std::string_view op = operation.get_string({"op"});
    const Value* path_text = operation.find("path");
    if (!path_text || !path_text->is_string()) return malformed("needs a string \"path\"");
    path_ = path_text->as_string();
    auto path = parse_pointer(path_);
    if (!path) return malformed("\"path\" is not a JSON pointer: \"" + path_ + "\"");
    if (op == "remove") return remove(*path);
    KUEUE_TRY(settle());
    if (op == "add" || op == "replace" || op == "test") {
      const Value* value = operation.find("value");
      if (!value) return malformed("needs a \"value\"");
      if (op == "add") return add(*path, *value);
      return op == "replace" ? replace(*path, *value) : test(*path, *value);
    }
    if (op == "move" || op == "copy") {
      const Value* from_text = operation.find("from");
      if (!from_text || !from_text->is_string()) return malformed("needs a string \"from\"");
      auto from = parse_pointer(from_text->as_string());
      if (!from)
        return malformed("\"from\" is not a JSON pointer: \"" + from_text->as_string() + "\"");
      return op == "move" ? move(*from, *path) : copy(*from, *path);
    }
    return malformed("unknown \"op\": \"" + std::string(op) + "\"");
  }

  Result<Value> take() {
    KUEUE_TRY(settle());
    return std::move(document_);
  }

 private:
  Error malformed(const std::string& what) const {
    return make_error(ErrorCode::kBadRequest, "operation " + std::to_string(index_) + ": " + what);
  }

  Error refused(const std::string& what) const {
    return make_error(ErrorCode::kInvalid,
                      "operation " + std::to_string(index_) + " at \"" + path_ + "\": " + what);
  }

  Value* locate(const Tokens& tokens, size_t count) {
    Value* v = &document_;
    for (size_t i = 0; i < count && v; ++i) v = child(*v, tokens[i]);
    return v;
  }

  Result<void> add(const Tokens& path, Value value) {
    if (path.empty()) {
      document_ = std::move(value);
      return {};
    }
    Value* parent = locate(path, path.size() - 1);
    if (!parent) return refused("the parent does not exist");
    if (parent->is_object()) {
      parent->as_object().set(path.back(), std::move(value));
      return {};
    }
    if (!parent->is_array()) return refused("the parent is neither object nor array");
    Array& items = parent->as_array();
    auto i = array_index(path.back(), items.size(), true);
    if (!i) return refused("array index out of bounds");
    KUEUE_TRY(shift(items.size() - *i));
    items.insert(items.begin() + static_cast<std::ptrdiff_t>(*i), std::move(value));
    return {};
  }

  Result<Value> take_out(const Tokens& path) {
    if (path.empty()) return std::exchange(document_, Value());
    Value* parent = locate(path, path.size() - 1);
    Value* target = parent ? child(*parent, path.back()) : nullptr;
    if (!target) return refused("nothing is there to remove");
    if (parent->is_object()) {
      KUEUE_TRY(shift(parent->as_object().size()));
      Value value = std::move(*target);
      parent->as_object().erase(path.back());
      return value;
    }
    Array& items = parent->as_array();
    const auto place = items.begin() + (target - items.data());
    KUEUE_TRY(shift(static_cast<size_t>(items.end() - place)));
    Value value = std::move(*target);
    items.erase(place);
    return value;
  }

  // Removals of members of one object in a row are carried out together: one pass instead of one
  // each. Nothing else looks at the document before settle().
  Result<void> remove(const Tokens& path) {
    const bool goes_on = !gone_.empty() && path.size() == gone_from_.size() + 1 &&
                         std::equal(gone_from_.begin(), gone_from_.end(), path.begin());
    if (!goes_on) KUEUE_TRY(settle());
    Value* parent = path.empty() ? nullptr : locate(path, path.size() - 1);
    if (parent == nullptr || !parent->is_object()) {
      KUEUE_TRY(take_out(path));
      return {};
    }
    if (!parent->find(path.back()) || !gone_.insert(path.back()).second)
      return refused("nothing is there to remove");
    gone_from_.assign(path.begin(), path.end() - 1);
    return {};
  }

  Result<void> settle() {
    if (gone_.empty()) return {};
    Object& parent = locate(gone_from_, gone_from_.size())->as_object();
    // One pass over all members has its price too.
    KUEUE_TRY(shift(parent.size() * std::min(gone_.size(), kPassCosts)));
    if (gone_.size() < kPassCosts) {
      for (const std::string& key : gone_) parent.erase(key);
    } else {
      parent.erase_keys({gone_.begin(), gone_.end()});
    }
    gone_.clear();
    return {};
  }

  // `count` items or members are about to move by one place.
  Result<void> shift(size_t count) {
    shifted_ += count;
    if (shifted_ <= max_moves_) return {};
    return make_error(ErrorCode::kTooLarge,
                      "operation " + std::to_string(index_) + " at \"" + path_ +
                          "\": the patch moves the items behind it more than " +
                          std::to_string(max_moves_) +
                          " times in all; replace the whole list or object instead");
  }

  Result<void> replace(const Tokens& path, const Value& value) {
    Value* target = locate(path, path.size());
    if (!target) return refused("nothing is there to replace");
    *target = value;
    return {};
  }

  Result<void> test(const Tokens& path, const Value& value) {
    Value* target = locate(path, path.size());
    // A missing member passes a test for null, as the API server's patch library has it.
    bool equal = target ? *target == value : value.is_null();
    if (!equal) return refused("testing value failed");
    return {};
  }

  Result<void> move(const Tokens& from, const Tokens& path) {
    bool inside = from.size() < path.size() && std::equal(from.begin(), from.end(), path.begin());
    if (inside) return refused("cannot move a value into itself");
    if (from == path) {
      if (!locate(from, from.size())) return refused("nothing is at \"from\"");
      return {};
    }
    KUEUE_ASSIGN(Value value, take_out(from));
    return add(path, std::move(value));
  }

  Result<void> copy(const Tokens& from, const Tokens& path) {
    const Value* source = locate(from, from.size());
    if (!source) return refused("nothing is at \"from\"");
    copied_ += text_size(*source);
    if (copied_ > kMaxCopiedBytes) {
      return make_error(ErrorCode::kTooLarge, "operation " + std::to_string(index_) + " at \"" +
                                                  path_ + "\": the patch copies more than " +
                                                  std::to_string(kMaxCopiedBytes) + " bytes");
    }
    return add(path, *source);
  }

  Value document_;
  const size_t max_moves_;
  size_t index_ = 0;
  size_t copied_ = 0;
  size_t shifted_ = 0;
  std::string path_;
  Tokens gone_from_;            // the object whose members `gone_` are to be removed
  std::set<std::string> gone_;  // empty = none
};

}  // namespace

Result<Value> apply_json_patch(const Value& document, const Value& patch, size_t max_moves) {
  if (!patch.is_array())
    return make_error(ErrorCode::kBadRequest, "a JSON patch must be an array of operations");
  const Array& operations = patch.as_array();
  if (operations.size() > kMaxOperations) {
    return make_error(ErrorCode::kTooLarge, "The allowed maximum operations in a JSON patch is " +
                                                std::to_string(kMaxOperations) + ", got " +
                                                std::to_string(operations.size()));
  }
  JsonPatch work(document, max_moves);
  for (size_t i = 0; i < operations.size(); ++i) KUEUE_TRY(work.apply(operations[i], i));
  return work.take();
}

Value apply_merge_patch(Value document, const Value& patch) {
  if (!patch.is_object()) return patch;
  if (!document.is_object()) document = Value(Object());
  Object& target = document.as_object();
  std::vector<std::string> gone;
  for (const auto& [key, change] : patch.as_object()) {
    if (change.is_null()) {
      gone.push_back(key);
    } else if (change.is_object()) {
      Value& member = target[key];
      member = apply_merge_patch(std::move(member), change);
    } else {
      target.set(key, change);
    }
  }
  target.erase_keys(std::move(gone));
  return document;
}

Value make_merge_patch(const Value& from, const Value& to) {
  if (!from.is_object() || !to.is_object()) return from == to ? Value(Object()) : to;
  Object patch;
  for (const auto& [key, value] : to.as_object()) {
    const Value* before = from.find(key);
    if (before && *before == value) continue;
    if (before && before->is_object() && value.is_object()) {
      patch.append(key, make_merge_patch(*before, value));
    } else {
      patch.append(key, value);
    }
  }
  for (const auto& member : from.as_object()) {
    if (!to.find(member.first)) patch.append(member.first, Value());
  }
  return Value(std::move(patch));
}

}  // namespace kueue::json
