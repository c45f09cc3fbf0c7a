#include "schema/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "json/json.h"
#include "schema/errors.h"
#include "schema/list_key.h"
#include "schema/walk.h"

namespace kueue::schema {
namespace {

using Node = FieldSet::Node;

constexpr Type kDeduced{.kind = Kind::kAny, .preserve_unknown = true};

bool is_empty_container(const json::Value* value) {
  if (value == nullptr || value->is_null()) return true;
  if (value->is_object()) return value->as_object().empty();
  if (value->is_array()) return value->as_array().empty();
  return false;
}

// What kind of walk a Type asks for, given a value.
enum class Shape : uint8_t { kLeaf, kMembers, kItems };

Shape shape_of(const Type& type, const json::Value& value) {
  if (is_atomic(type)) return Shape::kLeaf;
  switch (type.kind) {
    case Kind::kStruct:
    case Kind::kMap:
    case Kind::kAny:
      return value.is_object() ? Shape::kMembers : Shape::kLeaf;
    case Kind::kList:
      return value.is_array() ? Shape::kItems : Shape::kLeaf;
    default:
      return Shape::kLeaf;
  }
}

// The Type of a member and whether it is a field the struct declares.
struct Member {
  const Type* type;
  bool declared;
};

class MemberTypes {
 public:
  explicit MemberTypes(const Type& type) : type_(type), cursor_(type) {}
  Member find(std::string_view key) {
    if (type_.kind == Kind::kMap) return {type_.element ? &*type_.element : &kDeduced, false};
    if (const Field* field = cursor_.find(key)) return {&*field->type, true};
    return {&kDeduced, false};
  }

 private:
  const Type& type_;
  FieldCursor cursor_;
};

std::string field_element(std::string_view name) {
  std::string out;
  out.reserve(name.size() + 2);
  out += "f:";
  out += name;
  return out;
}

const json::Object* members(const json::Value* value) {
  return value != nullptr && value->is_object() ? &value->as_object() : nullptr;
}

// Items of a list by path element. Equal elements are a defect of the document; the group is then
// compared as a whole.
struct Group {
  const json::Value* first = nullptr;
  size_t count = 0;
};

class Comparer {
 public:
  // before or after is nullptr when the node is only on one side; never both.
  void walk(const Type& type, const json::Value* before, const json::Value* after, Node& changed,
            Node& removed, int depth) {
    if (depth > kMaxDepth) return;
    const Shape left =
        before != nullptr && !before->is_null() ? shape_of(type, *before) : Shape::kLeaf;
    const Shape right =
        after != nullptr && !after->is_null() ? shape_of(type, *after) : Shape::kLeaf;
    const bool nothing_inside = is_empty_container(before) && is_empty_container(after);
    const bool structured = !nothing_inside && (left != Shape::kLeaf || right != Shape::kLeaf);
    if (!structured) {
      leaf(before, after, changed, removed);
      return;
    }
    // A scalar that became a map, or the other way round: the value itself is modified.
    const bool left_scalar = before != nullptr && !before->is_null() && left == Shape::kLeaf;
    const bool right_scalar = after != nullptr && !after->is_null() && right == Shape::kLeaf;
    if (left_scalar || right_scalar) leaf(before, after, changed, removed);
    if (left == Shape::kMembers || right == Shape::kMembers)
      walk_members(type, before, after, changed, removed, depth);
    if (left == Shape::kItems || right == Shape::kItems)
      walk_items(type, before, after, changed, removed, depth);
    if (before == nullptr) changed.member = true;
    if (after == nullptr) removed.member = true;
  }

 private:
  static void leaf(const json::Value* before, const json::Value* after, Node& changed,
                   Node& removed) {
    if (before == nullptr) {
      changed.member = true;
    } else if (after == nullptr) {
      removed.member = true;
    } else if (!(*before == *after)) {
      changed.member = true;
    }
  }

  void walk_member(const Type& type, std::string_view key, const json::Value* before,
                   const json::Value* after, Node& changed, Node& removed, int depth) {
    Node c;
    Node r;
    walk(type, before, after, c, r, depth + 1);
    attach(c, changed, key);
    attach(r, removed, key);
  }

