#include "schema/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "json/json.h"
#include "schema/walk.h"

namespace kueue::schema {
namespace {

constexpr std::string_view kPatch = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDeletePrefix = "$deleteFromPrimitiveList/";
constexpr std::string_view kOrderPrefix = "$setElementOrder/";

Error misuse(std::string message) { return make_error(ErrorCode::kInternal, std::move(message)); }

bool is_directive(std::string_view key) {
  return key == kPatch || key == kRetainKeys || key.starts_with(kDeletePrefix) ||
         key.starts_with(kOrderPrefix);
}

bool merges_list(const Field* field) {
  if (field == nullptr) return false;
  return field->patch_strategy == PatchStrategy::kMerge ||
         field->patch_strategy == PatchStrategy::kMergeRetainKeys;
}

const Type& any_type() {
  static constexpr Type kAnything{.kind = Kind::kAny};
  return kAnything;
}

class Merger {
 public:
  Result<json::Value> merge_map(const Type& type, json::Value original, const json::Value& patch,
                                int depth) {
    if (depth > kMaxDepth) return misuse("the patch is nested too deeply");
    if (const json::Value* directive = patch.find(kPatch)) {
      const std::string_view what = directive->string_or({});
      if (what == "delete") return json::Value::object();
      if (what == "replace") {
        json::Value replacement = patch;
        replacement.as_object().erase(kPatch);
        return replacement;
      }
      if (what != "merge")
        return misuse(
            fmt::format("unknown patch type: {} in map: {}",
                        directive->is_string() ? std::string(what) : json::write(*directive),
                        json::write(patch)));
    }
    KUEUE_TRY(retain_keys(original, patch));
    FieldCursor cursor(type);
    std::vector<std::string> gone;
    for (const auto& [key, value] : patch.as_object()) {
      if (is_directive(key)) continue;
      if (value.is_null()) {
        gone.push_back(key);
        continue;
      }
      KUEUE_TRY(merge_member(type, cursor.find(key), original, patch, key, value, depth));
    }
    original.as_object().erase_keys(std::move(gone));
    KUEUE_TRY(apply_lone_directives(type, original, patch));
    return original;
  }

 private:
  static Result<void> retain_keys(json::Value& original, const json::Value& patch) {
    const json::Value* keep = patch.find(kRetainKeys);
    if (keep == nullptr) return {};
    const Error malformed =
        make_error(ErrorCode::kBadRequest, "invalid patch format of retainKeys");
    if (!keep->is_array()) return malformed;
    auto kept = [&](std::string_view name) {
      for (const json::Value& item : keep->as_array())
        if (item.string_or({}) == name) return true;
      return false;
    };
    for (const auto& [key, value] : patch.as_object())
      if (!is_directive(key) && !value.is_null() && !kept(key)) return malformed;
    std::vector<std::string> gone;
    for (const auto& [key, value] : original.as_object())
      if (!kept(key)) gone.push_back(key);
    original.as_object().erase_keys(std::move(gone));
    return {};
  }

  Result<void> merge_member(const Type& type, const Field* field, json::Value& original,
                            const json::Value& patch, const std::string& key,
                            const json::Value& value, int depth) {
    json::Object& object = original.as_object();
    const Type* member = &any_type();
    if (field != nullptr) {
      member = &*field->type;
    } else if (type.kind == Kind::kMap && type.element) {
      member = &*type.element;
    }
    const bool replaces = field != nullptr && field->patch_strategy == PatchStrategy::kReplace;
    json::Value* old = object.find(key);
    if (value.is_object() && !replaces) {
      json::Value base =
          old != nullptr && old->is_object() ? std::move(*old) : json::Value::object();
      KUEUE_ASSIGN(json::Value merged, merge_map(*member, std::move(base), value, depth + 1));
      object.set(key, std::move(merged));
      return {};
    }
    if (value.is_array() && merges_list(field)) {
      static const json::Array kNothing;
      const json::Array& base = old != nullptr && old->is_array() ? old->as_array() : kNothing;
      KUEUE_ASSIGN(json::Array merged, merge_list(*field, base, value, patch, depth + 1));
      // Nothing but directives does not make a list.
      if (old != nullptr || !merged.empty() || value.as_array().empty())
        object.set(key, json::Value(std::move(merged)));
      return {};
    }
    object.set(key, value);
    return {};
  }

