#include "cel/value.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cel/bodies.h"
#include "cel/time.h"

namespace kueue::cel {

Arena::~Arena() {
  for (auto it = cleanups_.rbegin(); it != cleanups_.rend(); ++it) it->destroy(it->object);
}

void* Arena::allocate(size_t bytes, size_t align) {
  if (bytes == 0) bytes = 1;
  auto address = reinterpret_cast<uintptr_t>(next_);
  size_t pad = (align - address % align) % align;
  if (next_ == nullptr || pad + bytes > left_) {
    size_t size = std::max<size_t>(bytes + align, 2048);
    chunks_.push_back(std::unique_ptr<std::byte[]>(new std::byte[size]));
    next_ = chunks_.back().get();
    left_ = size;
    pad = (align - reinterpret_cast<uintptr_t>(next_) % align) % align;
  }
  std::byte* result = next_ + pad;
  next_ += pad + bytes;
  left_ -= pad + bytes;
  used_ += pad + bytes;
  return result;
}

std::string_view Arena::copy(std::string_view text) {
  if (text.empty()) return {};
  char* p = static_cast<char*>(allocate(text.size(), 1));
  std::memcpy(p, text.data(), text.size());
  return {p, text.size()};
}

namespace {

Value text_value(Kind kind, std::string_view text) {
  Value v;
  v.kind = kind;
  v.text = {text.data(), text.size()};
  return v;
}

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return -1;
}

// Standard base64 with padding.
bool decode_base64(std::string_view text, std::string* out) {
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    int digit = base64_digit(c);
    if (digit < 0) return false;
    bits = (bits << 6) | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out->push_back(static_cast<char>((bits >> count) & 0xff));
    }
  }
  return true;
}

Value timestamp_from(std::string_view text, Arena& arena) {
  Value::Seconds t{};
  if (!parse_timestamp(text, &t))
    return make_error(arena, "type conversion error from 'string' to 'google.protobuf.Timestamp'");
  return Value::of_timestamp(t.seconds, t.nanos, t.offset);
}

Value string_from_json(const std::string& text, const schema::Type* type, Arena& arena) {
  if (type == nullptr) return Value::of_string(text);
  if (type->kind == schema::Kind::kTime || type->kind == schema::Kind::kMicroTime)
    return timestamp_from(text, arena);
  if (type->kind == schema::Kind::kBytes) {
    std::string decoded;
    if (!decode_base64(text, &decoded)) return Value::error("illegal base64 data");
    return Value::of_bytes(arena.copy(decoded));
  }
  if (type->kind != schema::Kind::kString || type->constraints == nullptr)
    return Value::of_string(text);
  std::string_view format = type->constraints->format;
  if (format == "date-time") return timestamp_from(text, arena);
  if (format == "date") {
    std::string full(text);
    return timestamp_from(full + "T00:00:00Z", arena);
  }
  if (format == "duration") {
    int64_t ns = 0;
    if (!parse_go_duration(text, &ns))
      return make_error(arena, "type conversion error from 'string' to 'google.protobuf.Duration'");
    return Value::of_duration(ns);
  }
  if (format == "byte") {
    std::string decoded;
    if (!decode_base64(text, &decoded)) return Value::error("illegal base64 data");
    return Value::of_bytes(arena.copy(decoded));
  }
  return Value::of_string(text);
}

int key_rank(const Value& key) {
  switch (key.kind) {
    case Kind::kBool:
      return 0;
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDouble:
      return 1;
    case Kind::kString:
      return 2;
    default:
      return 3;
  }
}

bool key_less(const Value& a, const Value& b) {
  int ra = key_rank(a), rb = key_rank(b);
  return ra != rb ? ra < rb : compare(a, b) == -1;
}

}  // namespace

Value Value::of_bool(bool b) {
  Value v;
  v.kind = Kind::kBool;
  v.boolean = b;
  return v;
}
Value Value::of_int(int64_t n) {
  Value v;
  v.kind = Kind::kInt;
  v.integer = n;
  return v;
}
Value Value::of_uint(uint64_t n) {
  Value v;
  v.kind = Kind::kUint;
  v.unsigned_ = n;
  return v;
}
Value Value::of_double(double d) {
  Value v;
  v.kind = Kind::kDouble;
  v.real = d;
  return v;
}
Value Value::of_string(std::string_view text) { return text_value(Kind::kString, text); }
Value Value::of_bytes(std::string_view text) { return text_value(Kind::kBytes, text); }
Value Value::of_type(std::string_view name) { return text_value(Kind::kType, name); }
Value Value::error(std::string_view message) { return text_value(Kind::kError, message); }
Value Value::of_list(std::span<const Value> items) {
  Value v;
  v.kind = Kind::kList;
  v.items = {items.data(), items.size()};
  return v;
}
Value Value::of_duration(int64_t ns) {
  Value v;
  v.kind = Kind::kDuration;
  v.integer = ns;
  return v;
}
Value Value::of_timestamp(int64_t seconds, int32_t nanos, int32_t offset) {
  Value v;
  v.kind = Kind::kTimestamp;
  v.time = {seconds, nanos, offset};
  return v;
}
Value Value::of_optional(const Value* inner) {
  Value v;
  v.kind = Kind::kOptional;
  v.inner = inner;
  return v;
}

