#include "schema/fieldset.h"

#include <fmt/format.h>

#include <algorithm>

#include "json/json.h"
#include "schema/errors.h"
#include "schema/walk.h"

namespace kueue::schema {
namespace {

using Node = FieldSet::Node;

bool by_element(const Node& a, const Node& b) { return a.element < b.element; }

bool is_element(std::string_view text) {
  return text.size() >= 2 && text[1] == ':' &&
         (text[0] == 'f' || text[0] == 'k' || text[0] == 'v' || text[0] == 'i');
}

Result<FieldSet> parse_object(const json::Value& value, int depth) {
  FieldSet set;
  if (depth > kMaxDepth)
    return make_error(ErrorCode::kBadRequest, "managed fields are nested too deeply");
  if (!value.is_object())
    return make_error(ErrorCode::kBadRequest, "managed fields must be JSON objects");
  for (const auto& [key, below] : value.as_object()) {
    if (key == ".") continue;
    if (!is_element(key))
      return make_error(ErrorCode::kBadRequest,
                        fmt::format("unknown path element {} in managed fields", go_quote(key)));
    if (!below.is_object())
      return make_error(ErrorCode::kBadRequest, "managed fields must be JSON objects");
    Node node;
    node.element = key;
    node.member = below.as_object().empty() || below.find(".") != nullptr;
    KUEUE_ASSIGN(node.children, parse_object(below, depth + 1));
    set.append(std::move(node));
  }
  set.sort();
  return set;
}

// Go's text of a path element for people: .name, [name="a",port=80], [="v"], [3].
std::string element_text(std::string_view element) {
  const std::string_view rest = element.substr(2);
  if (element[0] == 'f') return fmt::format(".{}", rest);
  if (element[0] == 'i') return fmt::format("[{}]", rest);
  if (element[0] == 'v') {
    auto value = json::parse(rest);
    return fmt::format("[={}]", value.ok() ? bad_value_text(value.value()) : std::string(rest));
  }
  auto keys = json::parse(rest);
  if (!keys.ok() || !keys.value().is_object()) return fmt::format("[{}]", rest);
  std::string out = "[";
  for (const auto& [name, value] : keys.value().as_object()) {
    if (out.size() > 1) out += ',';
    out += name;
    out += '=';
    out += bad_value_text(value);
  }
  return out + "]";
}

void collect_paths(const FieldSet& set, const std::string& prefix, std::vector<std::string>& out) {
  // As Kubernetes lists them: the paths that end at a level before those that go on.
  for (const Node& node : set.nodes())
    if (node.member) out.push_back(prefix + element_text(node.element));
  for (const Node& node : set.nodes())
    if (!node.children.empty())
      collect_paths(node.children, prefix + element_text(node.element), out);
}

}  // namespace

Result<FieldSet> FieldSet::parse(const json::Value& fields_v1) {
  if (fields_v1.is_null()) return FieldSet();
  return parse_object(fields_v1, 0);
}

json::Value FieldSet::encode() const {
  json::Value out = json::Value::object();
  json::Object& object = out.as_object();
  object.reserve(nodes_.size());
  for (const Node& node : nodes_) {
    json::Value below = node.children.encode();
    if (node.member && !node.children.empty()) {
      json::Value with_self = json::Value::object();
      with_self.as_object().reserve(below.as_object().size() + 1);
      with_self.as_object().append(".", json::Value::object());
      for (auto& [key, value] : below.as_object())
        with_self.as_object().append(key, std::move(value));
      below = std::move(with_self);
    }
    object.append(node.element, std::move(below));
  }
  return out;
}

void FieldSet::insert(std::initializer_list<std::string_view> members) {
  FieldSet* set = this;
  Node* last = nullptr;
  for (std::string_view member : members) {
    const std::string element = fmt::format("f:{}", member);
    auto at = std::lower_bound(
        set->nodes_.begin(), set->nodes_.end(), element,
        [](const Node& node, const std::string& text) { return node.element < text; });
    if (at == set->nodes_.end() || at->element != element) {
      Node node;
      node.element = element;
      at = set->nodes_.insert(at, std::move(node));
    }
    last = &*at;
    set = &at->children;
  }
  if (last != nullptr) last->member = true;
}

size_t FieldSet::size() const {
  size_t n = 0;
  for (const Node& node : nodes_) n += (node.member ? 1 : 0) + node.children.size();
  return n;
}

FieldSet FieldSet::united(const FieldSet& other) const {
  FieldSet out;
  out.nodes_.reserve(std::max(nodes_.size(), other.nodes_.size()));
  auto a = nodes_.begin();
  auto b = other.nodes_.begin();
  while (a != nodes_.end() || b != other.nodes_.end()) {
    if (b == other.nodes_.end() || (a != nodes_.end() && a->element < b->element)) {
      out.nodes_.push_back(*a++);
    } else if (a == nodes_.end() || b->element < a->element) {
      out.nodes_.push_back(*b++);
    } else {
      Node node;
      node.element = a->element;
      node.member = a->member || b->member;
      node.children = a->children.united(b->children);
      out.nodes_.push_back(std::move(node));
      ++a;
      ++b;
    }
  }
  return out;
}

FieldSet FieldSet::without(const FieldSet& other) const {
  FieldSet out;
  auto b = other.nodes_.begin();
  for (const Node& a : nodes_) {
    while (b != other.nodes_.end() && b->element < a.element) ++b;
    if (b == other.nodes_.end() || b->element != a.element) {
      out.nodes_.push_back(a);
      continue;
    }
    Node node;
    node.element = a.element;
    node.member = a.member && !b->member;
    node.children = a.children.without(b->children);
    out.append(std::move(node));
  }
  return out;
}

FieldSet FieldSet::without_subtrees(const FieldSet& other) const {
  FieldSet out;
  auto b = other.nodes_.begin();
  for (const Node& a : nodes_) {
    while (b != other.nodes_.end() && b->element < a.element) ++b;
    if (b == other.nodes_.end() || b->element != a.element) {
      out.nodes_.push_back(a);
      continue;
    }
    if (b->member) continue;
    Node node;
    node.element = a.element;
    node.member = a.member;
    node.children = a.children.without_subtrees(b->children);
    out.append(std::move(node));
  }
  return out;
}

FieldSet FieldSet::intersected(const FieldSet& other) const {
  FieldSet out;
  auto b = other.nodes_.begin();
  for (const Node& a : nodes_) {
    while (b != other.nodes_.end() && b->element < a.element) ++b;
    if (b == other.nodes_.end()) break;
    if (b->element != a.element) continue;
    Node node;
    node.element = a.element;
    node.member = a.member && b->member;
    node.children = a.children.intersected(b->children);
    out.append(std::move(node));
  }
  return out;
}

bool FieldSet::operator==(const FieldSet& other) const {
  if (nodes_.size() != other.nodes_.size()) return false;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& a = nodes_[i];
    const Node& b = other.nodes_[i];
    if (a.member != b.member || a.element != b.element || !(a.children == b.children)) return false;
  }
  return true;
}

