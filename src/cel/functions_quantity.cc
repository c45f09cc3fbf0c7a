// Kubernetes' quantity library.
#include "cel/bodies.h"
#include "cel/functions.h"
#include "cel/semver.h"

namespace kueue::cel {
namespace {

Value wrap(Context& context, const api::Quantity& quantity) {
  Value v;
  v.kind = Kind::kQuantity;
  v.quantity = context.arena.make<QuantityBody>(QuantityBody{quantity});
  return v;
}

Value quantity(Context& context, Arguments a) {
  if (a[0].kind != Kind::kString) return no_such_overload();
  Result<api::Quantity> parsed = api::Quantity::parse(a[0].str());
  if (!parsed.ok()) return make_error(context.arena, parsed.error().message);
  return wrap(context, *parsed);
}

Value is_quantity(Context&, Arguments a) {
  if (a[0].kind != Kind::kString) return no_such_overload();
  return Value::of_bool(api::Quantity::parse(a[0].str()).ok());
}

bool is(const Value& v) { return v.kind == Kind::kQuantity; }

Value sign(Context&, Arguments a) {
  return is(a[0]) ? Value::of_int(a[0].quantity->quantity.sign()) : no_such_overload();
}
Value is_integer(Context&, Arguments a) {
  return is(a[0]) ? Value::of_bool(a[0].quantity->quantity.is_int64()) : no_such_overload();
}
Value as_integer(Context&, Arguments a) {
  if (!is(a[0])) return no_such_overload();
  if (!a[0].quantity->quantity.is_int64()) return Value::error("cannot convert value to integer");
  return Value::of_int(a[0].quantity->quantity.value());
}
Value as_approximate_float(Context&, Arguments a) {
  return is(a[0]) ? Value::of_double(a[0].quantity->quantity.as_double()) : no_such_overload();
}

// Quantities or versions; 2 when the arguments are neither.
int order(Arguments a) {
  if (a[0].kind == Kind::kSemver && a[1].kind == Kind::kSemver)
    return compare_semver(*a[0].semver, *a[1].semver);
  if (!is(a[0]) || !is(a[1])) return 2;
  auto c = a[0].quantity->quantity <=> a[1].quantity->quantity;
  return c < 0 ? -1 : c > 0 ? 1 : 0;
}
Value compare_to(Context&, Arguments a) {
  int c = order(a);
  return c == 2 ? no_such_overload() : Value::of_int(c);
}
Value is_greater(Context&, Arguments a) {
  int c = order(a);
  return c == 2 ? no_such_overload() : Value::of_bool(c > 0);
}
Value is_less(Context&, Arguments a) {
  int c = order(a);
  return c == 2 ? no_such_overload() : Value::of_bool(c < 0);
}

template <bool negative>
Value sum(Context& context, Arguments a) {
  if (!is(a[0])) return no_such_overload();
  api::Quantity out = a[0].quantity->quantity;
  api::Quantity other;
  if (is(a[1])) {
    other = a[1].quantity->quantity;
  } else if (a[1].kind == Kind::kInt) {
    other = api::Quantity::of(a[1].integer);
  } else {
    return no_such_overload();
  }
  negative ? out.sub(other) : out.add(other);
  return wrap(context, out);
}

constexpr Function kFunctions[] = {
    {"quantity", false, 1, 1, quantity, "s:Q"},
    {"isQuantity", false, 1, 1, is_quantity, "s:b"},
    {"sign", false, 1, 1, sign, "Q:i"},
    {"isInteger", true, 1, 1, is_integer, "Q:b"},
    {"asInteger", true, 1, 1, as_integer, "Q:i"},
    {"asApproximateFloat", true, 1, 1, as_approximate_float, "Q:f"},
    {"add", true, 2, 2, sum<false>, "Q,Q:Q|Q,i:Q"},
    {"sub", true, 2, 2, sum<true>, "Q,Q:Q|Q,i:Q"},
    {"isGreaterThan", true, 2, 2, is_greater, "Q,Q:b|V,V:b"},
    {"isLessThan", true, 2, 2, is_less, "Q,Q:b|V,V:b"},
    {"compareTo", true, 2, 2, compare_to, "Q,Q:i|V,V:i"},
};

}  // namespace

std::span<const Function> quantity_functions() { return kFunctions; }

}  // namespace kueue::cel