Value make_error(Arena& arena, std::string_view message) {
  return Value::error(arena.copy(message));
}

Value from_json(const json::Value& document, const schema::Type* type, Arena& arena) {
  switch (document.type()) {
    case json::Type::kNull:
      return Value();
    case json::Type::kBool:
      return Value::of_bool(document.as_bool());
    case json::Type::kInt:
      if (type != nullptr && type->kind == schema::Kind::kDouble)
        return Value::of_double(document.as_double());
      return Value::of_int(document.as_int());
    case json::Type::kUint:
    case json::Type::kDouble:
      return Value::of_double(document.as_double());
    case json::Type::kString:
      return string_from_json(document.as_string(), type, arena);
    case json::Type::kArray:
    case json::Type::kObject: {
      Value v;
      v.kind = document.is_array() ? Kind::kList : Kind::kMap;
      v.json = true;
      v.type = type;
      v.document = &document;
      return v;
    }
  }
  return Value();
}

size_t container_size(const Value& c) {
  if (c.kind == Kind::kList) return c.json ? c.document->as_array().size() : c.items.size;
  if (c.kind == Kind::kMap) return c.json ? c.document->as_object().size() : c.entries.size;
  return 0;
}

Value list_item(const Value& list, size_t i, Arena& arena) {
  if (!list.json) return list.items.data[i];
  const schema::Type* element = nullptr;
  if (list.type != nullptr && list.type->element) element = &*list.type->element;
  return from_json(list.document->as_array()[i], element, arena);
}

namespace {

const schema::Type* member_type(const schema::Type* type, std::string_view key) {
  if (type == nullptr) return nullptr;
  if (type->kind == schema::Kind::kStruct) {
    const schema::Field* field = type->field(key);
    return field == nullptr || !field->type ? nullptr : &*field->type;
  }
  return type->element ? &*type->element : nullptr;
}

}  // namespace

bool map_find(const Value& map, const Value& key, Arena& arena, Value* found) {
  if (map.json) {
    if (key.kind != Kind::kString) return false;
    const json::Value* member = map.document->find(key.str());
    if (member == nullptr) return false;
    const schema::Type* type = nullptr;
    if (map.type != nullptr && map.type->kind == schema::Kind::kStruct) {
      // What a schema does not name is not there, even where it is preserved.
      const schema::Field* field = map.type->field(key.str());
      if (field == nullptr) return false;
      if (field->type) type = &*field->type;
    } else if (map.type != nullptr && map.type->element) {
      type = &*map.type->element;
    }
    *found = from_json(*member, type, arena);
    return true;
  }
  const Entry* end = map.entries.data + map.entries.size;
  const Entry* it =
      std::lower_bound(map.entries.data, end, key,
                       [](const Entry& e, const Value& k) { return key_less(e.key, k); });
  if (it == end || key_less(key, it->key) || key_rank(key) == 3) return false;
  *found = it->value;
  return true;
}

Entry map_entry(const Value& map, size_t i, Arena& arena) {
  if (!map.json) return map.entries.data[i];
  const json::Object::Member& member =
      *(map.document->as_object().begin() + static_cast<std::ptrdiff_t>(i));
  return {Value::of_string(member.first),
          from_json(member.second, member_type(map.type, member.first), arena)};
}

Value make_map(std::span<const Entry> entries, Arena& arena) {
  for (const Entry& entry : entries)
    if (key_rank(entry.key) == 3)
      return make_error(arena, "unsupported key type: " + std::string(type_name(entry.key)));
  std::vector<uint32_t> order(entries.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&entries](uint32_t a, uint32_t b) {
    if (key_less(entries[a].key, entries[b].key)) return true;
    return !key_less(entries[b].key, entries[a].key) && a < b;
  });
  Entry* kept = arena.array<Entry>(entries.size());
  size_t count = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    bool repeated =
        i + 1 < order.size() && !key_less(entries[order[i]].key, entries[order[i + 1]].key);
    if (!repeated) kept[count++] = entries[order[i]];
  }
  Value v;
  v.kind = Kind::kMap;
  v.entries = {kept, count};
  return v;
}

