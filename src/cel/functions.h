// The functions of CEL and of Kubernetes' libraries as tables: name, shape, static signatures,
// implementation. The checker finds functions here at compile time; the evaluator calls them
// through the pointer. Immutable; thread safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cel/value.h"

namespace re2 {
class RE2;
}

namespace kueue::cel {

// State of one evaluation: memory and cost.
struct Context {
  Arena& arena;
  uint64_t limit;  // cost of the whole call
  uint64_t cost = 0;
  bool exceeded = false;
  const re2::RE2* regex = nullptr;  // the compiled constant pattern of the call in progress

  // Adds to the cost. False once the limit is passed; the evaluation then ends with limit_error().
  bool charge(uint64_t units) {
    cost += units;
    if (cost > limit) exceeded = true;
    return !exceeded;
  }
  static Value limit_error() {
    return Value::error("operation cancelled: actual cost limit exceeded");
  }
};

using Arguments = std::span<const Value>;

struct Function {
  std::string_view name;  // "size", "sets.contains"
  bool member;            // called as receiver.name(...); the receiver is the first argument
  uint8_t min_arguments;  // with the receiver
  uint8_t max_arguments;
  Value (*run)(Context&, Arguments);
  // Overloads separated by '|': argument types, ':', result. Letters: d dyn, n null, b bool, i int,
  // u uint, f double, s string, y bytes, T timestamp, D duration, t type, Q quantity, U url, P ip,
  // C cidr, V semver, F format, A B type parameters, [X] list, {XY} map, ?X optional.
  std::string_view signatures;
};

// nullptr when there is none of that name and shape.
const Function* find_function(std::string_view name, bool member);

// The tables, one per file.
std::span<const Function> standard_functions();
std::span<const Function> string_functions();
std::span<const Function> list_functions();
std::span<const Function> time_functions();
std::span<const Function> math_functions();
std::span<const Function> quantity_functions();
std::span<const Function> net_functions();
std::span<const Function> url_functions();
std::span<const Function> format_functions();
std::span<const Function> semver_functions();

// RE2's failure in the words of Go's regexp package: "error parsing regexp: missing closing ):
// `a(`".
std::string regex_error(const re2::RE2& regex);
// Sorts in place; an error value when items have no order.
Value sort_values(Context& context, std::span<Value> keys, std::span<Value> items);

// Shared by the implementations: arithmetic of the operators.
Value add(Context& context, const Value& a, const Value& b);

inline Value string_value(Context& context, std::string_view text) {
  return Value::of_string(context.arena.copy(text));
}
// An int argument; false for other kinds.
inline bool int_argument(const Value& v, int64_t* out) {
  if (v.kind != Kind::kInt) return false;
  *out = v.integer;
  return true;
}

}  // namespace kueue::cel
