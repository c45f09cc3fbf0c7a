// Sets of field paths: who manages what. The form of metav1.FieldsV1 is "f:" members, "k:" items of
// list maps by their keys, "v:" items of sets by value, "i:" items by index, and "." for the path
// itself. Values; not thread safe while changed.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace kueue::schema {

class FieldSet {
 public:
  // One path element below this set's root, and what is in the set at and below it.
  struct Node;

  FieldSet();
  FieldSet(const FieldSet&);
  FieldSet(FieldSet&&) noexcept;
  FieldSet& operator=(const FieldSet&);
  FieldSet& operator=(FieldSet&&) noexcept;
  ~FieldSet();

  // The object of a FieldsV1. kBadRequest for what is none.
  static Result<FieldSet> parse(const json::Value& fields_v1);
  // Members sorted by element.
  json::Value encode() const;

  // Adds a path of plain members: insert({"metadata", "name"}).
  void insert(std::initializer_list<std::string_view> members);
  bool empty() const { return nodes_.empty(); }
  // Number of paths.
  size_t size() const;

  FieldSet united(const FieldSet& other) const;
  FieldSet without(
      const FieldSet& other) const;  // paths of other are taken out, not what is below them
  // Takes out the paths of other and everything below them.
  FieldSet without_subtrees(const FieldSet& other) const;
  FieldSet intersected(const FieldSet& other) const;
  bool operator==(const FieldSet& other) const;

  // ".spec.containers[name=\"a\"].image": per level those that end there, then those that go on.
  std::vector<std::string> paths() const;

  const std::vector<Node>& nodes() const { return nodes_; }
  // nullptr when nothing at or below the element is in the set. Logarithmic.
  const Node* find(std::string_view element) const;

  // For builders: appends without looking; call sort() when done. Empty nodes are dropped.
  void append(Node node);
  void sort();

  // Probes of an encoded set, without decoding it: does it share a path with `set`; does it hold
  // all of it.
  static bool intersects(const json::Value& fields_v1, const FieldSet& set);
  static bool contains_all(const json::Value& fields_v1, const FieldSet& set);
  // The same as without() and united() on an encoded set, at the cost of `set` alone. The value
  // must be an object.
  static void subtract_from(json::Value& fields_v1, const FieldSet& set);
  static void add_to(json::Value& fields_v1, const FieldSet& set);

 private:
  std::vector<Node> nodes_;  // sorted by element, none empty
};

struct FieldSet::Node {
  std::string element;  // as in FieldsV1: "f:spec", "k:{\"name\":\"a\"}", ...
  bool member = false;  // the path that ends here is in the set
  FieldSet children;

  bool empty() const { return !member && children.empty(); }
};

inline FieldSet::FieldSet() = default;
inline FieldSet::FieldSet(const FieldSet&) = default;
inline FieldSet::FieldSet(FieldSet&&) noexcept = default;
inline FieldSet& FieldSet::operator=(const FieldSet&) = default;
inline FieldSet& FieldSet::operator=(FieldSet&&) noexcept = default;
inline FieldSet::~FieldSet() = default;

}  // namespace kueue::schema
