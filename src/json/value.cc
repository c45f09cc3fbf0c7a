#include "json/value.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kueue::json {
namespace {

// Below this many members a scan of the keys is faster than a binary search through an index.
constexpr size_t kIndexFrom = 16;

constexpr double kTwoTo63 = 9223372036854775808.0;
constexpr double kTwoTo64 = 18446744073709551616.0;

bool equals(int64_t n, double d) {
  return d >= -kTwoTo63 && d < kTwoTo63 && static_cast<int64_t>(d) == n && std::trunc(d) == d;
}

bool equals(uint64_t n, double d) {
  return d >= 0 && d < kTwoTo64 && static_cast<uint64_t>(d) == n && std::trunc(d) == d;
}

}  // namespace

Value::Value(bool b) : type_(Type::kBool), bool_(b) {}
Value::Value(int n) : type_(Type::kInt), int_(n) {}
Value::Value(int64_t n) : type_(Type::kInt), int_(n) {}
Value::Value(uint64_t n) : type_(n >> 63 ? Type::kUint : Type::kInt), uint_(n) {}
Value::Value(double d) : type_(Type::kDouble), double_(d) {}
Value::Value(const char* s) : type_(Type::kString), string_(s) {}
Value::Value(std::string_view s) : type_(Type::kString), string_(s) {}
Value::Value(std::string s) : type_(Type::kString), string_(std::move(s)) {}
Value::Value(Array a) : type_(Type::kArray), array_(new Array(std::move(a))) {}
Value::Value(Object o) : type_(Type::kObject), object_(new Object(std::move(o))) {}

Value::Value(const Value& other) : type_(other.type_) {
  switch (type_) {
    case Type::kString:
      new (&string_) std::string(other.string_);
      break;
    case Type::kArray:
      array_ = new Array(*other.array_);
      break;
    case Type::kObject:
      object_ = new Object(*other.object_);
      break;
    case Type::kNull:
    case Type::kBool:
    case Type::kInt:
    case Type::kUint:
    case Type::kDouble:
      uint_ = other.uint_;
      break;
  }
}

void Value::destroy() {
  if (type_ == Type::kString) {
    string_.~basic_string();
  } else if (type_ == Type::kArray) {
    delete array_;
  } else if (type_ == Type::kObject) {
    delete object_;
  }
}

Value& Value::operator=(const Value& other) {
  // By way of a copy: `other` may be a part of this.
  if (this != &other) *this = Value(other);
  return *this;
}

Value Value::object(std::initializer_list<std::pair<std::string_view, Value>> members) {
  Object o;
  o.reserve(members.size());
  for (const auto& [key, value] : members) o.set(key, value);
  return Value(std::move(o));
}

Value Value::array(std::initializer_list<Value> items) { return Value(Array(items)); }

bool Value::is_number() const {
  Type t = type();
  return t == Type::kInt || t == Type::kUint || t == Type::kDouble;
}

bool Value::as_bool() const {
  KUEUE_CHECK(type() == Type::kBool, "as_bool() of another type");
  return bool_;
}

int64_t Value::as_int() const {
  KUEUE_CHECK(type() == Type::kInt, "as_int() of another type");
  return int_;
}

uint64_t Value::as_uint() const {
  if (type_ == Type::kUint) return uint_;
  KUEUE_CHECK(type() == Type::kInt && as_int() >= 0, "as_uint() of another type or sign");
  return static_cast<uint64_t>(as_int());
}

double Value::as_double() const {
  if (type_ == Type::kDouble) return double_;
  if (type_ == Type::kUint) return static_cast<double>(uint_);
  return static_cast<double>(as_int());
}

const std::string& Value::as_string() const {
  KUEUE_CHECK(type() == Type::kString, "as_string() of another type");
  return string_;
}

std::string& Value::as_string() {
  KUEUE_CHECK(type() == Type::kString, "as_string() of another type");
  return string_;
}

const Array& Value::as_array() const {
  KUEUE_CHECK(type() == Type::kArray, "as_array() of another type");
  return *array_;
}

