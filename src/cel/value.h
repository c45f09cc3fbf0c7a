// Values of the Common Expression Language while an expression runs. A Value is a small, freely
// copyable view: documents are looked at where they are (json::Value), and what an expression makes
// lives in the Arena of its evaluation. A Value is valid as long as the document and the arena (for
// constants: the program) behind it. Not thread safe; no IO.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "json/value.h"
#include "schema/type.h"

namespace kueue::cel {

// Memory of one evaluation (or of one program's constants): allocations live until the arena dies.
// What has a destructor is destroyed with it.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  void* allocate(size_t bytes, size_t align);
  template <typename T>
  T* array(size_t n) {
    static_assert(std::is_trivially_destructible_v<T>);
    T* first = static_cast<T*>(allocate(n * sizeof(T), alignof(T)));
    for (size_t i = 0; i < n; ++i) new (first + i) T();
    return first;
  }
  template <typename T, typename... Args>
  T* make(Args&&... args) {
    T* object = new (allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
    if constexpr (!std::is_trivially_destructible_v<T>)
      cleanups_.push_back({object, [](void* p) { static_cast<T*>(p)->~T(); }});
    return object;
  }
  std::string_view copy(std::string_view text);
  size_t used() const { return used_; }

 private:
  struct Cleanup {
    void* object;
    void (*destroy)(void*);
  };
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::vector<Cleanup> cleanups_;
  std::byte* next_ = nullptr;
  size_t left_ = 0;
  size_t used_ = 0;
};

enum class Kind : uint8_t {
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kList,
  kMap,
  kTimestamp,
  kDuration,
  kType,
  kOptional,
  kQuantity,
  kIp,
  kCidr,
  kUrl,
  kSemver,
  kFormat,
  kError,
};

struct Value;
struct Entry;  // of a map made by an expression

// Bodies of the Kubernetes library types (functions_*.cc).
struct QuantityBody;
struct IpBody;
struct CidrBody;
struct UrlBody;
struct SemverBody;
struct FormatBody;

struct Value {
  Kind kind = Kind::kNull;
  // kList, kMap: a view of a document (data.json) rather than made by an expression.
  bool json = false;
  // The schema of a document view; nullptr where it has none.
  const schema::Type* type = nullptr;
  struct Text {
    const char* data;
    size_t size;
  };
  struct Seconds {
    int64_t seconds;
    int32_t nanos;   // 0..999,999,999
    int32_t offset;  // seconds east of UTC of the text it came from: only string() shows it
  };
  struct Items {
    const Value* data;
    size_t size;
  };
  struct Entries {
    const Entry* data;  // sorted by key (key_less)
    size_t size;
  };
  union {
    bool boolean;
    int64_t integer;  // kInt; kDuration in nanoseconds
    uint64_t unsigned_;
    double real;
    Text text;  // kString, kBytes, kType (its name), kError (the message)
    Seconds time;
    Items items;
    Entries entries;
    const json::Value* document;
    const Value* inner;  // kOptional; nullptr = none
    const QuantityBody* quantity;
    const IpBody* ip;
    const CidrBody* cidr;
    const UrlBody* url;
    const SemverBody* semver;
    const FormatBody* format;
  };

  Value() : integer(0) {}
  static Value of_bool(bool b);
  static Value of_int(int64_t n);
  static Value of_uint(uint64_t n);
  static Value of_double(double d);
  // The text is not copied.
  static Value of_string(std::string_view text);
  static Value of_bytes(std::string_view text);
  static Value of_type(std::string_view name);
  // The message is not copied.
  static Value error(std::string_view message);
  static Value of_list(std::span<const Value> items);
  static Value of_duration(int64_t ns);
  static Value of_timestamp(int64_t seconds, int32_t nanos, int32_t offset = 0);
  static Value of_optional(const Value* inner);

  bool is_error() const { return kind == Kind::kError; }
  bool is_true() const { return kind == Kind::kBool && boolean; }
  bool is_false() const { return kind == Kind::kBool && !boolean; }
  bool is_number() const {
    return kind == Kind::kInt || kind == Kind::kUint || kind == Kind::kDouble;
  }
  std::string_view str() const { return {text.data, text.size}; }
};

struct Entry {
  Value key;
  Value value;
};

// The view of a document's value as its schema types it: date-time texts become timestamps, byte
// texts bytes, numbers of a double field doubles. `type` may be nullptr. A text that its format
// does not allow becomes an error value.
Value from_json(const json::Value& document, const schema::Type* type, Arena& arena);
// A plain document of a result; types without a JSON form (type, optional, bytes are base64) become
// their text form.
json::Value to_json(const Value& value, Arena& arena);

// Number of items or entries of a list or map.
size_t container_size(const Value& container);
// Item i of a list, i < size.
Value list_item(const Value& list, size_t i, Arena& arena);
// Member of a map; false when absent. Keys of other types never match.
bool map_find(const Value& map, const Value& key, Arena& arena, Value* found);
// Entry i of a map in its stored order.
Entry map_entry(const Value& map, size_t i, Arena& arena);

// The map of the given entries. Of equal keys the last counts. A key that is no bool, number or
// text is an error value.
Value make_map(std::span<const Entry> entries, Arena& arena);

// CEL's ==: numbers compare across types, other types never equal each other; lists and maps
// deeply; list sets and maps of a schema without regard to order. An error inside is an error.
Value equals(const Value& a, const Value& b, Arena& arena);
inline bool is_equal(const Value& a, const Value& b, Arena& arena) {
  return equals(a, b, arena).is_true();
}
// Order of two values of comparable types: -1, 0, 1; 2 for unordered (NaN); 3 when they have no
// order.
int compare(const Value& a, const Value& b);

// Name of the value's type as type() prints it: "int", "list", "google.protobuf.Timestamp",
// "kubernetes.Quantity".
std::string_view type_name(const Value& value);

// Number of code points; invalid UTF-8 counts byte by byte.
size_t code_points(std::string_view text);

// An error value whose message lives in the arena.
Value make_error(Arena& arena, std::string_view message);
inline Value no_such_overload() { return Value::error("no such overload"); }

// Texts of the scalar types, as string() makes them.
std::string format_double(double d);
std::string format_timestamp(int64_t seconds, int32_t nanos, int32_t offset = 0);
std::string format_cel_duration(int64_t ns);

}  // namespace kueue::cel
