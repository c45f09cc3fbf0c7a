#include "cel/checker.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "cel/functions.h"

namespace kueue::cel {
namespace {

struct Scoped {
  std::string_view name;
  uint32_t slot;
  CelType type;
};

// Names that denote types.
struct TypeName {
  std::string_view name;
  std::string_view value;
};
constexpr TypeName kTypeNames[] = {
    {"bool", "bool"},
    {"int", "int"},
    {"uint", "uint"},
    {"double", "double"},
    {"string", "string"},
    {"bytes", "bytes"},
    {"list", "list"},
    {"map", "map"},
    {"null_type", "null_type"},
    {"type", "type"},
    {"optional_type", "optional_type"},
    {"google.protobuf.Timestamp", "google.protobuf.Timestamp"},
    {"google.protobuf.Duration", "google.protobuf.Duration"},
    {"net.IP", "net.IP"},
    {"net.CIDR", "net.CIDR"},
};

// Reads one type of a signature (functions.h).
CelType read_type(std::string_view& text) {
  char c = text.front();
  text.remove_prefix(1);
  switch (c) {
    case 'n':
      return TypeKind::kNull;
    case 'b':
      return TypeKind::kBool;
    case 'i':
      return TypeKind::kInt;
    case 'u':
      return TypeKind::kUint;
    case 'f':
      return TypeKind::kDouble;
    case 's':
      return TypeKind::kString;
    case 'y':
      return TypeKind::kBytes;
    case 'T':
      return TypeKind::kTimestamp;
    case 'D':
      return TypeKind::kDuration;
    case 't':
      return TypeKind::kType;
    case 'Q':
      return CelType::opaque("kubernetes.Quantity");
    case 'U':
      return CelType::opaque("kubernetes.URL");
    case 'P':
      return CelType::opaque("net.IP");
    case 'C':
      return CelType::opaque("net.CIDR");
    case 'V':
      return CelType::opaque("kubernetes.Semver");
    case 'F':
      return CelType::opaque("kubernetes.NamedFormat");
    case 'A':
    case 'B': {
      CelType t(TypeKind::kParam);
      t.name = c == 'A' ? "A" : "B";
      return t;
    }
    case '[': {
      CelType element = read_type(text);
      text.remove_prefix(1);
      return CelType::list(std::move(element));
    }
    case '{': {
      CelType key = read_type(text);
      CelType value = read_type(text);
      text.remove_prefix(1);
      return CelType::map(std::move(key), std::move(value));
    }
    case '?':
      return CelType::optional(read_type(text));
    default:
      return TypeKind::kDyn;
  }
}

using Bindings = std::array<std::optional<CelType>, 2>;

bool match(const CelType& actual, const CelType& formal, Bindings* bound) {
  if (formal.kind == TypeKind::kParam) {
    std::optional<CelType>& slot = (*bound)[formal.name == "A" ? 0 : 1];
    if (!slot || slot->kind == TypeKind::kDyn) {
      slot = actual;
      return true;
    }
    return assignable(actual, *slot);
  }
  if (actual.kind == TypeKind::kDyn || formal.kind == TypeKind::kDyn) return true;
  if (actual.kind != formal.kind || actual.name != formal.name) {
    return assignable(actual, formal) && actual.kind == TypeKind::kNull;
  }
  for (size_t i = 0; i < formal.params.size(); ++i) {
    CelType part = i < actual.params.size() ? actual.params[i] : CelType();
    if (!match(part, formal.params[i], bound)) return false;
  }
  return true;
}

CelType substitute(const CelType& formal, const Bindings& bound) {
  if (formal.kind == TypeKind::kParam) return bound[formal.name == "A" ? 0 : 1].value_or(CelType());
  CelType out = formal;
  for (CelType& param : out.params) param = substitute(param, bound);
  return out;
}

bool is_numeric(TypeKind k) {
  return k == TypeKind::kInt || k == TypeKind::kUint || k == TypeKind::kDouble;
}

std::string_view op_name(Op op) {
  switch (op) {
    case Op::kEqual:
      return "_==_";
    case Op::kNotEqual:
      return "_!=_";
    case Op::kLess:
      return "_<_";
    case Op::kLessEqual:
      return "_<=_";
    case Op::kGreater:
      return "_>_";
    case Op::kGreaterEqual:
      return "_>=_";
    case Op::kIn:
      return "@in";
    case Op::kAdd:
      return "_+_";
    case Op::kSubtract:
      return "_-_";
    case Op::kMultiply:
      return "_*_";
    case Op::kDivide:
      return "_/_";
    case Op::kModulo:
      return "_%_";
  }
  return "";
}

class Checker {
 public:
  Checker(Ast& ast, std::span<const Variable> variables, std::vector<Issue>* issues)
      : ast_(ast), issues_(issues) {
    for (const Variable& v : variables) {
      scope_.push_back({v.name, slots_, v.type});
      ++slots_;
    }
    used_.resize(variables.size(), false);
  }