Array& Value::as_array() {
  KUEUE_CHECK(type() == Type::kArray, "as_array() of another type");
  return *array_;
}

const Object& Value::as_object() const {
  KUEUE_CHECK(type() == Type::kObject, "as_object() of another type");
  return *object_;
}

Object& Value::as_object() {
  KUEUE_CHECK(type() == Type::kObject, "as_object() of another type");
  return *object_;
}

std::string_view Value::string_or(std::string_view fallback) const {
  return type_ == Type::kString ? std::string_view(string_) : fallback;
}

int64_t Value::int_or(int64_t fallback) const {
  if (type_ == Type::kInt) return int_;
  // A whole number written as 2.0 is an integer to Kubernetes' decoders.
  if (type_ == Type::kDouble && double_ >= -kTwoTo63 && double_ < kTwoTo63 &&
      std::trunc(double_) == double_) {
    return static_cast<int64_t>(double_);
  }
  return fallback;
}

bool Value::bool_or(bool fallback) const { return type_ == Type::kBool ? bool_ : fallback; }

const Value* Value::find(std::string_view key) const {
  return is_object() ? as_object().find(key) : nullptr;
}

Value* Value::find(std::string_view key) { return is_object() ? as_object().find(key) : nullptr; }

const Value* Value::find_path(std::initializer_list<std::string_view> keys) const {
  const Value* v = this;
  for (std::string_view key : keys) {
    v = v->find(key);
    if (!v) return nullptr;
  }
  return v;
}

Value* Value::find_path(std::initializer_list<std::string_view> keys) {
  return const_cast<Value*>(std::as_const(*this).find_path(keys));
}

std::string_view Value::get_string(std::initializer_list<std::string_view> keys,
                                   std::string_view fallback) const {
  const Value* v = find_path(keys);
  return v ? v->string_or(fallback) : fallback;
}

int64_t Value::get_int(std::initializer_list<std::string_view> keys, int64_t fallback) const {
  const Value* v = find_path(keys);
  return v ? v->int_or(fallback) : fallback;
}

bool Value::get_bool(std::initializer_list<std::string_view> keys, bool fallback) const {
  const Value* v = find_path(keys);
  return v ? v->bool_or(fallback) : fallback;
}

Value& Value::operator[](std::string_view key) {
  if (is_null()) *this = Value(Object());
  return as_object()[key];
}

Value& Value::at_path(std::initializer_list<std::string_view> keys) {
  Value* v = this;
  for (std::string_view key : keys) v = &(*v)[key];
  return *v;
}

bool Value::erase_path(std::initializer_list<std::string_view> keys) {
  if (keys.size() == 0) return false;
  Value* v = this;
  const std::string_view* last = keys.end() - 1;
  for (const std::string_view* key = keys.begin(); key != last; ++key) {
    v = v->find(*key);
    if (!v) return false;
  }
  return v->is_object() && v->as_object().erase(*last);
}

bool Value::operator==(const Value& other) const {
  if (type() != other.type()) {
    if (!is_number() || !other.is_number()) return false;
    if (other.type() == Type::kDouble) {
      return type() == Type::kInt ? equals(as_int(), other.as_double())
                                  : type() == Type::kUint && equals(as_uint(), other.as_double());
    }
    // kInt never equals kUint, which holds only what kInt cannot.
    return type() == Type::kDouble && other == *this;
  }
  switch (type()) {
    case Type::kNull:
      return true;
    case Type::kBool:
      return as_bool() == other.as_bool();
    case Type::kInt:
      return as_int() == other.as_int();
    case Type::kUint:
      return as_uint() == other.as_uint();
    case Type::kDouble:
      return as_double() == other.as_double();
    case Type::kString:
      return as_string() == other.as_string();
    case Type::kArray:
      return as_array() == other.as_array();
    case Type::kObject:
      return as_object() == other.as_object();
  }
  return false;
}

Object::Object(const Object&) = default;
Object::Object(Object&&) noexcept = default;
Object& Object::operator=(const Object&) = default;
Object& Object::operator=(Object&&) noexcept = default;