  // Deletions and orders of lists that the patch does not otherwise mention.
  Result<void> apply_lone_directives(const Type& type, json::Value& original,
                                     const json::Value& patch) {
    for (const auto& [key, value] : patch.as_object()) {
      const bool deletes = key.starts_with(kDeletePrefix);
      if (!deletes && !key.starts_with(kOrderPrefix)) continue;
      const std::string_view name =
          std::string_view(key).substr(deletes ? kDeletePrefix.size() : kOrderPrefix.size());
      if (!value.is_array()) return misuse(fmt::format("the value of {} must be a list", key));
      const json::Value* mentioned = patch.find(name);
      if (mentioned != nullptr && mentioned->is_array()) continue;  // done with the list
      json::Value* list = original.find(name);
      const Field* field = type.field(name);
      if (list == nullptr || !list->is_array() || field == nullptr) continue;
      // When there are both, the deletion does the ordering too.
      if (!deletes && patch.find(std::string(kDeletePrefix) + std::string(name)) != nullptr)
        continue;
      KUEUE_ASSIGN(json::Array merged,
                   merge_list(*field, list->as_array(), json::Value::array(), patch, 0));
      *list = json::Value(std::move(merged));
    }
    return {};
  }

  static const json::Array* directive(const json::Value& patch, std::string_view prefix,
                                      std::string_view name) {
    const json::Value* found = patch.find(std::string(prefix) + std::string(name));
    return found != nullptr && found->is_array() ? &found->as_array() : nullptr;
  }

  // What tells items apart: the merge key's value of maps, the value itself of scalars.
  static std::string identity(const Field& field, const json::Value& item) {
    if (!item.is_object()) return json::write(item);
    const json::Value* key = item.find(field.patch_merge_key);
    return key != nullptr ? json::write(*key) : std::string();
  }

  static Result<void> check_items(const Field& field, const json::Array& base,
                                  const json::Array& patch) {
    size_t maps = 0;
    size_t others = 0;
    bool odd = false;  // only maps and scalars merge
    for (const json::Array* list : {&base, &patch})
      for (const json::Value& item : *list) {
        if (item.is_object()) {
          ++maps;
        } else {
          ++others;
        }
        odd = odd || item.is_array() || item.is_null();
      }
    if (odd || (maps > 0 && others > 0))
      return misuse(
          fmt::format("list element types are not identical: {}", json::write(json::Value(patch))));
    if (maps > 0 && field.patch_merge_key.empty())
      return misuse(fmt::format("cannot merge lists without merge key for {}", field.name));
    return {};
  }

  Result<json::Array> merge_list(const Field& field, const json::Array& base,
                                 const json::Value& patch_list, const json::Value& patch,
                                 int depth) {
    const json::Array& items = patch_list.as_array();
    KUEUE_TRY(check_items(field, base, items));
    const json::Array* deleted = directive(patch, kDeletePrefix, field.name);
    const json::Array* order = directive(patch, kOrderPrefix, field.name);
    json::Array merged = base;
    if (deleted != nullptr) {
      // Equal values have equal texts.
      std::unordered_set<std::string> texts;
      for (const json::Value& item : *deleted) texts.insert(json::write_sorted(item));
      std::erase_if(merged, [&](const json::Value& item) {
        return texts.contains(json::write_sorted(item));
      });
    }
    json::Array plain;  // items of the patch that are no directives
    bool replaces = false;
    for (const json::Value& item : items) {
      const json::Value* what = item.find(kPatch);
      if (what == nullptr) {
        plain.push_back(item);
        continue;
      }
      // As kube-apiserver does: a list that is not there yet has nothing to be directed.
      if (!base.empty()) KUEUE_TRY(list_directive(field, item, *what, merged, replaces));
    }
    if (replaces) return plain;
    if (order != nullptr) KUEUE_TRY(check_order(field, plain, *order));
    KUEUE_TRY(merge_items(field, merged, plain, depth));
    return ordered(field, std::move(merged), base, plain, order);
  }

  static Result<void> list_directive(const Field& field, const json::Value& item,
                                     const json::Value& what, json::Array& merged, bool& replaces) {
    const std::string_view text = what.string_or({});
    if (text == "replace") {
      replaces = true;
      return {};
    }
    if (text == "delete") {
      KUEUE_TRY(check_key(field, item));
      const std::string id = identity(field, item);
      std::erase_if(merged, [&](const json::Value& m) { return identity(field, m) == id; });
      return {};
    }
    if (text == "merge") return misuse("merging lists cannot yet be specified in the patch");
    return misuse(fmt::format("unknown patch type: {} in map: {}", text, json::write(item)));
  }