  CheckResult run() {
    visit(*ast_.root);
    return {slots_, std::move(used_), std::move(failure_)};
  }

 private:
  void issue(uint32_t position, std::string message) {
    issues_->push_back({position, std::move(message)});
  }

  void no_overload(const Node& n, std::string_view name, const std::vector<const Node*>& args,
                   bool member) {
    std::string text;
    size_t first = 0;
    if (member && !args.empty()) {
      text = to_string(args[0]->type) + ".";
      first = 1;
    }
    text += '(';
    for (size_t i = first; i < args.size(); ++i) {
      if (i > first) text += ", ";
      text += to_string(args[i]->type);
    }
    issue(n.position,
          "found no matching overload for '" + std::string(name) + "' applied to '" + text + ")'");
  }

  void visit(Node& n) {
    switch (n.kind) {
      case NodeKind::kConstant:
      case NodeKind::kVariable:
        return;
      case NodeKind::kIdent:
        return identifier(n);
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
      case NodeKind::kNot:
      case NodeKind::kAnd:
      case NodeKind::kOr:
        return logic(n);
      case NodeKind::kNegate:
        return negate(n);
      case NodeKind::kConditional:
        return conditional(n);
      case NodeKind::kBinary:
        return binary(n);
      case NodeKind::kComprehension:
        return comprehension(n);
    }
  }

  const Scoped* find_variable(std::string_view name) const {
    for (auto it = scope_.rbegin(); it != scope_.rend(); ++it)
      if (it->name == name) return &*it;
    return nullptr;
  }

  void become_variable(Node& n, const Scoped& variable) {
    n.kind = NodeKind::kVariable;
    n.slot = variable.slot;
    n.type = variable.type;
    if (variable.slot < used_.size()) used_[variable.slot] = true;
  }

  bool become_type(Node& n, std::string_view name) {
    for (const TypeName& t : kTypeNames) {
      if (t.name != name) continue;
      n.kind = NodeKind::kConstant;
      n.constant = Value::of_type(t.value);
      n.type = TypeKind::kType;
      n.children.clear();
      return true;
    }
    return false;
  }

  void identifier(Node& n) {
    if (const Scoped* variable = find_variable(n.name)) return become_variable(n, *variable);
    if (become_type(n, n.name)) return;
    issue(n.position, "undeclared reference to '" + n.name + "' (in container '')");
  }

  // "a.b.c" of a chain of selections that starts at a name; "" otherwise.
  static std::string qualified_name(const Node& n) {
    if (n.kind == NodeKind::kIdent) return n.name;
    if (n.kind != NodeKind::kSelect || n.optional) return {};
    std::string head = qualified_name(*n.children[0]);
    return head.empty() ? head : head + "." + n.name;
  }
  static std::string_view first_name(const Node& n) {
    const Node* at = &n;
    while (!at->children.empty()) at = at->children[0].get();
    return at->name;
  }

  void select(Node& n) {
    if (n.kind == NodeKind::kSelect) {
      std::string name = qualified_name(n);
      if (!name.empty() && find_variable(first_name(n)) == nullptr && become_type(n, name)) return;
    }
    Node& operand = *n.children[0];
    visit(operand);
    CelType of = operand.type;
    bool optional = n.optional;
    if (of.kind == TypeKind::kOptional) {
      of = of.params.empty() ? CelType() : of.params[0];
      optional = true;
    }
    CelType field;
    if (of.kind == TypeKind::kObject) {
      const schema::Field* f = of.schema->field(n.name2);
      if (f != nullptr) {
        field = f->type ? type_of_schema(&*f->type) : CelType();
      } else {
        issue(n.position, "undefined field '" + n.name + "'");
      }
    } else if (of.kind == TypeKind::kMap) {
      field = of.params.size() > 1 ? of.params[1] : CelType();
    } else if (of.kind != TypeKind::kDyn) {
      issue(n.position, "type '" + to_string(of) + "' does not support field selection");
    }
    if (n.kind == NodeKind::kHas) {
      n.type = TypeKind::kBool;
    } else {
      n.type = optional ? CelType::optional(std::move(field)) : std::move(field);
    }
  }