  static void attach(Node& node, Node& parent, std::string_view key) {
    if (node.empty()) return;
    node.element = field_element(key);
    parent.children.append(std::move(node));
  }

  void walk_members(const Type& type, const json::Value* before, const json::Value* after,
                    Node& changed, Node& removed, int depth) {
    const json::Object* left = members(before);
    const json::Object* right = members(after);
    MemberTypes types(type);
    if (left != nullptr) {
      for (const auto& [key, value] : *left) {
        const json::Value* other = right != nullptr ? right->find(key) : nullptr;
        walk_member(*types.find(key).type, key, &value, other, changed, removed, depth);
      }
    }
    if (right != nullptr) {
      for (const auto& [key, value] : *right) {
        if (left != nullptr && left->contains(key)) continue;
        walk_member(*types.find(key).type, key, nullptr, &value, changed, removed, depth);
      }
    }
    changed.children.sort();
    removed.children.sort();
  }

  using Groups = std::unordered_map<std::string, Group>;

  static std::vector<std::string> index(const Type& type, const json::Value* list, Groups& groups) {
    std::vector<std::string> order;
    if (list == nullptr || !list->is_array()) return order;
    for (const json::Value& item : list->as_array()) {
      std::string element = item_element(type, item);
      if (element.empty()) continue;
      Group& group = groups[element];
      if (group.count++ == 0) {
        group.first = &item;
        order.push_back(std::move(element));
      }
    }
    return order;
  }

  // Items pair by position as long as both lists have the same elements in the same order: the
  // common case, without an index.
  static bool same_elements(const Type& type, const json::Value* before, const json::Value* after,
                            std::vector<std::string>& elements) {
    if (before == nullptr || after == nullptr || !before->is_array() || !after->is_array())
      return false;
    const json::Array& left = before->as_array();
    const json::Array& right = after->as_array();
    if (left.size() != right.size() || left.size() > 64) return false;
    for (size_t i = 0; i < left.size(); ++i) {
      std::string element = item_element(type, left[i]);
      if (element.empty() || element != item_element(type, right[i])) return false;
      if (std::find(elements.begin(), elements.end(), element) != elements.end()) return false;
      elements.push_back(std::move(element));
    }
    return true;
  }

  void walk_item(const Type& type, const std::string& element, const json::Value* before,
                 const json::Value* after, Node& changed, Node& removed, int depth) {
    Node c;
    Node r;
    walk(*type.element, before, after, c, r, depth + 1);
    if (!c.empty()) {
      c.element = element;
      changed.children.append(std::move(c));
    }
    if (!r.empty()) {
      r.element = element;
      removed.children.append(std::move(r));
    }
  }

  void walk_items(const Type& type, const json::Value* before, const json::Value* after,
                  Node& changed, Node& removed, int depth) {
    if (!type.element) return;
    if (before != nullptr && after != nullptr && *before == *after) return;
    std::vector<std::string> elements;
    if (same_elements(type, before, after, elements)) {
      for (size_t i = 0; i < elements.size(); ++i)
        walk_item(type, elements[i], &before->as_array()[i], &after->as_array()[i], changed,
                  removed, depth);
    } else {
      Groups left;
      Groups right;
      const std::vector<std::string> left_order = index(type, before, left);
      const std::vector<std::string> right_order = index(type, after, right);
      for (const std::string& element : left_order) {
        const auto other = right.find(element);
        const Group* match = other == right.end() ? nullptr : &other->second;
        walk_group(type, element, &left.at(element), match, changed, removed, depth);
      }
      for (const std::string& element : right_order)
        if (left.find(element) == left.end())
          walk_group(type, element, nullptr, &right.at(element), changed, removed, depth);
    }
    changed.children.sort();
    removed.children.sort();
  }

