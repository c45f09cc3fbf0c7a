// Kubernetes' list library and the sets library.
#include "cel/functions.h"

namespace kueue::cel {
namespace {

Value is_sorted(Context& context, Arguments a) {
  if (a[0].kind != Kind::kList) return no_such_overload();
  size_t n = container_size(a[0]);
  if (!context.charge(n)) return Context::limit_error();
  for (size_t i = 1; i < n; ++i) {
    int c = compare(list_item(a[0], i - 1, context.arena), list_item(a[0], i, context.arena));
    if (c == 3) return no_such_overload();
    if (c == 1) return Value::of_bool(false);
  }
  return Value::of_bool(true);
}

Value sum(Context& context, Arguments a) {
  if (a[0].kind != Kind::kList) return no_such_overload();
  size_t n = container_size(a[0]);
  if (!context.charge(n)) return Context::limit_error();
  if (n == 0) return Value::of_int(0);
  Value total = list_item(a[0], 0, context.arena);
  if (!total.is_number() && total.kind != Kind::kDuration) return no_such_overload();
  for (size_t i = 1; i < n && !total.is_error(); ++i)
    total = add(context, total, list_item(a[0], i, context.arena));
  return total;
}

template <int wanted>
Value extreme(Context& context, Arguments a) {
  if (a[0].kind != Kind::kList) return no_such_overload();
  size_t n = container_size(a[0]);
  if (!context.charge(n)) return Context::limit_error();
  if (n == 0)
    return Value::error(wanted < 0 ? "min called on empty list" : "max called on empty list");
  Value best = list_item(a[0], 0, context.arena);
  for (size_t i = 1; i < n; ++i) {
    Value v = list_item(a[0], i, context.arena);
    int c = compare(v, best);
    if (c == 3) return no_such_overload();
    if (c == wanted) best = v;
  }
  return best;
}

bool holds(Context& context, const Value& list, const Value& item) {
  size_t n = container_size(list);
  for (size_t i = 0; i < n; ++i) {
    if (!context.charge(1)) return false;
    if (is_equal(list_item(list, i, context.arena), item, context.arena)) return true;
  }
  return false;
}

bool holds_all(Context& context, const Value& list, const Value& items) {
  size_t n = container_size(items);
  for (size_t i = 0; i < n; ++i)
    if (!holds(context, list, list_item(items, i, context.arena))) return false;
  return true;
}

bool lists(Arguments a) { return a[0].kind == Kind::kList && a[1].kind == Kind::kList; }

Value sets_contains(Context& context, Arguments a) {
  return lists(a) ? Value::of_bool(holds_all(context, a[0], a[1])) : no_such_overload();
}
Value sets_equivalent(Context& context, Arguments a) {
  return lists(a) ? Value::of_bool(holds_all(context, a[0], a[1]) && holds_all(context, a[1], a[0]))
                  : no_such_overload();
}
Value sets_intersects(Context& context, Arguments a) {
  if (!lists(a)) return no_such_overload();
  size_t n = container_size(a[1]);
  for (size_t i = 0; i < n; ++i)
    if (holds(context, a[0], list_item(a[1], i, context.arena))) return Value::of_bool(true);
  return Value::of_bool(false);
}

constexpr Function kFunctions[] = {
    {"isSorted", true, 1, 1, is_sorted, "[A]:b"},
    {"sum", true, 1, 1, sum, "[A]:A"},
    {"min", true, 1, 1, extreme<-1>, "[A]:A"},
    {"max", true, 1, 1, extreme<1>, "[A]:A"},
    {"sets.contains", false, 2, 2, sets_contains, "[A],[A]:b"},
    {"sets.equivalent", false, 2, 2, sets_equivalent, "[A],[A]:b"},
    {"sets.intersects", false, 2, 2, sets_intersects, "[A],[A]:b"},
};

}  // namespace

std::span<const Function> list_functions() { return kFunctions; }

}  // namespace kueue::cel
