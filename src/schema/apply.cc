#include "schema/apply.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "schema/compare.h"
#include "schema/walk.h"

namespace kueue::schema {
namespace {

using Node = FieldSet::Node;

const Type& element_type(const Type& type) { return type.element ? *type.element : deduced_type(); }

json::Value merge(const Type& type, const json::Value& live, const json::Value& config, int depth);

json::Value merge_members(const Type& type, const json::Value& live, const json::Value& config,
                          int depth) {
  json::Value out = live;
  json::Object& object = out.as_object();
  FieldCursor cursor(type);
  for (const auto& [key, value] : config.as_object()) {
    json::Value* old = object.find(key);
    if (old == nullptr) {
      object.append(key, value);
      continue;
    }
    const Type* member = &deduced_type();
    if (type.kind == Kind::kMap) {
      member = &element_type(type);
    } else if (const Field* field = cursor.find(key)) {
      member = &*field->type;
    }
    *old = merge(*member, *old, value, depth + 1);
  }
  return out;
}

// Where each element stands in a list.
std::unordered_map<std::string, size_t> positions(const std::vector<std::string>& elements) {
  std::unordered_map<std::string, size_t> out;
  for (size_t i = 0; i < elements.size(); ++i)
    if (!elements[i].empty()) out.try_emplace(elements[i], i);
  return out;
}

std::vector<std::string> elements_of(const Type& type, const json::Array& items) {
  std::vector<std::string> out;
  out.reserve(items.size());
  for (const json::Value& item : items) out.push_back(item_element(type, item));
  return out;
}

json::Value merge_items(const Type& type, const json::Value& live, const json::Value& config,
                        int depth) {
  const json::Array& old_items = live.as_array();
  const json::Array& new_items = config.as_array();
  const std::vector<std::string> old_elements = elements_of(type, old_items);
  const std::vector<std::string> new_elements = elements_of(type, new_items);
  const auto old_at = positions(old_elements);
  const auto new_at = positions(new_elements);
  auto only_live = [&](size_t i) {
    return old_elements[i].empty() || new_at.find(old_elements[i]) == new_at.end();
  };
  json::Array out;
  out.reserve(old_items.size() + new_items.size());
  size_t next = 0;  // live items before this one are dealt with
  for (size_t i = 0; i < new_items.size(); ++i) {
    const auto match = old_at.find(new_elements[i]);
    const bool shared = match != old_at.end() && !new_elements[i].empty();
    if (shared && match->second >= next) {
      for (; next < match->second; ++next)
        if (only_live(next)) out.push_back(old_items[next]);
      ++next;
    } else {
      // A new item, or one that moved: behind the live items that nothing applied precedes.
      for (; next < old_items.size() && only_live(next); ++next) out.push_back(old_items[next]);
    }
    out.push_back(shared
                      ? merge(element_type(type), old_items[match->second], new_items[i], depth + 1)
                      : new_items[i]);
  }
  for (; next < old_items.size(); ++next)
    if (only_live(next)) out.push_back(old_items[next]);
  return json::Value(std::move(out));
}

json::Value merge(const Type& type, const json::Value& live, const json::Value& config, int depth) {
  if (depth > kMaxDepth || is_atomic(type)) return config;
  if (type.kind == Kind::kList) {
    if (!live.is_array() || !config.is_array()) return config.is_null() ? live : config;
    return merge_items(type, live, config, depth);
  }
  if (live.is_object() && config.is_object()) return merge_members(type, live, config, depth);
  // An applied null map or struct says nothing about what is inside.
  if (live.is_object() && config.is_null() && type.kind != Kind::kAny) return live;
  return config;
}

class Remover {
 public:
  // What the two sets say at and below a node; nullptr when nothing.
  struct At {
    const Node* before;
    const Node* managed;
    const FieldSet* before_below() const { return before != nullptr ? &before->children : nullptr; }
    const FieldSet* managed_below() const {
      return managed != nullptr ? &managed->children : nullptr;
    }
  };

