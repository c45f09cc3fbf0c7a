// How a C++ API struct is reached from JSON: type-erased descriptions of structs, containers and
// scalars. The generated code under api/gen/ specialises binding_of<T>() for each struct;
// schema/codec.h works on them. All data here is constant and may be used from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/boxed.h"
#include "base/shared.h"
#include "base/time.h"
#include "json/value.h"
#include "schema/type.h"

namespace kueue::schema {

// The map type of all API structs; looks up std::string_view without a copy.
template <typename T>
using Map = std::map<std::string, T, std::less<>>;

enum class Shape : uint8_t {
  kString,     // std::string
  kBool,       // bool
  kInt32,      // int32_t
  kInt64,      // int64_t
  kDouble,     // double
  kTime,       // std::optional<Instant>, seconds in JSON
  kMicroTime,  // std::optional<Instant>, microseconds in JSON
  kDuration,   // std::optional<Duration>
  kJson,       // json::Value; null = absent
  kCustom,     // see CustomOps
  kStruct,     // see StructBinding
  kOptional,   // std::optional<T>, Boxed<T> or Shared<T>
  kList,       // std::vector<T>
  kMap,        // Map<T>
};

struct StructBinding;

// A scalar with a text form of its own (Quantity, IntOrString).
struct CustomOps {
  std::string_view name;  // as error texts call it
  // "" or what is wrong with the value.
  std::string (*decode)(const json::Value& value, void* object);
  json::Value (*encode)(const void* object);
  bool (*is_zero)(const void* object);
};
template <typename T>
inline constexpr const CustomOps* custom_ops = nullptr;

using MapVisitor = void (*)(void* context, const std::string& key, const void* value);

struct ValueBinding {
  Shape shape = Shape::kJson;
  const CustomOps* custom = nullptr;
  const StructBinding& (*structure)() = nullptr;
  const ValueBinding* element = nullptr;  // of containers
  // kOptional: nullptr when absent. kList: the item at `index`.
  const void* (*get)(const void* object, size_t index) = nullptr;
  // kOptional, instead of `get`: a value that is there as long as the pointer is held. Never null.
  std::shared_ptr<const void> (*open)(const void* object) = nullptr;
  size_t (*size)(const void* object) = nullptr;  // kList, kMap
  // kOptional: makes the value; kList: appends one. Returns its address.
  void* (*emplace)(void* object) = nullptr;
  void (*reserve)(void* object, size_t size) = nullptr;      // kList
  void* (*insert)(void* object, std::string key) = nullptr;  // kMap
  void (*each)(const void* object, MapVisitor visitor,
               void* context) = nullptr;  // kMap, sorted by key
};

struct FieldBinding {
  std::string_view name;   // JSON name
  uint16_t offset = 0;     // of the member in the C++ object
  bool omit_empty = true;  // encode leaves out zero values and structs that encode to {}
  const ValueBinding* value = nullptr;
};

struct StructBinding {
  std::string_view name;                      // "WorkloadSpec"
  std::span<const FieldBinding> fields = {};  // sorted by name
  const Type& (*type)() = nullptr;            // the table of the struct
  const ResourceInfo& (*resource)() =
      nullptr;  // root objects only: apiVersion and kind come from here
};

// Specialised by generated code for each API struct.
template <typename T>
const StructBinding& binding_of();
template <typename T>
const Type& type_of();

namespace bind_internal {

template <typename T>
struct Ops;

template <typename T, bool kCustomValue = custom_ops<T> != nullptr>
struct Leaf {
  static constexpr ValueBinding kBinding{.shape = Shape::kStruct, .structure = &binding_of<T>};
};
template <typename T>
struct Leaf<T, true> {
  static constexpr ValueBinding kBinding{.shape = Shape::kCustom, .custom = custom_ops<T>};
};

template <typename T>
struct Ops : Leaf<T> {};

#define KUEUE_BIND_SCALAR(CppType, shape_name)                          \
  template <>                                                           \
  struct Ops<CppType> {                                                 \
    static constexpr ValueBinding kBinding{.shape = Shape::shape_name}; \
  }
KUEUE_BIND_SCALAR(std::string, kString);
KUEUE_BIND_SCALAR(bool, kBool);
KUEUE_BIND_SCALAR(int32_t, kInt32);
KUEUE_BIND_SCALAR(int64_t, kInt64);
KUEUE_BIND_SCALAR(double, kDouble);
KUEUE_BIND_SCALAR(std::optional<Instant>, kTime);
KUEUE_BIND_SCALAR(std::optional<Duration>, kDuration);
KUEUE_BIND_SCALAR(json::Value, kJson);
#undef KUEUE_BIND_SCALAR

template <typename O, typename T>
struct OptionalOps {
  static const void* get(const void* object, size_t) {
    const O& o = *static_cast<const O*>(object);
    return o.has_value() ? &*o : nullptr;
  }
  static void* emplace(void* object) { return &static_cast<O*>(object)->emplace(); }
  static constexpr ValueBinding kBinding{
      .shape = Shape::kOptional, .element = &Ops<T>::kBinding, .get = &get, .emplace = &emplace};
};
template <typename T>
struct Ops<std::optional<T>> : OptionalOps<std::optional<T>, T> {};
template <typename T>
struct Ops<Boxed<T>> : OptionalOps<Boxed<T>, T> {};

// Always there, so never left out.
template <typename T>
struct Ops<Shared<T>> {
  static std::shared_ptr<const void> open(const void* object) {
    return static_cast<const Shared<T>*>(object)->open();
  }
  static void* emplace(void* object) { return &static_cast<Shared<T>*>(object)->edit(); }
  static constexpr ValueBinding kBinding{
      .shape = Shape::kOptional, .element = &Ops<T>::kBinding, .open = &open, .emplace = &emplace};
};

template <typename T>
struct Ops<std::vector<T>> {
  using List = std::vector<T>;
  static const void* get(const void* object, size_t index) {
    return &(*static_cast<const List*>(object))[index];
  }
  static size_t size(const void* object) { return static_cast<const List*>(object)->size(); }
  static void* emplace(void* object) { return &static_cast<List*>(object)->emplace_back(); }
  static void reserve(void* object, size_t size) { static_cast<List*>(object)->reserve(size); }
  static constexpr ValueBinding kBinding{.shape = Shape::kList,
                                         .element = &Ops<T>::kBinding,
                                         .get = &get,
                                         .size = &size,
                                         .emplace = &emplace,
                                         .reserve = &reserve};
};

template <typename T>
struct Ops<Map<T>> {
  static size_t size(const void* object) { return static_cast<const Map<T>*>(object)->size(); }
  static void* insert(void* object, std::string key) {
    return &(*static_cast<Map<T>*>(object))[std::move(key)];
  }
  static void each(const void* object, MapVisitor visitor, void* context) {
    for (const auto& [key, value] : *static_cast<const Map<T>*>(object))
      visitor(context, key, &value);
  }
  static constexpr ValueBinding kBinding{.shape = Shape::kMap,
                                         .element = &Ops<T>::kBinding,
                                         .size = &size,
                                         .insert = &insert,
                                         .each = &each};
};

}  // namespace bind_internal

template <typename T>
inline constexpr const ValueBinding& value_binding = bind_internal::Ops<T>::kBinding;

inline constexpr ValueBinding kMicroTimeBinding{.shape = Shape::kMicroTime};

}  // namespace kueue::schema