  void index(Node& n) {
    visit(*n.children[0]);
    visit(*n.children[1]);
    CelType of = n.children[0]->type;
    const CelType& key = n.children[1]->type;
    bool optional = n.optional;
    if (of.kind == TypeKind::kOptional) {
      of = of.params.empty() ? CelType() : of.params[0];
      optional = true;
    }
    CelType item;
    bool fits = true;
    if (of.kind == TypeKind::kList) {
      fits = key.kind == TypeKind::kDyn || key.kind == TypeKind::kInt;
      item = of.params.empty() ? CelType() : of.params[0];
    } else if (of.kind == TypeKind::kMap) {
      fits = of.params.empty() || assignable(key, of.params[0]);
      item = of.params.size() > 1 ? of.params[1] : CelType();
    } else if (of.kind != TypeKind::kDyn) {
      fits = false;
    }
    if (!fits)
      no_overload(n, n.optional ? "_[?_]" : "_[_]", {n.children[0].get(), n.children[1].get()},
                  false);
    n.type = optional ? CelType::optional(std::move(item)) : std::move(item);
  }

  void call(Node& n) {
    if (n.has_target) {
      std::string space = qualified_name(*n.children[0]);
      if (!space.empty() && find_variable(first_name(*n.children[0])) == nullptr) {
        const Function* function = find_function(space + "." + n.name, false);
        if (function != nullptr) {
          n.children.erase(n.children.begin());
          n.has_target = false;
          n.name = std::string(function->name);
          n.function = function;
        }
      }
    }
    // The arguments of format() are the one list that may be mixed.
    bool mixed = n.name == "format" && n.has_target;
    mixed_ += mixed;
    for (auto& child : n.children) visit(*child);
    mixed_ -= mixed;
    if (n.function == nullptr) n.function = find_function(n.name, n.has_target);
    std::vector<const Node*> args;
    for (auto& child : n.children) args.push_back(child.get());
    if (n.function == nullptr) {
      n.type = TypeKind::kDyn;
      if (find_function(n.name, !n.has_target) != nullptr) {
        no_overload(n, n.name, args, n.has_target);
      } else {
        issue(n.position, "undeclared reference to '" + n.name + "' (in container '')");
      }
      return;
    }
    if (!overload(n, args)) {
      no_overload(n, n.name, args, n.has_target);
      return;
    }
    compile_pattern(n);
    fold_conversion(n);
  }

  // Finds the overloads that fit; the result type is theirs, dyn when they differ.
  bool overload(Node& n, const std::vector<const Node*>& args) {
    bool found = false;
    std::string_view rest = n.function->signatures;
    while (!rest.empty()) {
      size_t bar = rest.find('|');
      std::string_view one = rest.substr(0, bar);
      rest = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
      Bindings bound;
      bool fits = true;
      size_t i = 0;
      while (!one.empty() && one.front() != ':') {
        if (one.front() == ',') one.remove_prefix(1);
        CelType formal = read_type(one);
        if (i >= args.size() || !match(args[i]->type, formal, &bound)) {
          fits = false;
          break;
        }
        ++i;
      }
      if (!fits || i != args.size()) continue;
      one.remove_prefix(1);
      CelType result = substitute(read_type(one), bound);
      n.type = found ? join(n.type, result) : std::move(result);
      found = true;
    }
    return found;
  }