  void walk_group(const Type& type, const std::string& element, const Group* before,
                  const Group* after, Node& changed, Node& removed, int depth) {
    const bool repeated =
        (before != nullptr && before->count > 1) || (after != nullptr && after->count > 1);
    if (!repeated) {
      walk_item(type, element, before != nullptr ? before->first : nullptr,
                after != nullptr ? after->first : nullptr, changed, removed, depth);
      return;
    }
    if (before != nullptr && after != nullptr && before->count == after->count &&
        *before->first == *after->first)
      return;
    Node node;
    node.element = element;
    node.member = true;
    (after == nullptr ? removed : changed).children.append(std::move(node));
  }
};

void collect_owned(const Type& type, const json::Value& value, Node& out, int depth) {
  if (depth > kMaxDepth) return;
  switch (value.is_null() ? Shape::kLeaf : shape_of(type, value)) {
    case Shape::kLeaf:
      // An empty or null list of items claims nothing.
      if (type.kind == Kind::kList && !is_atomic(type)) return;
      if (value.is_null() && (type.kind == Kind::kStruct || type.kind == Kind::kMap)) return;
      out.member = true;
      return;
    case Shape::kMembers: {
      MemberTypes types(type);
      for (const auto& [key, member] : value.as_object()) {
        const Member found = types.find(key);
        Node node;
        collect_owned(*found.type, member, node, depth + 1);
        const bool empty = member.is_null() || (member.is_object() && member.as_object().empty());
        if (empty || !found.declared) node.member = true;
        if (node.empty()) continue;
        node.element = field_element(key);
        out.children.append(std::move(node));
      }
      out.children.sort();
      return;
    }
    case Shape::kItems:
      if (!type.element) return;
      for (const json::Value& item : value.as_array()) {
        Node node;
        node.element = item_element(type, item);
        if (node.element.empty()) continue;
        collect_owned(*type.element, item, node, depth + 1);
        node.member = true;
        out.children.append(std::move(node));
      }
      out.children.sort();
      return;
  }
}

// Go prints the wrapper of an untyped value; what is inside is what matters to a reader.
std::string shown(const json::Value& value) { return json::write(value); }

class ApplyChecker {
 public:
  explicit ApplyChecker(std::vector<std::string>& problems) : problems_(problems) {}

  void check(const Type& type, const json::Value& value, const std::string& path, int depth) {
    if (depth > kMaxDepth || value.is_null() || problems_.size() > 20) return;
    switch (type.kind) {
      case Kind::kAny:
        return;
      case Kind::kStruct:
      case Kind::kMap:
        if (!value.is_object()) return expected(path, "map", value);
        if (!type.atomic_map) check_members(type, value, path, depth);
        return;
      case Kind::kList:
        if (!value.is_array()) return expected(path, "list", value);
        if (type.list_type != ListType::kAtomic) check_items(type, value, path, depth);
        return;
      case Kind::kBool:
        if (!value.is_bool()) expected(path, "boolean", value);
        return;
      case Kind::kInt32:
      case Kind::kInt64:
      case Kind::kDouble:
        if (!value.is_number())
          add(path, fmt::format("expected numeric (int or float), got {}", kind_name(value)));
        return;
      case Kind::kString:
      case Kind::kBytes:
      case Kind::kTime:
      case Kind::kMicroTime:
      case Kind::kDuration:
        if (!value.is_string()) expected(path, "string", value);
        return;
      case Kind::kIntOrString:
      case Kind::kQuantity:
        if (value.is_object() || value.is_array()) expected(path, "scalar", value);
        return;
    }
  }

 private:
  void add(const std::string& path, const std::string& what) {
    problems_.push_back(path + ": " + what);
  }
  void expected(const std::string& path, std::string_view what, const json::Value& value) {
    add(path, fmt::format("expected {}, got {}", what, shown(value)));
  }

  static std::string_view kind_name(const json::Value& value) {
    if (value.is_string()) return "string";
    if (value.is_bool()) return "boolean";
    return value.is_array() ? "list" : "map";
  }

  void check_members(const Type& type, const json::Value& value, const std::string& path,
                     int depth) {
    MemberTypes types(type);
    for (const auto& [key, member] : value.as_object()) {
      const Member found = types.find(key);
      const std::string below = path + "." + key;
      if (type.kind == Kind::kStruct && !found.declared && !type.preserve_unknown) {
        add(below, "field not declared in schema");
        continue;
      }
      check(*found.type, member, below, depth + 1);
    }
  }

