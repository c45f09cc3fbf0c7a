// The evaluator: a walk over the checked tree. Recursion is bounded by the parser's depth limit.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "cel/ast.h"
#include "cel/checker.h"
#include "cel/functions.h"
#include "cel/parser.h"
#include "cel/program.h"

namespace kueue::cel {
namespace {

// Kubernetes' costs: traversing a text costs a tenth per byte, making a list 10, a map 30.
uint64_t text_cost(size_t bytes) { return bytes / 10 + 1; }

uint64_t size_cost(const Value& v) {
  switch (v.kind) {
    case Kind::kString:
    case Kind::kBytes:
      return text_cost(v.text.size);
    case Kind::kList:
    case Kind::kMap:
      return container_size(v);
    default:
      return 1;
  }
}

std::string key_text(const Value& key) {
  switch (key.kind) {
    case Kind::kString:
      return std::string(key.str());
    case Kind::kInt:
      return std::to_string(key.integer);
    case Kind::kUint:
      return std::to_string(key.unsigned_);
    case Kind::kDouble:
      return format_double(key.real);
    case Kind::kBool:
      return key.boolean ? "true" : "false";
    default:
      return std::string(type_name(key));
  }
}

// The whole number behind a list index; false when the value is none.
bool index_number(const Value& key, int64_t* out) {
  if (key.kind == Kind::kInt) {
    *out = key.integer;
    return true;
  }
  if (key.kind == Kind::kUint &&
      key.unsigned_ <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    *out = static_cast<int64_t>(key.unsigned_);
    return true;
  }
  if (key.kind == Kind::kDouble && key.real == std::floor(key.real) && std::fabs(key.real) < 9e15) {
    *out = static_cast<int64_t>(key.real);
    return true;
  }
  return false;
}

class Evaluator {
 public:
  Evaluator(Context& context, Value* slots) : context_(context), slots_(slots) {}

  Value eval(const Node& n) {
    switch (n.kind) {
      case NodeKind::kConstant:
        return n.constant;
      case NodeKind::kVariable:
        if (!context_.charge(1)) return Context::limit_error();
        return slots_[n.slot];
      case NodeKind::kSelect:
      case NodeKind::kHas:
        return select(n);
      case NodeKind::kIndex:
        return index(n);
      case NodeKind::kCall:
        return call(n);
      case NodeKind::kList:
        return list(n);
      case NodeKind::kMap:
        return map(n);
      case NodeKind::kNot: {
        Value v = eval(*n.children[0]);
        if (v.kind == Kind::kBool) return Value::of_bool(!v.boolean);
        return v.is_error() ? v : no_such_overload();
      }
      case NodeKind::kNegate:
        return negate(eval(*n.children[0]));
      case NodeKind::kAnd:
        return logic(n, false);
      case NodeKind::kOr:
        return logic(n, true);
      case NodeKind::kConditional: {
        Value condition = eval(*n.children[0]);
        if (condition.kind != Kind::kBool)
          return condition.is_error() ? condition : no_such_overload();
        return eval(*n.children[condition.boolean ? 1 : 2]);
      }
      case NodeKind::kBinary:
        return binary(n);
      case NodeKind::kComprehension:
        return comprehension(n);
      case NodeKind::kIdent:
        break;
    }
    return Value::error("unresolved name");
  }

 private:
  Arena& arena() { return context_.arena; }

  // True when the member is there. `failure` is set where looking is no question (no map).
  bool member(const Value& of, const Node& n, Value* found, Value* failure) {
    if (of.kind == Kind::kError) {
      *failure = of;
      return false;
    }
    if (of.kind != Kind::kMap) {
      *failure = no_such_overload();
      return false;
    }
    // Escaped names are those of a schema's fields; other maps are asked for the name as written.
    bool fields = of.json && of.type != nullptr && of.type->kind == schema::Kind::kStruct;
    return map_find(of, Value::of_string(fields ? n.name2 : n.name), arena(), found);
  }

  Value optional_of(const Value& v) { return Value::of_optional(arena().make<Value>(v)); }