Object Object::from_members(std::vector<Member> members) {
  Object o;
  o.members_ = std::move(members);
  if (o.members_.size() >= kIndexFrom) o.build_index();
  return o;
}

// The index is complete whenever there are kIndexFrom members or more. It is kept so by every
// change and never built by a look-up: documents are shared between threads as const.
void Object::build_index() {
  index_.resize(members_.size());
  for (size_t i = 0; i < index_.size(); ++i) index_[i] = static_cast<uint32_t>(i);
  std::sort(index_.begin(), index_.end(),
            [this](uint32_t a, uint32_t b) { return members_[a].first < members_[b].first; });
}

void Object::index_last() {
  if (members_.size() < kIndexFrom) return;
  if (members_.size() == kIndexFrom) return build_index();
  uint32_t at = static_cast<uint32_t>(members_.size() - 1);
  const std::string& key = members_.back().first;
  if (members_[index_.back()].first < key) {  // members often come sorted
    index_.push_back(at);
    return;
  }
  auto place =
      std::lower_bound(index_.begin(), index_.end(), key,
                       [this](uint32_t i, const std::string& k) { return members_[i].first < k; });
  index_.insert(place, at);
}

size_t Object::position(std::string_view key) const {
  if (index_.empty()) {
    for (size_t i = 0; i < members_.size(); ++i) {
      if (members_[i].first == key) return i;
    }
    return members_.size();
  }
  auto place = std::lower_bound(
      index_.begin(), index_.end(), key,
      [this](uint32_t i, std::string_view k) { return std::string_view(members_[i].first) < k; });
  if (place == index_.end() || members_[*place].first != key) return members_.size();
  return *place;
}

const Value* Object::find(std::string_view key) const {
  size_t i = position(key);
  return i < members_.size() ? &members_[i].second : nullptr;
}

Value* Object::find(std::string_view key) {
  size_t i = position(key);
  return i < members_.size() ? &members_[i].second : nullptr;
}

Value& Object::operator[](std::string_view key) {
  size_t i = position(key);
  if (i < members_.size()) return members_[i].second;
  return append(std::string(key), Value());
}

Value& Object::set(std::string_view key, Value value) {
  size_t i = position(key);
  if (i == members_.size()) return append(std::string(key), std::move(value));
  members_[i].second = std::move(value);
  return members_[i].second;
}

Value& Object::append(std::string key, Value value) {
  members_.emplace_back(std::move(key), std::move(value));
  index_last();
  return members_.back().second;
}

bool Object::erase(std::string_view key) {
  size_t at = position(key);
  if (at == members_.size()) return false;
  members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(at));
  if (members_.size() < kIndexFrom) {
    index_.clear();
    return true;
  }
  std::erase(index_, static_cast<uint32_t>(at));
  for (uint32_t& i : index_) {
    if (i > at) --i;
  }
  return true;
}

void Object::erase_keys(std::vector<std::string> keys) {
  if (keys.empty()) return;
  std::sort(keys.begin(), keys.end());
  std::erase_if(members_, [&](const Member& member) {
    return std::binary_search(keys.begin(), keys.end(), member.first);
  });
  index_.clear();
  if (members_.size() >= kIndexFrom) build_index();
}

size_t Object::size() const { return members_.size(); }

void Object::clear() {
  members_.clear();
  index_.clear();
}

void Object::reserve(size_t n) { members_.reserve(n); }

std::vector<Object::Member>::const_iterator Object::begin() const { return members_.begin(); }
std::vector<Object::Member>::const_iterator Object::end() const { return members_.end(); }
std::vector<Object::Member>::iterator Object::begin() { return members_.begin(); }
std::vector<Object::Member>::iterator Object::end() { return members_.end(); }

bool Object::operator==(const Object& other) const {
  if (size() != other.size()) return false;
  for (size_t i = 0; i < members_.size(); ++i) {
    // Equal documents mostly have equal order too.
    const Member& theirs = other.members_[i];
    const Value* value =
        theirs.first == members_[i].first ? &theirs.second : other.find(members_[i].first);
    if (!value || !(*value == members_[i].second)) return false;
  }
  return true;
}

}  // namespace kueue::json
