// The math extension.
#include <cmath>
#include <cstdlib>
#include <limits>

#include "cel/functions.h"

namespace kueue::cel {
namespace {

template <int wanted>
Value extreme(Context& context, Arguments a) {
  bool list = a.size() == 1 && a[0].kind == Kind::kList;
  size_t n = list ? container_size(a[0]) : a.size();
  if (n == 0)
    return Value::error(wanted < 0 ? "math.@min argument must not be empty"
                                   : "math.@max argument must not be empty");
  if (!context.charge(n)) return Context::limit_error();
  Value best = list ? list_item(a[0], 0, context.arena) : a[0];
  for (size_t i = 0; i < n; ++i) {
    Value v = list ? list_item(a[0], i, context.arena) : a[i];
    if (!v.is_number()) return no_such_overload();
    if (compare(v, best) == wanted) best = v;
  }
  return best;
}

template <double (*operation)(double)>
Value real(Context&, Arguments a) {
  return a[0].kind == Kind::kDouble ? Value::of_double(operation(a[0].real)) : no_such_overload();
}

template <bool (*test)(double)>
Value real_test(Context&, Arguments a) {
  return a[0].kind == Kind::kDouble ? Value::of_bool(test(a[0].real)) : no_such_overload();
}

bool is_nan(double d) { return std::isnan(d); }
bool is_inf(double d) { return std::isinf(d); }
bool is_finite(double d) { return std::isfinite(d); }
double ceil_of(double d) { return std::ceil(d); }
double floor_of(double d) { return std::floor(d); }
double round_of(double d) { return std::round(d); }
double trunc_of(double d) { return std::trunc(d); }

Value absolute(Context&, Arguments a) {
  if (a[0].kind == Kind::kUint) return a[0];
  if (a[0].kind == Kind::kDouble) return Value::of_double(std::fabs(a[0].real));
  if (a[0].kind != Kind::kInt) return no_such_overload();
  if (a[0].integer == std::numeric_limits<int64_t>::min()) return Value::error("integer overflow");
  return Value::of_int(a[0].integer < 0 ? -a[0].integer : a[0].integer);
}

Value sign(Context&, Arguments a) {
  if (a[0].kind == Kind::kUint) return Value::of_uint(a[0].unsigned_ > 0 ? 1 : 0);
  if (a[0].kind == Kind::kInt) return Value::of_int((a[0].integer > 0) - (a[0].integer < 0));
  if (a[0].kind != Kind::kDouble) return no_such_overload();
  if (std::isnan(a[0].real)) return a[0];
  return Value::of_double((a[0].real > 0) - (a[0].real < 0));
}

Value square_root(Context&, Arguments a) {
  if (a[0].kind == Kind::kDouble) return Value::of_double(std::sqrt(a[0].real));
  if (a[0].kind == Kind::kInt)
    return Value::of_double(std::sqrt(static_cast<double>(a[0].integer)));
  if (a[0].kind == Kind::kUint)
    return Value::of_double(std::sqrt(static_cast<double>(a[0].unsigned_)));
  return no_such_overload();
}

enum class Bit { kAnd, kOr, kXor, kLeft, kRight };

template <Bit op>
uint64_t apply(uint64_t a, uint64_t b) {
  switch (op) {
    case Bit::kAnd:
      return a & b;
    case Bit::kOr:
      return a | b;
    case Bit::kXor:
      return a ^ b;
    case Bit::kLeft:
      return b >= 64 ? 0 : a << b;
    case Bit::kRight:
      return b >= 64 ? 0 : a >> b;
  }
  return 0;
}

template <Bit op>
Value bits(Context&, Arguments a) {
  bool shift = op == Bit::kLeft || op == Bit::kRight;
  if (shift) {
    if (a[1].kind != Kind::kInt) return no_such_overload();
    if (a[1].integer < 0) return Value::error("math.bitShift() negative offset");
  } else if (a[0].kind != a[1].kind) {
    return no_such_overload();
  }
  if (a[0].kind == Kind::kUint) return Value::of_uint(apply<op>(a[0].unsigned_, a[1].unsigned_));
  if (a[0].kind != Kind::kInt) return no_such_overload();
  return Value::of_int(static_cast<int64_t>(
      apply<op>(static_cast<uint64_t>(a[0].integer), static_cast<uint64_t>(a[1].integer))));
}

Value bit_not(Context&, Arguments a) {
  if (a[0].kind == Kind::kUint) return Value::of_uint(~a[0].unsigned_);
  return a[0].kind == Kind::kInt ? Value::of_int(~a[0].integer) : no_such_overload();
}

constexpr std::string_view kExtreme =
    "i:i|u:u|f:f|[i]:i|[u]:u|[f]:f|[d]:d|d,d:d|d,d,d:d|d,d,d,d:d|d,d,d,d,d:d|d,d,d,d,d,d:d|d,d,d,d,"
    "d,d,d:d|"
    "d,d,d,d,d,d,d,d:d";
constexpr std::string_view kBits = "i,i:i|u,u:u";
constexpr std::string_view kShift = "i,i:i|u,i:u";

constexpr Function kFunctions[] = {
    {"math.greatest", false, 1, 8, extreme<1>, kExtreme},
    {"math.least", false, 1, 8, extreme<-1>, kExtreme},
    {"math.ceil", false, 1, 1, real<ceil_of>, "f:f"},
    {"math.floor", false, 1, 1, real<floor_of>, "f:f"},
    {"math.round", false, 1, 1, real<round_of>, "f:f"},
    {"math.trunc", false, 1, 1, real<trunc_of>, "f:f"},
    {"math.isNaN", false, 1, 1, real_test<is_nan>, "f:b"},
    {"math.isInf", false, 1, 1, real_test<is_inf>, "f:b"},
    {"math.isFinite", false, 1, 1, real_test<is_finite>, "f:b"},
    {"math.abs", false, 1, 1, absolute, "i:i|u:u|f:f"},
    {"math.sign", false, 1, 1, sign, "i:i|u:u|f:f"},
    {"math.sqrt", false, 1, 1, square_root, "f:f|i:f|u:f"},
    {"math.bitAnd", false, 2, 2, bits<Bit::kAnd>, kBits},
    {"math.bitOr", false, 2, 2, bits<Bit::kOr>, kBits},
    {"math.bitXor", false, 2, 2, bits<Bit::kXor>, kBits},
    {"math.bitNot", false, 1, 1, bit_not, "i:i|u:u"},
    {"math.bitShiftLeft", false, 2, 2, bits<Bit::kLeft>, kShift},
    {"math.bitShiftRight", false, 2, 2, bits<Bit::kRight>, kShift},
};

}  // namespace

std::span<const Function> math_functions() { return kFunctions; }

}  // namespace kueue::cel