  Value select(const Node& n) {
    Value of = eval(*n.children[0]);
    if (!context_.charge(1)) return Context::limit_error();
    bool optional = n.optional;
    if (of.kind == Kind::kOptional) {
      if (of.inner == nullptr) return n.kind == NodeKind::kHas ? Value::of_bool(false) : of;
      of = *of.inner;
      optional = true;
    }
    Value found;
    Value failure = Value::of_bool(true);
    bool there = member(of, n, &found, &failure);
    if (failure.is_error()) return failure;
    if (n.kind == NodeKind::kHas) return Value::of_bool(there);
    if (optional) return there ? optional_of(found) : Value::of_optional(nullptr);
    if (!there)
      return make_error(arena(),
                        "no such key: " + (of.json && of.type != nullptr ? n.name2 : n.name));
    return found;
  }

  Value bad_index(const Value& key) {
    if (key.kind == Kind::kDouble)
      return make_error(arena(), "unsupported index value " + key_text(key) + " in list");
    return make_error(arena(),
                      "unsupported index type '" + std::string(type_name(key)) + "' in list");
  }

  Value index(const Node& n) {
    Value of = eval(*n.children[0]);
    Value key = eval(*n.children[1]);
    if (!context_.charge(1)) return Context::limit_error();
    if (of.is_error()) return of;
    if (key.is_error()) return key;
    bool optional = n.optional;
    if (of.kind == Kind::kOptional) {
      if (of.inner == nullptr) return of;
      of = *of.inner;
      optional = true;
    }
    if (of.kind == Kind::kList) {
      int64_t at = 0;
      if (!index_number(key, &at)) return bad_index(key);
      bool there = at >= 0 && static_cast<uint64_t>(at) < container_size(of);
      if (!there) {
        if (optional) return Value::of_optional(nullptr);
        return make_error(arena(), "index out of bounds: " + std::to_string(at));
      }
      Value item = list_item(of, static_cast<size_t>(at), arena());
      return optional ? optional_of(item) : item;
    }
    if (of.kind != Kind::kMap) return no_such_overload();
    Value found;
    if (of.json && key.kind != Kind::kString) return no_such_overload();
    if (map_find(of, key, arena(), &found)) return optional ? optional_of(found) : found;
    if (optional) return Value::of_optional(nullptr);
    return make_error(arena(), "no such key: " + key_text(key));
  }

  Value call(const Node& n) {
    Value inline_args[4];
    size_t count = n.children.size();
    Value* args = count <= 4 ? inline_args : arena().array<Value>(count);
    uint64_t units = 1;
    for (size_t i = 0; i < count; ++i) {
      args[i] = eval(*n.children[i]);
      if (args[i].is_error()) return args[i];
      if (args[i].kind == Kind::kString) units += args[i].text.size / 10;
    }
    if (!context_.charge(units)) return Context::limit_error();
    context_.regex = n.regex.get();
    Value result = n.function->run(context_, {args, count});
    context_.regex = nullptr;
    if (result.kind == Kind::kString && !context_.charge(result.text.size / 10))
      return Context::limit_error();
    return context_.exceeded ? Context::limit_error() : result;
  }

  bool optional_item(const Node& n, size_t i) {
    return i < n.optional_items.size() && n.optional_items[i];
  }

  Value list(const Node& n) {
    if (!context_.charge(10)) return Context::limit_error();
    Value* items = arena().array<Value>(n.children.size());
    size_t count = 0;
    for (size_t i = 0; i < n.children.size(); ++i) {
      Value v = eval(*n.children[i]);
      if (v.is_error()) return v;
      if (optional_item(n, i)) {
        if (v.kind != Kind::kOptional) return no_such_overload();
        if (v.inner == nullptr) continue;
        v = *v.inner;
      }
      items[count++] = v;
    }
    return Value::of_list({items, count});
  }