  // Conversions of constants are done here, so that their failures show at once.
  void fold_conversion(Node& n) {
    static constexpr std::string_view kConversions[] = {"bool",   "bytes",    "double",    "int",
                                                        "string", "duration", "timestamp", "uint"};
    if (n.has_target || n.children.size() != 1 || n.children[0]->kind != NodeKind::kConstant)
      return;
    if (std::find(std::begin(kConversions), std::end(kConversions), n.name) ==
        std::end(kConversions))
      return;
    Context context{ast_.arena, kPerCallLimit};
    Value result = n.function->run(context, {&n.children[0]->constant, 1});
    if (n.name == "duration" && n.children[0]->constant.kind == Kind::kInt)
      result = no_such_overload();
    if (!result.is_error()) {
      n.constant = result;
      n.kind = NodeKind::kConstant;
      n.children.clear();
    } else if (n.name == "duration" || n.name == "timestamp") {
      issue(n.children[0]->position, "invalid " + n.name + " argument");
    } else if (failure_.empty()) {
      failure_ = std::string(result.str());
    }
  }

  void compile_pattern(Node& n) {
    if (n.name != "matches" && n.name != "find" && n.name != "findAll") return;
    if (n.children.size() < 2) return;
    const Node& pattern = *n.children[1];
    if (pattern.kind != NodeKind::kConstant || pattern.constant.kind != Kind::kString) return;
    re2::RE2::Options options;
    options.set_log_errors(false);
    auto regex = std::make_shared<re2::RE2>(
        re2::StringPiece(pattern.constant.text.data, pattern.constant.text.size), options);
    if (!regex->ok()) {
      if (n.name == "matches") {
        issue(pattern.position, "invalid matches argument");
      } else if (failure_.empty()) {
        failure_ = regex_error(*regex);
      }
      return;
    }
    n.regex = std::move(regex);
  }

  // The type inside of an optional item ?e.
  CelType unwrap_optional(const Node& n) {
    const CelType& t = n.type;
    if (t.kind == TypeKind::kOptional) return t.params.empty() ? CelType() : t.params[0];
    if (t.kind != TypeKind::kDyn)
      issue(n.position, "expected type '" + to_string(CelType::optional(t)) + "' but found '" +
                            to_string(t) + "'");
    return t;
  }

  // Kubernetes asks for lists and maps of one type.
  CelType unite(const Node& n, const CelType& so_far, const CelType& next) {
    if (mixed_ == 0 && !assignable(next, so_far) && !assignable(so_far, next)) {
      issue(n.position,
            "expected type '" + to_string(so_far) + "' but found '" + to_string(next) + "'");
      return so_far;
    }
    return join(so_far, next);
  }

  void list(Node& n) {
    CelType element;
    bool first = true;
    bool constant = n.optional_items.empty();
    for (size_t i = 0; i < n.children.size(); ++i) {
      Node& child = *n.children[i];
      visit(child);
      constant = constant && child.kind == NodeKind::kConstant;
      CelType t = child.type;
      if (i < n.optional_items.size() && n.optional_items[i]) t = unwrap_optional(child);
      element = first ? t : unite(child, element, t);
      first = false;
    }
    n.type = CelType::list(std::move(element));
    if (!constant) return;
    Value* items = ast_.arena.array<Value>(n.children.size());
    for (size_t i = 0; i < n.children.size(); ++i) items[i] = n.children[i]->constant;
    n.constant = Value::of_list({items, n.children.size()});
    n.kind = NodeKind::kConstant;
    n.children.clear();
  }

  void map(Node& n) {
    CelType key, value;
    for (size_t i = 0; i + 1 < n.children.size(); i += 2) {
      visit(*n.children[i]);
      visit(*n.children[i + 1]);
      CelType v = n.children[i + 1]->type;
      if (i / 2 < n.optional_items.size() && n.optional_items[i / 2])
        v = unwrap_optional(*n.children[i + 1]);
      key = i == 0 ? n.children[i]->type : unite(*n.children[i], key, n.children[i]->type);
      value = i == 0 ? v : unite(*n.children[i + 1], value, v);
    }
    n.type = CelType::map(std::move(key), std::move(value));
  }

  void logic(Node& n) {
    for (auto& child : n.children) {
      visit(*child);
      if (child->type.kind == TypeKind::kBool || child->type.kind == TypeKind::kDyn) continue;
      if (n.kind == NodeKind::kNot) {
        no_overload(n, "!_", {child.get()}, false);
      } else {
        issue(child->position, "expected type 'bool' but found '" + to_string(child->type) + "'");
      }
    }
    n.type = TypeKind::kBool;
  }