  void check_items(const Type& type, const json::Value& value, const std::string& path, int depth) {
    std::vector<std::string> seen;
    size_t i = 0;
    for (const json::Value& item : value.as_array()) {
      const size_t at = i++;
      if (type.list_type == ListType::kMap && !item.is_object()) {
        add(path, fmt::format(
                      "element {}: associative list with keys may not have non-map elements", at));
        continue;
      }
      if (type.list_type == ListType::kSet && (item.is_object() || item.is_array())) {
        add(path, fmt::format("element {}: associative list without keys has an element that's a "
                              "{} type",
                              at, item.is_object() ? "map" : "list"));
        continue;
      }
      std::string element = item_element(type, item);
      if (element.empty()) {
        std::string keys;
        for (std::string_view key : type.list_map_keys)
          keys += fmt::format("{}{}", keys.empty() ? "" : " ", go_quote(key));
        add(path,
            fmt::format("element {}: associative list with keys has an element that omits all "
                        "key fields [{}] (and doesn't have default values for any key fields)",
                        at, keys));
        continue;
      }
      FieldSet one;
      Node node;
      node.element = element;
      node.member = true;
      one.append(node);
      const std::string text = one.paths()[0];
      seen.push_back(std::move(element));
      if (type.element) check(*type.element, item, path + text, depth + 1);
    }
    std::sort(seen.begin(), seen.end());
    const auto twice = std::adjacent_find(seen.begin(), seen.end());
    if (twice == seen.end()) return;
    FieldSet one;
    Node node;
    node.element = *twice;
    node.member = true;
    one.append(node);
    add(path, fmt::format("duplicate entries for key {}", one.paths()[0]));
  }

  std::vector<std::string>& problems_;
};

}  // namespace

bool is_atomic(const Type& type) {
  switch (type.kind) {
    case Kind::kAny:
      return !type.preserve_unknown;
    case Kind::kStruct:
    case Kind::kMap:
      return type.atomic_map;
    case Kind::kList:
      return type.list_type == ListType::kAtomic;
    default:
      return true;
  }
}

const Type& deduced_type() { return kDeduced; }

std::string item_element(const Type& list, const json::Value& item) {
  std::string out;
  if (list.list_type == ListType::kSet) {
    if (item.is_object() || item.is_array()) return out;
    out = "v:";
    json::write_to(out, item);
    return out;
  }
  if (!item.is_object()) return out;
  const auto keys = list.list_map_keys;
  // Names sorted, as FieldsV1 has them; lists have at most a handful of keys.
  size_t order[16];
  const size_t n = std::min<size_t>(keys.size(), 16);
  for (size_t i = 0; i < n; ++i) order[i] = i;
  if (n > 1) std::sort(order, order + n, [&](size_t a, size_t b) { return keys[a] < keys[b]; });
  out = "k:{";
  for (size_t k = 0; k < n; ++k) {
    const std::string_view name = keys[order[k]];
    const json::Value* value = item.find(name);
    std::string_view text;
    if (value == nullptr || value->is_null()) {
      value = nullptr;
      if (const Field* field = list.element ? list.element->field(name) : nullptr)
        text = field->default_json.empty() ? field->type->default_json : field->default_json;
      if (text.empty()) continue;
    }
    if (out.size() > 3) out += ',';
    json::write_to(out, json::Value(name));
    out += ':';
    if (value != nullptr) {
      json::write_to(out, *value);
    } else {
      out += text;
    }
  }
  if (out.size() == 3) return {};
  out += '}';
  return out;
}

Comparison compare(const Type& type, const json::Value& before, const json::Value& after) {
  Node changed;
  Node removed;
  Comparer().walk(type, &before, &after, changed, removed, 0);
  return {std::move(changed.children), std::move(removed.children)};
}

FieldSet owned_fields(const Type& type, const json::Value& document) {
  Node out;
  collect_owned(type, document, out, 0);
  return std::move(out.children);
}

std::vector<std::string> apply_problems(const Type& type, const json::Value& document) {
  std::vector<std::string> problems;
  ApplyChecker(problems).check(type, document, "", 0);
  return problems;
}

}  // namespace kueue::schema