  Value map(const Node& n) {
    if (!context_.charge(30)) return Context::limit_error();
    Entry* entries = arena().array<Entry>(n.children.size() / 2);
    size_t count = 0;
    for (size_t i = 0; i + 1 < n.children.size(); i += 2) {
      Value key = eval(*n.children[i]);
      if (key.is_error()) return key;
      Value value = eval(*n.children[i + 1]);
      if (value.is_error()) return value;
      if (optional_item(n, i / 2)) {
        if (value.kind != Kind::kOptional) return no_such_overload();
        if (value.inner == nullptr) continue;
        value = *value.inner;
      }
      entries[count++] = {key, value};
    }
    return make_map({entries, count}, arena());
  }

  Value negate(const Value& v) {
    if (v.is_error()) return v;
    if (v.kind == Kind::kDouble) return Value::of_double(-v.real);
    if (v.kind == Kind::kDuration) return Value::of_duration(-v.integer);
    if (v.kind != Kind::kInt) return no_such_overload();
    if (v.integer == std::numeric_limits<int64_t>::min()) return Value::error("integer overflow");
    return Value::of_int(-v.integer);
  }

  // && (decided by false) and || (decided by true): the deciding value wins over errors on either
  // side.
  Value logic(const Node& n, bool decisive) {
    Value failure;
    bool failed = false;
    for (const auto& child : n.children) {
      Value v = eval(*child);
      if (context_.exceeded) return Context::limit_error();
      if (v.kind == Kind::kBool) {
        if (v.boolean == decisive) return v;
        continue;
      }
      if (!failed) failure = v.is_error() ? v : no_such_overload();
      failed = true;
    }
    return failed ? failure : Value::of_bool(!decisive);
  }

  Value binary(const Node& n) {
    Value a = eval(*n.children[0]);
    if (a.is_error()) return a;
    Value b = eval(*n.children[1]);
    if (b.is_error()) return b;
    if (!context_.charge(1)) return Context::limit_error();
    switch (n.op) {
      case Op::kEqual:
        return equal(a, b);
      case Op::kNotEqual: {
        Value same = equal(a, b);
        return same.is_error() ? same : Value::of_bool(!same.boolean);
      }
      case Op::kLess:
      case Op::kLessEqual:
      case Op::kGreater:
      case Op::kGreaterEqual:
        return ordered(n.op, a, b);
      case Op::kIn:
        return in(a, b);
      case Op::kAdd:
        return add(context_, a, b);
      case Op::kSubtract:
        return subtract(a, b);
      case Op::kMultiply:
        return multiply(a, b);
      case Op::kDivide:
      case Op::kModulo:
        return divide(n.op, a, b);
    }
    return no_such_overload();
  }

  Value equal(const Value& a, const Value& b) {
    if (!context_.charge(std::min(size_cost(a), size_cost(b)))) return Context::limit_error();
    return equals(a, b, arena());
  }

  // Values of types without any order name the operator, as kube-apiserver does.
  static Value unordered(Op op, const Value& a) {
    bool never = a.kind == Kind::kList || a.kind == Kind::kMap || a.kind == Kind::kNull ||
                 a.kind == Kind::kType;
    if (!never) return no_such_overload();
    if (op == Op::kLess) return Value::error("no such overload: _<_");
    if (op == Op::kLessEqual) return Value::error("no such overload: _<=_");
    return Value::error(op == Op::kGreater ? "no such overload: _>_" : "no such overload: _>=_");
  }

  Value ordered(Op op, const Value& a, const Value& b) {
    int c = compare(a, b);
    if (c == 3) return unordered(op, a);
    if (c == 2) return Value::of_bool(false);
    if (op == Op::kLess) return Value::of_bool(c < 0);
    if (op == Op::kLessEqual) return Value::of_bool(c <= 0);
    return Value::of_bool(op == Op::kGreater ? c > 0 : c >= 0);
  }