  static Result<void> check_key(const Field& field, const json::Value& item) {
    if (!item.is_object() || item.find(field.patch_merge_key) != nullptr) return {};
    return misuse(fmt::format("map: {} does not contain declared merge key: {}", json::write(item),
                              field.patch_merge_key));
  }

  Result<void> merge_items(const Field& field, json::Array& merged, const json::Array& items,
                           int depth) {
    std::unordered_map<std::string, size_t> at;
    for (size_t i = 0; i < merged.size(); ++i) at.try_emplace(identity(field, merged[i]), i);
    const Type& element = field.type->element ? *field.type->element : any_type();
    for (const json::Value& item : items) {
      KUEUE_TRY(check_key(field, item));
      const auto [found, is_new] = at.try_emplace(identity(field, item), merged.size());
      if (!item.is_object()) {
        if (is_new) merged.push_back(item);
        continue;
      }
      json::Value base = is_new ? json::Value::object() : std::move(merged[found->second]);
      KUEUE_ASSIGN(json::Value result, merge_map(element, std::move(base), item, depth + 1));
      if (is_new) {
        merged.push_back(std::move(result));
      } else {
        merged[found->second] = std::move(result);
      }
    }
    return {};
  }

  // The items of the patch must come in the order the patch itself asks for.
  static Result<void> check_order(const Field& field, const json::Array& items,
                                  const json::Array& order) {
    size_t next = 0;
    for (const json::Value& item : items) {
      const std::string id = identity(field, item);
      while (next < order.size() && identity(field, order[next]) != id) ++next;
      if (next == order.size())
        return misuse(
            fmt::format("The order in patch list:\n{}\n doesn't match "
                        "$setElementOrder list:\n{}\n",
                        json::write(json::Value(items)), json::write(json::Value(order))));
      ++next;
    }
    return {};
  }

  // The patch decides about its own items, the server about the rest; where both know an item, the
  // server's order says which of the rest stand before it.
  static json::Array ordered(const Field& field, json::Array merged, const json::Array& base,
                             const json::Array& items, const json::Array* order) {
    std::unordered_map<std::string, size_t> wanted;
    const json::Array& leading = order != nullptr ? *order : items;
    for (const json::Value& item : leading)
      wanted.try_emplace(identity(field, item), wanted.size());
    std::unordered_map<std::string, size_t> server;
    for (const json::Value& item : base) server.try_emplace(identity(field, item), server.size());
    struct Item {
      json::Value value;
      std::string id;
      size_t rank;
      size_t index;  // equal ranks keep their order
    };
    std::vector<Item> first;  // what the patch orders
    std::vector<Item> rest;
    for (json::Value& value : merged) {
      std::string id = identity(field, value);
      const auto rank = wanted.find(id);
      if (rank != wanted.end()) {
        const size_t place = rank->second;
        first.push_back({std::move(value), std::move(id), place, first.size()});
      } else {
        const auto place = server.find(id);
        const size_t at = place != server.end() ? place->second : server.size();
        rest.push_back({std::move(value), std::move(id), at, rest.size()});
      }
    }
    auto by_rank = [](const Item& a, const Item& b) {
      return a.rank != b.rank ? a.rank < b.rank : a.index < b.index;
    };
    std::sort(first.begin(), first.end(), by_rank);
    std::sort(rest.begin(), rest.end(), by_rank);
    json::Array out;
    out.reserve(first.size() + rest.size());
    size_t r = 0;
    for (Item& item : first) {
      const auto place = server.find(item.id);
      if (place != server.end())
        for (; r < rest.size() && rest[r].rank < place->second; ++r)
          out.push_back(std::move(rest[r].value));
      out.push_back(std::move(item.value));
    }
    for (; r < rest.size(); ++r) out.push_back(std::move(rest[r].value));
    return out;
  }
};

}  // namespace

Result<json::Value> strategic_merge(const Type& type, const json::Value& document,
                                    const json::Value& patch) {
  if (!patch.is_object())
    return make_error(ErrorCode::kBadRequest, "a strategic merge patch must be a JSON object");
  json::Value base = document.is_object() ? document : json::Value::object();
  return Merger().merge_map(type, std::move(base), patch, 0);
}

}  // namespace kueue::schema