  void negate(Node& n) {
    visit(*n.children[0]);
    const CelType& t = n.children[0]->type;
    if (t.kind != TypeKind::kInt && t.kind != TypeKind::kDouble && t.kind != TypeKind::kDyn)
      no_overload(n, "-_", {n.children[0].get()}, false);
    n.type = t;
  }

  void conditional(Node& n) {
    for (auto& child : n.children) visit(*child);
    const CelType& condition = n.children[0]->type;
    const CelType& yes = n.children[1]->type;
    const CelType& no = n.children[2]->type;
    bool fits = condition.kind == TypeKind::kBool || condition.kind == TypeKind::kDyn;
    if (!fits || (!assignable(yes, no) && !assignable(no, yes)))
      no_overload(n, "_?_:_", {n.children[0].get(), n.children[1].get(), n.children[2].get()},
                  false);
    n.type = join(n.children[1]->type, n.children[2]->type);
  }

  void binary(Node& n) {
    Node& a = *n.children[0];
    Node& b = *n.children[1];
    visit(a);
    visit(b);
    CelType result;
    if (!binary_type(n.op, a.type, b.type, &result)) {
      no_overload(n, op_name(n.op), {&a, &b}, false);
      result = TypeKind::kDyn;
    }
    n.type = std::move(result);
  }

  static bool binary_type(Op op, const CelType& a, const CelType& b, CelType* result) {
    bool nulls = a.kind == TypeKind::kNull && b.kind == TypeKind::kNull;  // fails when it runs
    bool dyn = nulls || a.kind == TypeKind::kDyn || b.kind == TypeKind::kDyn;
    switch (op) {
      case Op::kEqual:
      case Op::kNotEqual:
        *result = TypeKind::kBool;
        return assignable(a, b) || assignable(b, a);
      case Op::kIn:
        *result = TypeKind::kBool;
        if (b.kind == TypeKind::kList || b.kind == TypeKind::kMap)
          return b.params.empty() || assignable(a, b.params[0]);
        return b.kind == TypeKind::kDyn;
      case Op::kLess:
      case Op::kLessEqual:
      case Op::kGreater:
      case Op::kGreaterEqual:
        *result = TypeKind::kBool;
        if (dyn || (is_numeric(a.kind) && is_numeric(b.kind))) return true;
        return a.kind == b.kind && (a.kind == TypeKind::kBool || a.kind == TypeKind::kString ||
                                    a.kind == TypeKind::kBytes || a.kind == TypeKind::kTimestamp ||
                                    a.kind == TypeKind::kDuration);
      case Op::kAdd:
      case Op::kSubtract:
      case Op::kMultiply:
      case Op::kDivide:
      case Op::kModulo:
        break;
    }
    if (dyn) {
      // A known side of a plain type tells the result; times do not.
      const CelType& known = a.kind == TypeKind::kDyn ? b : a;
      bool plain = is_numeric(known.kind) || known.kind == TypeKind::kString ||
                   known.kind == TypeKind::kList;
      if (plain) *result = known;
      return true;
    }
    return arithmetic_type(op, a, b, result);
  }

  static bool arithmetic_type(Op op, const CelType& a, const CelType& b, CelType* result) {
    bool time = a.kind == TypeKind::kTimestamp || a.kind == TypeKind::kDuration;
    if (time && (op == Op::kAdd || op == Op::kSubtract)) {
      bool both_stamps = a.kind == TypeKind::kTimestamp && b.kind == TypeKind::kTimestamp;
      *result = both_stamps || (a.kind == TypeKind::kDuration && b.kind == TypeKind::kDuration)
                    ? TypeKind::kDuration
                    : TypeKind::kTimestamp;
      if (both_stamps) return op == Op::kSubtract;
      if (b.kind == TypeKind::kTimestamp) return op == Op::kAdd;
      return b.kind == TypeKind::kDuration;
    }
    *result = a;
    if (a.kind != b.kind) return false;
    if (op == Op::kModulo) return a.kind == TypeKind::kInt || a.kind == TypeKind::kUint;
    if (is_numeric(a.kind)) return true;
    if (op != Op::kAdd) return false;
    if (a.kind == TypeKind::kList) {
      *result = join(a, b);
      return assignable(a, b) || assignable(b, a);
    }
    return a.kind == TypeKind::kString || a.kind == TypeKind::kBytes || a.kind == TypeKind::kList;
  }