namespace {

int order(bool less, bool greater) { return less ? -1 : greater ? 1 : 0; }

// Integers meet doubles as doubles, as kube-apiserver compares them.
int compare_doubles(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return 2;
  return order(a<b, a> b);
}

int flip(int c) { return c == 1 ? -1 : c == -1 ? 1 : c; }

int compare_numbers(const Value& a, const Value& b) {
  if (a.kind == b.kind) {
    if (a.kind == Kind::kInt) return order(a.integer<b.integer, a.integer> b.integer);
    if (a.kind == Kind::kUint) return order(a.unsigned_<b.unsigned_, a.unsigned_> b.unsigned_);
    if (std::isnan(a.real) || std::isnan(b.real)) return 2;
    return order(a.real<b.real, a.real> b.real);
  }
  if (a.kind == Kind::kDouble) return flip(compare_numbers(b, a));
  if (a.kind == Kind::kInt && b.kind == Kind::kDouble)
    return compare_doubles(static_cast<double>(a.integer), b.real);
  if (a.kind == Kind::kUint && b.kind == Kind::kDouble)
    return compare_doubles(static_cast<double>(a.unsigned_), b.real);
  if (a.kind == Kind::kUint) return flip(compare_numbers(b, a));
  if (a.integer < 0) return -1;
  auto whole = static_cast<uint64_t>(a.integer);
  return order(whole<b.unsigned_, whole> b.unsigned_);
}

int compare_texts(const Value& a, const Value& b) {
  int c = a.str().compare(b.str());
  return order(c < 0, c > 0);
}

}  // namespace

int compare(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b);
  if (a.kind != b.kind) return 3;
  switch (a.kind) {
    case Kind::kBool:
      return order(!a.boolean && b.boolean, a.boolean && !b.boolean);
    case Kind::kString:
    case Kind::kBytes:
      return compare_texts(a, b);
    case Kind::kDuration:
      return order(a.integer<b.integer, a.integer> b.integer);
    case Kind::kTimestamp:
      if (a.time.seconds != b.time.seconds) return a.time.seconds < b.time.seconds ? -1 : 1;
      return order(a.time.nanos<b.time.nanos, a.time.nanos> b.time.nanos);
    default:
      return 3;
  }
}

namespace {

bool unordered_list(const Value& list) {
  return list.json && list.type != nullptr && list.type->list_type != schema::ListType::kAtomic;
}

// The item of `list` that has the identity of `item`: equal for sets, equal keys for list maps;
// size when there is none.
size_t find_item(const Value& list, const Value& item, const schema::Type& type, Arena& arena) {
  size_t n = container_size(list);
  for (size_t i = 0; i < n; ++i) {
    Value other = list_item(list, i, arena);
    if (type.list_type == schema::ListType::kSet) {
      if (is_equal(item, other, arena)) return i;
      continue;
    }
    bool same = true;
    for (std::string_view key : type.list_map_keys) {
      Value name = Value::of_string(key), x, y;
      bool in_item = item.kind == Kind::kMap && map_find(item, name, arena, &x);
      bool in_other = other.kind == Kind::kMap && map_find(other, name, arena, &y);
      if (in_item != in_other || (in_item && !is_equal(x, y, arena))) {
        same = false;
        break;
      }
    }
    if (same) return i;
  }
  return n;
}

Value equal_lists(const Value& a, const Value& b, Arena& arena) {
  size_t n = container_size(a);
  if (n != container_size(b)) return Value::of_bool(false);
  if (unordered_list(a)) {
    for (size_t i = 0; i < n; ++i) {
      Value item = list_item(a, i, arena);
      size_t at = find_item(b, item, *a.type, arena);
      if (at == n) return Value::of_bool(false);
      if (a.type->list_type == schema::ListType::kMap) {
        Value same = equals(item, list_item(b, at, arena), arena);
        if (!same.is_true()) return same;
      }
    }
    return Value::of_bool(true);
  }
  for (size_t i = 0; i < n; ++i) {
    Value same = equals(list_item(a, i, arena), list_item(b, i, arena), arena);
    if (!same.is_true()) return same;
  }
  return Value::of_bool(true);
}

Value equal_maps(const Value& a, const Value& b, Arena& arena) {
  size_t n = container_size(a);
  if (n != container_size(b)) return Value::of_bool(false);
  for (size_t i = 0; i < n; ++i) {
    Entry entry = map_entry(a, i, arena);
    Value other;
    if (!map_find(b, entry.key, arena, &other)) return Value::of_bool(false);
    Value same = equals(entry.value, other, arena);
    if (!same.is_true()) return same;
  }
  return Value::of_bool(true);
}

}  // namespace