  // Removes inside `value`; parent_before: an ancestor was applied before; parent_unmanaged: an
  // ancestor is managed by nobody any more.
  void walk(const Type& type, json::Value& value, const FieldSet* before, const FieldSet* managed,
            bool parent_before, bool parent_unmanaged, int depth) {
    if (depth > kMaxDepth || before == nullptr || before->empty() || is_atomic(type)) return;
    if (value.is_object()) {
      walk_members(type, value, before, managed, parent_before, parent_unmanaged, depth);
    } else if (value.is_array() && type.kind == Kind::kList) {
      walk_items(type, value, before, managed, parent_before, parent_unmanaged, depth);
    }
  }

 private:
  static const Node* look(const FieldSet* set, std::string_view element) {
    return set != nullptr ? set->find(element) : nullptr;
  }

  // A declared field counts as a member when something inside is; entries of maps and lists only by
  // themselves.
  static bool is_member(const Node* node, bool declared) {
    return node != nullptr && (node->member || declared);
  }

  // True when the node itself has to go; else it was walked, and `value` may have lost parts.
  bool remove(const Type& type, json::Value& value, const At& at, bool declared, bool parent_before,
              bool parent_unmanaged, int depth) {
    const bool in_before = is_member(at.before, declared);
    const bool was_applied = parent_before || in_before;
    const bool claims_nothing = declared && type.kind == Kind::kList && !is_atomic(type) &&
                                value.is_array() && value.as_array().empty();
    const bool unmanaged =
        parent_unmanaged || (was_applied && !claims_nothing && !is_member(at.managed, declared));
    if (unmanaged && in_before) return true;
    const bool had_parts = !is_empty(value);
    walk(type, value, at.before_below(), at.managed_below(), was_applied, unmanaged, depth + 1);
    const bool managed_itself = at.managed != nullptr && at.managed->member;
    return had_parts && is_empty(value) && !managed_itself;
  }

  static bool is_empty(const json::Value& value) {
    return (value.is_object() && value.as_object().empty()) ||
           (value.is_array() && value.as_array().empty());
  }

  void walk_members(const Type& type, json::Value& value, const FieldSet* before,
                    const FieldSet* managed, bool parent_before, bool parent_unmanaged, int depth) {
    FieldCursor cursor(type);
    std::vector<std::string> gone;
    std::string element;
    for (auto& [key, member] : value.as_object()) {
      element.assign("f:").append(key);
      const Node* was = look(before, element);
      if (was == nullptr) continue;  // nothing below was applied before
      const Field* field = type.kind == Kind::kMap ? nullptr : cursor.find(key);
      const Type& member_type = field != nullptr          ? *field->type
                                : type.kind == Kind::kMap ? element_type(type)
                                                          : deduced_type();
      const At at{was, look(managed, element)};
      if (remove(member_type, member, at, field != nullptr, parent_before, parent_unmanaged, depth))
        gone.push_back(key);
    }
    value.as_object().erase_keys(std::move(gone));
  }

  void walk_items(const Type& type, json::Value& value, const FieldSet* before,
                  const FieldSet* managed, bool parent_before, bool parent_unmanaged, int depth) {
    json::Array& items = value.as_array();
    size_t kept = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      const std::string element = item_element(type, items[i]);
      const Node* was = element.empty() ? nullptr : look(before, element);
      if (was != nullptr && remove(element_type(type), items[i], {was, look(managed, element)},
                                   false, parent_before, parent_unmanaged, depth))
        continue;
      if (kept != i) items[kept] = std::move(items[i]);
      ++kept;
    }
    items.resize(kept);
  }
};

}  // namespace

json::Value merge_applied(const Type& type, const json::Value& live, const json::Value& config) {
  return merge(type, live, config, 0);
}

json::Value remove_unapplied(const Type& type, json::Value merged, const FieldSet& before,
                             const FieldSet& managed) {
  Remover().walk(type, merged, &before, &managed, false, false, 0);
  return merged;
}

}  // namespace kueue::schema