std::vector<std::string> FieldSet::paths() const {
  std::vector<std::string> out;
  collect_paths(*this, "", out);
  return out;
}

const FieldSet::Node* FieldSet::find(std::string_view element) const {
  const auto at =
      std::lower_bound(nodes_.begin(), nodes_.end(), element,
                       [](const Node& node, std::string_view text) { return node.element < text; });
  return at != nodes_.end() && at->element == element ? &*at : nullptr;
}

void FieldSet::append(Node node) {
  if (!node.empty()) nodes_.push_back(std::move(node));
}

void FieldSet::sort() {
  if (!std::is_sorted(nodes_.begin(), nodes_.end(), by_element))
    std::sort(nodes_.begin(), nodes_.end(), by_element);
}

bool FieldSet::intersects(const json::Value& fields_v1, const FieldSet& set) {
  if (!fields_v1.is_object()) return false;
  for (const Node& node : set.nodes_) {
    const json::Value* below = fields_v1.find(node.element);
    if (below == nullptr || !below->is_object()) continue;
    if (node.member && (below->as_object().empty() || below->find(".") != nullptr)) return true;
    if (intersects(*below, node.children)) return true;
  }
  return false;
}

bool FieldSet::contains_all(const json::Value& fields_v1, const FieldSet& set) {
  if (set.empty()) return true;
  if (!fields_v1.is_object()) return false;
  for (const Node& node : set.nodes_) {
    const json::Value* below = fields_v1.find(node.element);
    if (below == nullptr || !below->is_object()) return false;
    if (node.member && !below->as_object().empty() && below->find(".") == nullptr) return false;
    if (!contains_all(*below, node.children)) return false;
  }
  return true;
}

void FieldSet::subtract_from(json::Value& fields_v1, const FieldSet& set) {
  json::Object& object = fields_v1.as_object();
  std::vector<std::string> gone;
  for (const Node& node : set.nodes_) {
    json::Value* below = object.find(node.element);
    if (below == nullptr || !below->is_object()) continue;
    json::Object& inner = below->as_object();
    const bool was_leaf = inner.empty();
    bool member = was_leaf || inner.contains(".");
    if (node.member && member) {
      inner.erase(".");
      member = false;
    }
    if (!node.children.empty() && !was_leaf) subtract_from(*below, node.children);
    if (member && inner.size() == 1 && inner.contains(".")) inner.clear();
    if (!member && inner.empty()) gone.push_back(node.element);
  }
  object.erase_keys(std::move(gone));
}

void FieldSet::add_to(json::Value& fields_v1, const FieldSet& set) {
  json::Object& object = fields_v1.as_object();
  for (const Node& node : set.nodes_) {
    json::Value* below = object.find(node.element);
    if (below == nullptr || !below->is_object()) {
      FieldSet one;
      one.nodes_.push_back(node);
      json::Value encoded = one.encode();
      object.set(node.element, std::move(encoded.as_object().begin()->second));
      continue;
    }
    json::Object& inner = below->as_object();
    const bool member = node.member || inner.empty() || inner.contains(".");
    if (member && !inner.contains(".") && (!node.children.empty() || !inner.empty()))
      inner.set(".", json::Value::object());
    add_to(*below, node.children);
  }
}

}  // namespace kueue::schema