  // Declares the iteration variables of a comprehension for its body; names live in the node.
  void declare(std::string_view name, CelType type, uint32_t* slot) {
    *slot = slots_++;
    scope_.push_back({name, *slot, std::move(type)});
  }

  static bool element_types(const CelType& range, CelType* key, CelType* value) {
    switch (range.kind) {
      case TypeKind::kDyn:
        return true;
      case TypeKind::kList:
        *key = TypeKind::kInt;
        *value = range.params.empty() ? CelType() : range.params[0];
        return true;
      case TypeKind::kMap:
        if (range.params.size() == 2) {
          *key = range.params[0];
          *value = range.params[1];
        }
        return true;
      default:
        return false;
    }
  }

  void comprehension(Node& n) {
    Node& range = *n.children[0];
    visit(range);
    size_t scope = scope_.size();
    if (n.macro == Macro::kBind) {
      declare(n.name, range.type, &n.slot);
    } else if (n.macro == Macro::kOptMap || n.macro == Macro::kOptFlatMap) {
      CelType inner = range.type.kind == TypeKind::kOptional && !range.type.params.empty()
                          ? range.type.params[0]
                          : CelType();
      declare(n.name, std::move(inner), &n.slot);
    } else {
      CelType key, value;
      if (!element_types(range.type, &key, &value))
        issue(range.position,
              "expression of type '" + to_string(range.type) +
                  "' cannot be range of a comprehension (must be list, map, or dynamic)");
      if (n.two_variables) {
        declare(n.name, key, &n.slot);
        declare(n.name2, value, &n.slot2);
      } else {
        declare(n.name, range.type.kind == TypeKind::kList ? value : key, &n.slot);
      }
    }
    for (size_t i = 1; i < n.children.size(); ++i) visit(*n.children[i]);
    scope_.resize(scope);
    n.type = comprehension_type(n, range.type);
  }

  CelType comprehension_type(const Node& n, const CelType& range) {
    const CelType& last = n.children.back()->type;
    bool wants_bool = n.macro == Macro::kAll || n.macro == Macro::kExists ||
                      n.macro == Macro::kExistsOne || n.macro == Macro::kFilter ||
                      (n.children.size() == 3 && n.macro != Macro::kBind);
    const CelType& condition = n.children[1]->type;
    if (wants_bool && condition.kind != TypeKind::kBool && condition.kind != TypeKind::kDyn)
      issue(n.children[1]->position,
            "expected type 'bool' but found '" + to_string(condition) + "'");
    switch (n.macro) {
      case Macro::kAll:
      case Macro::kExists:
      case Macro::kExistsOne:
        return TypeKind::kBool;
      case Macro::kFilter: {
        if (range.kind == TypeKind::kList) return range;
        return CelType::list(range.kind == TypeKind::kMap ? range.params[0] : CelType());
      }
      case Macro::kMap:
      case Macro::kTransformList:
        return CelType::list(last);
      case Macro::kSortBy:
        return range;
      case Macro::kTransformMap:
        return CelType::map(range.kind == TypeKind::kMap ? range.params[0] : CelType(), last);
      case Macro::kTransformMapEntry:
        return last.kind == TypeKind::kMap ? last : CelType::map(CelType(), CelType());
      case Macro::kBind:
        return last;
      case Macro::kOptMap:
        return CelType::optional(last);
      case Macro::kOptFlatMap:
        return last;
    }
    return TypeKind::kDyn;
  }

  Ast& ast_;
  std::vector<Issue>* issues_;
  std::vector<Scoped> scope_;
  std::vector<bool> used_;
  uint32_t slots_ = 0;
  std::string failure_;
  int mixed_ = 0;  // inside of format()
};

}  // namespace

CheckResult check(Ast& ast, std::span<const Variable> variables, std::vector<Issue>* issues) {
  return Checker(ast, variables, issues).run();
}

const Function* find_function(std::string_view name, bool member) {
  static const std::array<std::span<const Function>, 10> kTables = {
      standard_functions(), string_functions(),   list_functions(), time_functions(),
      math_functions(),     quantity_functions(), net_functions(),  url_functions(),
      format_functions(),   semver_functions()};
  for (std::span<const Function> table : kTables)
    for (const Function& function : table)
      if (function.member == member && function.name == name) return &function;
  return nullptr;
}

}  // namespace kueue::cel
