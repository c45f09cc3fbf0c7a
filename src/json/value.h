// json::Value: one JSON document in memory. Used for every document the project stores, patches or
// sends. Objects keep insertion order; comparison ignores it. Integers, unsigned integers beyond
// int64 and doubles are kept apart, as Kubernetes does. Const access is thread safe, changes are
// not; copying copies deeply. A moved-from Value may only be assigned or destroyed.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kueue::json {

class Value;
class Object;
using Array = std::vector<Value>;

enum class Type : uint8_t { kNull, kBool, kInt, kUint, kDouble, kString, kArray, kObject };

class Value {
 public:
  Value();                            // null
  Value(std::nullptr_t) : Value() {}  // NOLINT
  Value(bool b);                      // NOLINT: implicit by intent
  Value(int n);                       // NOLINT: implicit by intent
  Value(int64_t n);                   // NOLINT: implicit by intent
  Value(uint64_t n);                  // NOLINT: kInt where it fits
  Value(double d);                    // NOLINT: implicit by intent
  Value(const char* s);               // NOLINT: implicit by intent
  Value(std::string_view s);          // NOLINT: implicit by intent
  Value(std::string s);               // NOLINT: implicit by intent
  Value(Array a);                     // NOLINT
  Value(Object o);                    // NOLINT
  Value(const Value& other);
  Value(Value&&) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&&) noexcept;
  ~Value();

  // Object literal: Value::object({{"kind", "Job"}, {"spec", Value::object({...})}}).
  static Value object(std::initializer_list<std::pair<std::string_view, Value>> members = {});
  static Value array(std::initializer_list<Value> items = {});

  Type type() const { return type_; }
  bool is_null() const { return type() == Type::kNull; }
  bool is_bool() const { return type() == Type::kBool; }
  bool is_int() const { return type() == Type::kInt; }
  bool is_number() const;
  bool is_string() const { return type() == Type::kString; }
  bool is_array() const { return type() == Type::kArray; }
  bool is_object() const { return type() == Type::kObject; }

  // Typed access; CHECKs the type.
  bool as_bool() const;
  int64_t as_int() const;    // kInt only
  uint64_t as_uint() const;  // kInt >= 0 or kUint
  double as_double() const;  // any number
  const std::string& as_string() const;
  std::string& as_string();
  const Array& as_array() const;
  Array& as_array();
  const Object& as_object() const;
  Object& as_object();

  // Lenient access: the default when this is absent or of another type.
  std::string_view string_or(std::string_view fallback) const;
  int64_t int_or(int64_t fallback) const;
  bool bool_or(bool fallback) const;

  // Member or element, nullptr when this is no object/array or has none.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  // Walks members: find_path({"spec", "template"}). nullptr when any is absent.
  const Value* find_path(std::initializer_list<std::string_view> keys) const;
  Value* find_path(std::initializer_list<std::string_view> keys);
  // The string / integer / bool at a path of members, or the fallback.
  std::string_view get_string(std::initializer_list<std::string_view> keys,
                              std::string_view fallback = {}) const;
  int64_t get_int(std::initializer_list<std::string_view> keys, int64_t fallback = 0) const;
  bool get_bool(std::initializer_list<std::string_view> keys, bool fallback = false) const;
  // Makes this an object if it is null and returns the member, inserted as null when absent. CHECKs
  // that it is no other type.
  Value& operator[](std::string_view key);
  // Makes objects along the way.
  Value& at_path(std::initializer_list<std::string_view> keys);
  // Removes the member at the path, and says whether there was one. Empty parents stay.
  bool erase_path(std::initializer_list<std::string_view> keys);

  // Deep equality; 1 and 1.0 differ in type but compare equal, member order is ignored.
  bool operator==(const Value& other) const;

 private:
  void destroy();                    // of what has a destructor
  void take(Value& other) noexcept;  // this holds nothing that needs one

  Type type_ = Type::kNull;
  union {
    bool bool_;
    int64_t int_;
    uint64_t uint_;
    double double_;
    std::string string_;
    Array* array_;    // owned
    Object* object_;  // owned
  };
};

// Members in insertion order. Lookup is linear for small objects; at 16 members or more, and 10,000
// labels, it is still logarithmic: an index is kept. Setting an existing key keeps its place.
class Object {
 public:
  using Member = std::pair<std::string, Value>;

  Object();
  Object(const Object&);
  Object(Object&&) noexcept;
  Object& operator=(const Object&);
  Object& operator=(Object&&) noexcept;
  ~Object();

  // nullptr when absent.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  // Inserts null when absent.
  Value& operator[](std::string_view key);
  // Inserts or replaces; returns the stored value.
  Value& set(std::string_view key, Value value);
  // Appends without looking for a member of that name: the caller knows that there is none.
  Value& append(std::string key, Value value);
  // An object of these members, whose keys all differ.
  static Object from_members(std::vector<Member> members);
  // True when something was removed.
  bool erase(std::string_view key);
  // Removes all of these; keys that are absent do not matter. One pass over the members, where
  // removing n keys one by one would be n passes.
  void erase_keys(std::vector<std::string> keys);
  size_t size() const;
  bool empty() const { return size() == 0; }
  void clear();
  void reserve(size_t n);

  std::vector<Member>::const_iterator begin() const;
  std::vector<Member>::const_iterator end() const;
  std::vector<Member>::iterator begin();  // values may be changed through it, keys must not
  std::vector<Member>::iterator end();

  // Same keys with equal values, in whatever order.
  bool operator==(const Object& other) const;

 private:
  size_t position(std::string_view key) const;  // size() when absent
  void build_index();
  void index_last();
  std::vector<Member> members_;
  std::vector<uint32_t> index_;  // positions sorted by key; empty while small
};

inline Object::Object() = default;
inline Object::~Object() = default;

inline Value::Value() : int_(0) {}
inline Value::Value(Value&& other) noexcept { take(other); }
inline Value& Value::operator=(Value&& other) noexcept {
  if (this == &other) return *this;
  // `other` may be a part of what this holds.
  Value old(std::move(*this));
  take(other);
  return *this;
}
inline Value::~Value() {
  if (type_ >= Type::kString) destroy();
}
inline void Value::take(Value& other) noexcept {
  type_ = other.type_;
  if (type_ == Type::kString) {
    new (&string_) std::string(std::move(other.string_));
    other.string_.~basic_string();
  } else {
    uint_ = other.uint_;
  }
  other.type_ = Type::kNull;
}

}  // namespace kueue::json