Value equals(const Value& a, const Value& b, Arena& arena) {
  if (a.is_error()) return a;
  if (b.is_error()) return b;
  if (a.is_number() && b.is_number()) return Value::of_bool(compare_numbers(a, b) == 0);
  if (a.kind != b.kind) return Value::of_bool(false);
  switch (a.kind) {
    case Kind::kNull:
      return Value::of_bool(true);
    case Kind::kBool:
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kDuration:
    case Kind::kTimestamp:
      return Value::of_bool(compare(a, b) == 0);
    case Kind::kType:
      return Value::of_bool(a.str() == b.str());
    case Kind::kList:
    case Kind::kMap:
      if (a.json && b.json && a.type == b.type) {
        if (a.document == b.document || *a.document == *b.document) return Value::of_bool(true);
        if (a.type == nullptr) return Value::of_bool(false);
      }
      return a.kind == Kind::kList ? equal_lists(a, b, arena) : equal_maps(a, b, arena);
    case Kind::kOptional:
      if (a.inner == nullptr || b.inner == nullptr) return Value::of_bool(a.inner == b.inner);
      return equals(*a.inner, *b.inner, arena);
    case Kind::kQuantity:
    case Kind::kIp:
    case Kind::kCidr:
    case Kind::kUrl:
    case Kind::kSemver:
    case Kind::kFormat:
      return Value::of_bool(equal_bodies(a, b));
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDouble:
    case Kind::kError:
      break;
  }
  return Value::of_bool(false);
}

std::string_view type_name(const Value& value) {
  switch (value.kind) {
    case Kind::kNull:
      return "null_type";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kUint:
      return "uint";
    case Kind::kDouble:
      return "double";
    case Kind::kString:
      return "string";
    case Kind::kBytes:
      return "bytes";
    case Kind::kList:
      return "list";
    case Kind::kMap:
      return "map";
    case Kind::kTimestamp:
      return "google.protobuf.Timestamp";
    case Kind::kDuration:
      return "google.protobuf.Duration";
    case Kind::kType:
      return "type";
    case Kind::kOptional:
      return "optional_type";
    case Kind::kQuantity:
      return "kubernetes.Quantity";
    case Kind::kIp:
      return "net.IP";
    case Kind::kCidr:
      return "net.CIDR";
    case Kind::kUrl:
      return "kubernetes.URL";
    case Kind::kSemver:
      return "kubernetes.Semver";
    case Kind::kFormat:
      return "kubernetes.NamedFormat";
    case Kind::kError:
      return "error";
  }
  return "error";
}

size_t code_points(std::string_view text) {
  size_t n = 0;
  for (char c : text) n += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return n;
}

json::Value to_json(const Value& value, Arena& arena) {
  switch (value.kind) {
    case Kind::kNull:
    case Kind::kError:
      return json::Value();
    case Kind::kBool:
      return json::Value(value.boolean);
    case Kind::kInt:
      return json::Value(value.integer);
    case Kind::kUint:
      return json::Value(value.unsigned_);
    case Kind::kDouble:
      return json::Value(value.real);
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kType:
      return json::Value(value.str());
    case Kind::kTimestamp:
      return json::Value(format_timestamp(value.time.seconds, value.time.nanos, value.time.offset));
    case Kind::kDuration:
      return json::Value(format_cel_duration(value.integer));
    case Kind::kOptional:
      return value.inner == nullptr ? json::Value() : to_json(*value.inner, arena);
    case Kind::kList: {
      if (value.json) return *value.document;
      json::Array out;
      for (size_t i = 0; i < value.items.size; ++i)
        out.push_back(to_json(value.items.data[i], arena));
      return json::Value(std::move(out));
    }
    case Kind::kMap: {
      if (value.json) return *value.document;
      json::Object out;
      for (size_t i = 0; i < value.entries.size; ++i) {
        const Entry& e = value.entries.data[i];
        out.set(e.key.kind == Kind::kString ? std::string(e.key.str()) : body_text(e.key),
                to_json(e.value, arena));
      }
      return json::Value(std::move(out));
    }
    case Kind::kQuantity:
    case Kind::kIp:
    case Kind::kCidr:
    case Kind::kUrl:
    case Kind::kSemver:
    case Kind::kFormat:
      return json::Value(body_text(value));
  }
  return json::Value();
}

}  // namespace kueue::cel