  Value in(const Value& item, const Value& container) {
    if (container.kind == Kind::kMap) {
      Value found;
      return Value::of_bool(map_find(container, item, arena(), &found));
    }
    if (container.kind != Kind::kList) return no_such_overload();
    size_t n = container_size(container);
    for (size_t i = 0; i < n; ++i) {
      if (!context_.charge(1)) return Context::limit_error();
      if (is_equal(item, list_item(container, i, arena()), arena())) return Value::of_bool(true);
    }
    return Value::of_bool(false);
  }

  Value subtract(const Value& a, const Value& b) {
    if (a.kind == Kind::kInt && b.kind == Kind::kInt) {
      int64_t r = 0;
      if (__builtin_sub_overflow(a.integer, b.integer, &r)) return Value::error("integer overflow");
      return Value::of_int(r);
    }
    if (a.kind == Kind::kUint && b.kind == Kind::kUint) {
      if (a.unsigned_ < b.unsigned_) return Value::error("unsigned integer overflow");
      return Value::of_uint(a.unsigned_ - b.unsigned_);
    }
    if (a.kind == Kind::kDouble && b.kind == Kind::kDouble)
      return Value::of_double(a.real - b.real);
    if (a.kind == Kind::kTimestamp && b.kind == Kind::kTimestamp) {
      int64_t seconds = a.time.seconds - b.time.seconds, ns = 0;
      if (__builtin_mul_overflow(seconds, int64_t{1'000'000'000}, &ns) ||
          __builtin_add_overflow(ns, int64_t{a.time.nanos} - b.time.nanos, &ns))
        return Value::error("duration overflow");
      return Value::of_duration(ns);
    }
    if (b.kind == Kind::kDuration && b.integer != std::numeric_limits<int64_t>::min())
      if (a.kind == Kind::kDuration || a.kind == Kind::kTimestamp)
        return add(context_, a, Value::of_duration(-b.integer));
    return no_such_overload();
  }

  Value multiply(const Value& a, const Value& b) {
    if (a.kind == Kind::kInt && b.kind == Kind::kInt) {
      int64_t r = 0;
      if (__builtin_mul_overflow(a.integer, b.integer, &r)) return Value::error("integer overflow");
      return Value::of_int(r);
    }
    if (a.kind == Kind::kUint && b.kind == Kind::kUint) {
      uint64_t r = 0;
      if (__builtin_mul_overflow(a.unsigned_, b.unsigned_, &r))
        return Value::error("unsigned integer overflow");
      return Value::of_uint(r);
    }
    if (a.kind == Kind::kDouble && b.kind == Kind::kDouble)
      return Value::of_double(a.real * b.real);
    return no_such_overload();
  }

  Value divide(Op op, const Value& a, const Value& b) {
    bool modulo = op == Op::kModulo;
    std::string_view zero = modulo ? "modulus by zero" : "division by zero";
    if (a.kind == Kind::kInt && b.kind == Kind::kInt) {
      if (b.integer == 0) return Value::error(zero);
      if (a.integer == std::numeric_limits<int64_t>::min() && b.integer == -1)
        return Value::error("integer overflow");
      return Value::of_int(modulo ? a.integer % b.integer : a.integer / b.integer);
    }
    if (a.kind == Kind::kUint && b.kind == Kind::kUint) {
      if (b.unsigned_ == 0) return Value::error(zero);
      return Value::of_uint(modulo ? a.unsigned_ % b.unsigned_ : a.unsigned_ / b.unsigned_);
    }
    if (!modulo && a.kind == Kind::kDouble && b.kind == Kind::kDouble)
      return Value::of_double(a.real / b.real);
    return no_such_overload();
  }

  Value comprehension(const Node& n) {
    Value range = eval(*n.children[0]);
    if (range.is_error() && n.macro != Macro::kBind) return range;
    switch (n.macro) {
      case Macro::kBind:
        slots_[n.slot] = range;
        return eval(*n.children[1]);
      case Macro::kOptMap:
      case Macro::kOptFlatMap: {
        if (range.kind != Kind::kOptional) return no_such_overload();
        if (range.inner == nullptr) return range;
        slots_[n.slot] = *range.inner;
        Value v = eval(*n.children[1]);
        return v.is_error() || n.macro == Macro::kOptFlatMap ? v : optional_of(v);
      }
      case Macro::kAll:
        return quantifier(n, range, false);
      case Macro::kExists:
        return quantifier(n, range, true);
      case Macro::kExistsOne:
        return exists_one(n, range);
      case Macro::kMap:
      case Macro::kFilter:
      case Macro::kTransformList:
        return make_list(n, range);
      case Macro::kSortBy:
        return sort_by(n, range);
      case Macro::kTransformMap:
      case Macro::kTransformMapEntry:
        return transform_map(n, range);
    }
    return no_such_overload();
  }

  // Puts item i of the range into the iteration variables. False when the cost limit is passed.
  bool bind(const Node& n, const Value& range, size_t i) {
    if (!context_.charge(1)) return false;
    bool list = range.kind == Kind::kList;
    if (!n.two_variables) {
      slots_[n.slot] = list ? list_item(range, i, arena()) : map_entry(range, i, arena()).key;
      return true;
    }
    if (list) {
      slots_[n.slot] = Value::of_int(static_cast<int64_t>(i));
      slots_[n.slot2] = list_item(range, i, arena());
    } else {
      Entry entry = map_entry(range, i, arena());
      slots_[n.slot] = entry.key;
      slots_[n.slot2] = entry.value;
    }
    return true;
  }

  static bool iterable(const Value& v) { return v.kind == Kind::kList || v.kind == Kind::kMap; }
  Value not_iterable(const Value& v) {
    std::string name(type_name(v));
    if (name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 32);
    return make_error(arena(), "got 'types." + name + "', expected iterable type");
  }

  Value quantifier(const Node& n, const Value& range, bool decisive) {
    if (!iterable(range)) return not_iterable(range);
    Value failure;
    bool failed = false;
    size_t count = container_size(range);
    for (size_t i = 0; i < count; ++i) {
      if (!bind(n, range, i)) return Context::limit_error();
      Value v = eval(*n.children[1]);
      if (context_.exceeded) return Context::limit_error();
      if (v.kind == Kind::kBool) {
        if (v.boolean == decisive) return v;
        continue;
      }
      if (!failed) failure = v.is_error() ? v : no_such_overload();
      failed = true;
    }
    return failed ? failure : Value::of_bool(!decisive);
  }

  Value exists_one(const Node& n, const Value& range) {
    if (!iterable(range)) return not_iterable(range);
    size_t hits = 0;
    size_t count = container_size(range);
    for (size_t i = 0; i < count; ++i) {
      if (!bind(n, range, i)) return Context::limit_error();
      Value v = eval(*n.children[1]);
      if (v.kind != Kind::kBool) return v.is_error() ? v : no_such_overload();
      hits += v.boolean;
    }
    return Value::of_bool(hits == 1);
  }

  // The filter of a macro, when it has one: 1 take, 0 leave out, -1 *failure is set.
  int passes(const Node* filter, Value* failure) {
    if (filter == nullptr) return 1;
    Value v = eval(*filter);
    if (v.kind == Kind::kBool) return v.boolean ? 1 : 0;
    *failure = v.is_error() ? v : no_such_overload();
    return -1;
  }

  Value make_list(const Node& n, const Value& range) {
    if (!iterable(range)) return not_iterable(range);
    if (!context_.charge(10)) return Context::limit_error();
    const Node* filter =
        n.macro == Macro::kFilter || n.children.size() == 3 ? n.children[1].get() : nullptr;
    size_t count = container_size(range);
    Value* items = arena().array<Value>(count);
    size_t made = 0;
    for (size_t i = 0; i < count; ++i) {
      if (!bind(n, range, i)) return Context::limit_error();
      Value failure;
      int take = passes(filter, &failure);
      if (take < 0) return failure;
      if (take == 0) continue;
      Value v = n.macro == Macro::kFilter ? slots_[n.slot] : eval(*n.children.back());
      if (v.is_error()) return v;
      items[made++] = v;
    }
    return Value::of_list({items, made});
  }

  Value sort_by(const Node& n, const Value& range) {
    if (range.kind != Kind::kList) return not_iterable(range);
    size_t count = container_size(range);
    Value* keys = arena().array<Value>(count);
    Value* items = arena().array<Value>(count);
    for (size_t i = 0; i < count; ++i) {
      if (!bind(n, range, i)) return Context::limit_error();
      items[i] = slots_[n.slot];
      keys[i] = eval(*n.children[1]);
      if (keys[i].is_error()) return keys[i];
    }
    return sort_values(context_, {keys, count}, {items, count});
  }

  Value transform_map(const Node& n, const Value& range) {
    if (!iterable(range)) return not_iterable(range);
    if (!context_.charge(30)) return Context::limit_error();
    const Node* filter = n.children.size() == 3 ? n.children[1].get() : nullptr;
    size_t count = container_size(range);
    Entry* entries = arena().array<Entry>(count);
    size_t made = 0;
    for (size_t i = 0; i < count; ++i) {
      if (!bind(n, range, i)) return Context::limit_error();
      Value key = slots_[n.slot];
      Value failure;
      int take = passes(filter, &failure);
      if (take < 0) return failure;
      if (take == 0) continue;
      Value v = eval(*n.children.back());
      if (v.is_error()) return v;
      if (n.macro == Macro::kTransformMap) {
        entries[made++] = {key, v};
        continue;
      }
      if (v.kind != Kind::kMap || container_size(v) != 1) return no_such_overload();
      Entry entry = map_entry(v, 0, arena());
      for (size_t k = 0; k < made; ++k) {
        if (!context_.charge(1)) return Context::limit_error();
        if (is_equal(entries[k].key, entry.key, arena()))
          return make_error(arena(),
                            "insert failed: key " + key_text(entry.key) + " already exists");
      }
      entries[made++] = entry;
    }
    return make_map({entries, made}, arena());
  }

  Context& context_;
  Value* slots_;
};

}  // namespace

Program::Program(std::unique_ptr<Ast> ast, std::vector<bool> used, uint32_t slots)
    : ast_(std::move(ast)), used_(std::move(used)), slots_(slots) {}
Program::~Program() = default;

const CelType& Program::type() const { return ast_->root->type; }
const std::string& Program::source() const { return ast_->source; }

Evaluation Program::evaluate(std::span<const Value> variables, Arena& arena, uint64_t limit) const {
  Value inline_slots[16];
  Value* slots = slots_ <= 16 ? inline_slots : arena.array<Value>(slots_);
  for (size_t i = 0; i < slots_; ++i) slots[i] = i < variables.size() ? variables[i] : Value();
  Context context{arena, limit};
  Value value = Evaluator(context, slots).eval(*ast_->root);
  if (context.exceeded) value = Context::limit_error();
  return {value, context.cost};
}

Result<std::shared_ptr<const Program>> compile(std::string_view source,
                                               std::vector<Variable> variables) {
  std::vector<Issue> issues;
  std::unique_ptr<Ast> ast = parse(source, &issues);
  CheckResult checked;
  if (ast != nullptr) checked = check(*ast, variables, &issues);
  if (!issues.empty())
    return make_error(ErrorCode::kInvalid,
                      "compilation failed: " + format_issues(source, std::move(issues)));
  if (!checked.failure.empty())
    return make_error(ErrorCode::kInvalid, "program instantiation failed: " + checked.failure);
  return std::make_shared<const Program>(std::move(ast), std::move(checked.used), checked.slots);
}

Result<std::shared_ptr<const Program>> compile_for(std::string_view source,
                                                   std::vector<Variable> variables,
                                                   TypeKind wanted) {
  KUEUE_ASSIGN(auto program, compile(source, std::move(variables)));
  TypeKind kind = program->type().kind;
  if (wanted != TypeKind::kDyn && kind != wanted && kind != TypeKind::kDyn)
    return make_error(ErrorCode::kInvalid, "must evaluate to " + to_string(CelType(wanted)));
  return program;
}

}  // namespace kueue::cel
