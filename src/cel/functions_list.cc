// Kubernetes' list library and the sets library.
#include <algorithm>
#include <string>
#include <vector>

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

bool list_of(const Value& v) { return v.kind == Kind::kList; }

Value range(Context& context, Arguments a) {
  int64_t n = 0;
  if (!int_argument(a[0], &n)) return no_such_overload();
  size_t count = n < 0 ? 0 : static_cast<size_t>(n);
  if (!context.charge(count)) return Context::limit_error();
  Value* items = context.arena.array<Value>(count);
  for (size_t i = 0; i < count; ++i) items[i] = Value::of_int(static_cast<int64_t>(i));
  return Value::of_list({items, count});
}

// Appends the items of `list`, lists among them in place down to `depth` levels. False when the
// cost limit is passed.
bool flatten_into(Context& context, const Value& list, int64_t depth, std::vector<Value>* out) {
  for (size_t i = 0; i < container_size(list); ++i) {
    if (!context.charge(1)) return false;
    Value item = list_item(list, i, context.arena);
    if (item.kind != Kind::kList || depth == 0) {
      out->push_back(item);
    } else if (!flatten_into(context, item, depth - 1, out)) {
      return false;
    }
  }
  return true;
}

Value to_list(Context& context, const std::vector<Value>& items) {
  Value* stored = context.arena.array<Value>(items.size());
  std::copy(items.begin(), items.end(), stored);
  return Value::of_list({stored, items.size()});
}

Value flatten(Context& context, Arguments a) {
  int64_t depth = 1;
  if (!list_of(a[0]) || (a.size() == 2 && !int_argument(a[1], &depth))) return no_such_overload();
  if (depth < 0) return Value::error("level must be non-negative");
  std::vector<Value> items;
  if (!flatten_into(context, a[0], depth, &items)) return Context::limit_error();
  return to_list(context, items);
}

Value distinct(Context& context, Arguments a) {
  if (!list_of(a[0])) return no_such_overload();
  std::vector<Value> items;
  for (size_t i = 0; i < container_size(a[0]); ++i) {
    if (!context.charge(items.size() + 1)) return Context::limit_error();
    Value item = list_item(a[0], i, context.arena);
    bool seen = std::any_of(items.begin(), items.end(),
                            [&](const Value& v) { return is_equal(v, item, context.arena); });
    if (!seen) items.push_back(item);
  }
  return to_list(context, items);
}

Value sort(Context& context, Arguments a) {
  if (!list_of(a[0])) return no_such_overload();
  size_t n = container_size(a[0]);
  Value* items = context.arena.array<Value>(n);
  Value* keys = context.arena.array<Value>(n);
  for (size_t i = 0; i < n; ++i) keys[i] = items[i] = list_item(a[0], i, context.arena);
  return sort_values(context, {keys, n}, {items, n});
}

Value slice(Context& context, Arguments a) {
  int64_t from = 0, to = 0;
  if (!list_of(a[0]) || !int_argument(a[1], &from) || !int_argument(a[2], &to))
    return no_such_overload();
  auto n = static_cast<int64_t>(container_size(a[0]));
  std::string what = "cannot slice(" + std::to_string(from) + ", " + std::to_string(to) + "), ";
  if (from < 0 || to < 0) return make_error(context.arena, what + "negative indexes not supported");
  if (from > to)
    return make_error(context.arena, what + "start index must be less than or equal to end index");
  if (to > n) return make_error(context.arena, what + "list is length " + std::to_string(n));
  if (!context.charge(static_cast<uint64_t>(to - from))) return Context::limit_error();
  std::vector<Value> items;
  for (int64_t i = from; i < to; ++i)
    items.push_back(list_item(a[0], static_cast<size_t>(i), context.arena));
  return to_list(context, items);
}

Value reverse(Context& context, Arguments a) {
  if (!list_of(a[0])) return no_such_overload();
  size_t n = container_size(a[0]);
  if (!context.charge(n)) return Context::limit_error();
  Value* items = context.arena.array<Value>(n);
  for (size_t i = 0; i < n; ++i) items[n - 1 - i] = list_item(a[0], i, context.arena);
  return Value::of_list({items, n});
}

template <bool last>
Value end_item(Context& context, Arguments a) {
  if (!list_of(a[0])) return no_such_overload();
  size_t n = container_size(a[0]);
  if (n == 0) return Value::of_optional(nullptr);
  return Value::of_optional(
      context.arena.make<Value>(list_item(a[0], last ? n - 1 : 0, context.arena)));
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
    {"lists.range", false, 1, 1, range, "i:[i]"},
    {"flatten", true, 1, 2, flatten, "[[A]]:[A]|[d]:[d]|[d],i:[d]"},
    {"distinct", true, 1, 1, distinct, "[A]:[A]"},
    {"sort", true, 1, 1, sort, "[A]:[A]"},
    {"slice", true, 3, 3, slice, "[A],i,i:[A]"},
    {"reverse", true, 1, 1, reverse, "[A]:[A]"},
    {"first", true, 1, 1, end_item<false>, "[A]:?A"},
    {"last", true, 1, 1, end_item<true>, "[A]:?A"},
    {"sets.contains", false, 2, 2, sets_contains, "[A],[A]:b"},
    {"sets.equivalent", false, 2, 2, sets_equivalent, "[A],[A]:b"},
    {"sets.intersects", false, 2, 2, sets_intersects, "[A],[A]:b"},
};

}  // namespace

std::span<const Function> list_functions() { return kFunctions; }

Value sort_values(Context& context, std::span<Value> keys, std::span<Value> items) {
  size_t n = keys.size();
  if (!context.charge(n)) return Context::limit_error();
  for (size_t i = 0; i < n; ++i)
    if (compare(keys[0], keys[i]) >= 2) return no_such_overload();
  std::vector<uint32_t> order(n);
  for (uint32_t i = 0; i < n; ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&keys](uint32_t a, uint32_t b) {
    int c = compare(keys[a], keys[b]);
    return c == -1 || (c == 0 && a < b);
  });
  std::vector<Value> sorted;
  for (uint32_t i : order) sorted.push_back(items[i]);
  std::copy(sorted.begin(), sorted.end(), items.begin());
  return Value::of_list(items);
}

}  // namespace kueue::cel
