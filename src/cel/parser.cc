#include "cel/parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace kueue::cel {
namespace {

using NodePtr = std::unique_ptr<Node>;

constexpr std::array<std::string_view, 17> kReserved = {
    "as",  "break", "const",   "continue",  "else",   "for", "function", "if",   "import",
    "let", "loop",  "package", "namespace", "return", "var", "void",     "while"};

struct MacroShape {
  std::string_view name;
  size_t arguments;
  Macro macro;
  bool two_variables;
};

constexpr MacroShape kMacros[] = {
    {"all", 2, Macro::kAll, false},
    {"exists", 2, Macro::kExists, false},
    {"exists_one", 2, Macro::kExistsOne, false},
    {"existsOne", 2, Macro::kExistsOne, false},
    {"map", 2, Macro::kMap, false},
    {"map", 3, Macro::kMap, false},
    {"filter", 2, Macro::kFilter, false},
    {"all", 3, Macro::kAll, true},
    {"exists", 3, Macro::kExists, true},
    {"existsOne", 3, Macro::kExistsOne, true},
    {"exists_one", 3, Macro::kExistsOne, true},
    {"transformList", 3, Macro::kTransformList, true},
    {"transformList", 4, Macro::kTransformList, true},
    {"transformMap", 3, Macro::kTransformMap, true},
    {"transformMap", 4, Macro::kTransformMap, true},
    {"transformMapEntry", 3, Macro::kTransformMapEntry, true},
    {"transformMapEntry", 4, Macro::kTransformMapEntry, true},
    {"sortBy", 2, Macro::kSortBy, false},
    {"optMap", 2, Macro::kOptMap, false},
    {"optFlatMap", 2, Macro::kOptFlatMap, false},
};

class Parser {
 public:
  Parser(Ast* ast, std::vector<Token> tokens, std::vector<Issue>* issues)
      : ast_(ast), tokens_(std::move(tokens)), issues_(issues) {}

  bool run() {
    ast_->root = expression();
    if (ast_->root == nullptr) return false;
    if (peek().kind != TokenKind::kEnd) {
      bool last = peek(1).kind == TokenKind::kEnd;
      fail(peek().position, "Syntax error: " + std::string(last ? "extraneous" : "mismatched") +
                                " input '" + std::string(peek().text) + "' expecting <EOF>");
      return false;
    }
    return true;
  }

 private:
  // Counts nesting while it lives.
  struct Depth {
    explicit Depth(Parser* p) : parser(p) { ++parser->depth_; }
    ~Depth() { --parser->depth_; }
    Parser* parser;
  };

  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& take() { return tokens_[at_ < tokens_.size() - 1 ? at_++ : at_]; }
  bool is(std::string_view punct) const {
    return peek().kind == TokenKind::kPunct && peek().text == punct;
  }
  bool accept(std::string_view punct) {
    if (!is(punct)) return false;
    take();
    return true;
  }

  NodePtr fail(uint32_t position, std::string message) {
    if (!failed_) issues_->push_back({position, std::move(message)});
    failed_ = true;
    return nullptr;
  }
  NodePtr unexpected(std::string_view wanted) {
    const Token& t = peek();
    std::string text = t.kind == TokenKind::kEnd ? "<EOF>" : std::string(t.text);
    return fail(t.position,
                "Syntax error: mismatched input '" + text + "' expecting " + std::string(wanted));
  }
  bool expect_close(std::string_view close) {
    if (accept(close)) return true;
    const Token& t = peek();
    std::string text = t.kind == TokenKind::kEnd ? "<EOF>" : std::string(t.text);
    fail(t.position, "Syntax error: missing '" + std::string(close) + "' at '" + text + "'");
    return false;
  }
  // "," or the closing bracket of a list.
  bool expect_more(std::string_view close) {
    if (accept(",")) return true;
    unexpected("{'" + std::string(close) + "', ','}");
    return false;
  }
  bool expect(std::string_view punct) {
    if (accept(punct)) return true;
    unexpected("'" + std::string(punct) + "'");
    return false;
  }

  static NodePtr make(NodeKind kind, uint32_t position) {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->position = position;
    return node;
  }
  static NodePtr binary(NodeKind kind, uint32_t position, NodePtr a, NodePtr b) {
    NodePtr node = make(kind, position);
    node->children.push_back(std::move(a));
    node->children.push_back(std::move(b));
    return node;
  }
  NodePtr constant(uint32_t position, Value value, CelType type) {
    NodePtr node = make(NodeKind::kConstant, position);
    node->constant = value;
    node->type = std::move(type);
    return node;
  }

  NodePtr expression() {
    Depth depth(this);
    if (depth_ > kMaxParseDepth)
      return fail(peek().position,
                  "expression recursion limit exceeded: " + std::to_string(kMaxParseDepth));
    NodePtr condition = logical(true);
    if (condition == nullptr || !is("?")) return condition;
    uint32_t position = take().position;
    NodePtr yes = logical(true);
    if (yes == nullptr || !expect(":")) return nullptr;
    NodePtr no = expression();
    if (no == nullptr) return nullptr;
    NodePtr node = binary(NodeKind::kConditional, position, std::move(condition), std::move(yes));
    node->children.push_back(std::move(no));
    return node;
  }

  // a || b || c, of a && b && c. One node with all operands, so that long chains stay flat.
  NodePtr logical(bool disjunction) {
    NodePtr first = disjunction ? logical(false) : relation();
    std::string_view op = disjunction ? "||" : "&&";
    if (first == nullptr || !is(op)) return first;
    NodePtr node = make(disjunction ? NodeKind::kOr : NodeKind::kAnd, peek().position);
    node->children.push_back(std::move(first));
    while (accept(op)) {
      NodePtr next = disjunction ? logical(false) : relation();
      if (next == nullptr) return nullptr;
      node->children.push_back(std::move(next));
    }
    return node;
  }

  bool relation_op(Op* op) const {
    static constexpr std::pair<std::string_view, Op> kOps[] = {
        {"==", Op::kEqual},        {"!=", Op::kNotEqual}, {"<=", Op::kLessEqual}, {"<", Op::kLess},
        {">=", Op::kGreaterEqual}, {">", Op::kGreater},   {"in", Op::kIn}};
    return find_op(kOps, op);
  }
  bool sum_op(Op* op) const {
    static constexpr std::pair<std::string_view, Op> kOps[] = {{"+", Op::kAdd},
                                                               {"-", Op::kSubtract}};
    return find_op(kOps, op);
  }
  bool product_op(Op* op) const {
    static constexpr std::pair<std::string_view, Op> kOps[] = {
        {"*", Op::kMultiply}, {"/", Op::kDivide}, {"%", Op::kModulo}};
    return find_op(kOps, op);
  }
  template <size_t N>
  bool find_op(const std::pair<std::string_view, Op> (&ops)[N], Op* op) const {
    if (peek().kind != TokenKind::kPunct) return false;
    for (const auto& [text, value] : ops) {
      if (peek().text != text) continue;
      *op = value;
      return true;
    }
    return false;
  }

  // One level of left-associative binary operators. A long chain makes a deep tree; its depth is
  // limited like nesting.
  template <typename Match, typename Operand>
  NodePtr chain(Match match, Operand operand) {
    NodePtr left = operand();
    Op op = Op::kEqual;
    int length = 0;
    while (left != nullptr && match(&op)) {
      uint32_t position = take().position;
      if (++length + depth_ > kMaxParseDepth)
        return fail(position,
                    "expression recursion limit exceeded: " + std::to_string(kMaxParseDepth));
      NodePtr right = operand();
      if (right == nullptr) return nullptr;
      left = binary(NodeKind::kBinary, position, std::move(left), std::move(right));
      left->op = op;
    }
    return left;
  }
  NodePtr relation() {
    return chain([this](Op* op) { return relation_op(op); }, [this] { return sum(); });
  }
  NodePtr sum() {
    return chain([this](Op* op) { return sum_op(op); }, [this] { return product(); });
  }
  NodePtr product() {
    return chain([this](Op* op) { return product_op(op); }, [this] { return unary(); });
  }

  NodePtr unary() {
    uint32_t position = peek().position;
    size_t bangs = 0;
    while (accept("!")) ++bangs;
    if (bangs > 0) {
      NodePtr operand = member();
      if (operand == nullptr || bangs % 2 == 0) return operand;
      NodePtr node = make(NodeKind::kNot, position);
      node->children.push_back(std::move(operand));
      return node;
    }
    if (!is("-")) return member();
    if (peek(1).kind == TokenKind::kInt || peek(1).kind == TokenKind::kDouble) return member();
    size_t minuses = 0;
    while (accept("-")) ++minuses;
    NodePtr operand = member();
    if (operand == nullptr || minuses % 2 == 0) return operand;
    NodePtr node = make(NodeKind::kNegate, position);
    node->children.push_back(std::move(operand));
    return node;
  }

  NodePtr member() {
    NodePtr node = primary();
    int length = 0;
    while (node != nullptr) {
      uint32_t position = peek().position;
      if (++length + depth_ > kMaxParseDepth)
        return fail(position,
                    "expression recursion limit exceeded: " + std::to_string(kMaxParseDepth));
      if (accept(".")) {
        node = after_dot(std::move(node), position);
      } else if (accept("[")) {
        bool optional = accept("?");
        NodePtr index = expression();
        if (index == nullptr || !expect_close("]")) return nullptr;
        node = binary(NodeKind::kIndex, position, std::move(node), std::move(index));
        node->optional = optional;
      } else {
        break;
      }
    }
    return node;
  }

  NodePtr after_dot(NodePtr target, uint32_t position) {
    bool optional = accept("?");
    const Token& name = peek();
    if (name.kind != TokenKind::kIdent && name.kind != TokenKind::kQuotedIdent)
      return fail(name.position,
                  "Syntax error: no viable alternative at input '." + std::string(name.text) + "'");
    bool quoted = name.kind == TokenKind::kQuotedIdent;
    std::string text = quoted ? name.value : std::string(name.text);
    take();
    if (!quoted && !optional && is("(")) {
      uint32_t call_position = take().position;
      return call(std::move(target), std::move(text), call_position);
    }
    NodePtr node = make(NodeKind::kSelect, position);
    node->optional = optional;
    node->name2 = quoted ? text : unescape_name(text);
    node->name = std::move(text);
    node->children.push_back(std::move(target));
    return node;
  }

  bool arguments(std::vector<NodePtr>* out) {
    if (accept(")")) return true;
    while (true) {
      NodePtr argument = expression();
      if (argument == nullptr) return false;
      out->push_back(std::move(argument));
      if (accept(")")) return true;
      if (!is(",")) return expect_close(")");
      take();
    }
  }

  NodePtr call(NodePtr target, std::string name, uint32_t position) {
    std::vector<NodePtr> args;
    if (!arguments(&args)) return nullptr;
    if (target == nullptr && name == "has") return has_macro(std::move(args), position);
    if (target != nullptr) {
      if (name == "bind" && args.size() == 3 && target->kind == NodeKind::kIdent &&
          target->name == "cel")
        return bind_macro(std::move(args), position);
      for (const MacroShape& shape : kMacros)
        if (shape.name == name && shape.arguments == args.size())
          return comprehension(shape, std::move(target), std::move(args), position);
    }
    NodePtr node = make(NodeKind::kCall, position);
    node->name = std::move(name);
    node->has_target = target != nullptr;
    if (target != nullptr) node->children.push_back(std::move(target));
    for (NodePtr& arg : args) node->children.push_back(std::move(arg));
    return node;
  }

  NodePtr has_macro(std::vector<NodePtr> args, uint32_t position) {
    if (args.size() != 1) return fail(position, "undeclared reference to 'has' (in container '')");
    if (args[0]->kind != NodeKind::kSelect)
      return fail(args[0]->position, "invalid argument to has() macro");
    args[0]->kind = NodeKind::kHas;
    args[0]->position = position;
    return std::move(args[0]);
  }

  NodePtr bind_macro(std::vector<NodePtr> args, uint32_t position) {
    if (args[0]->kind != NodeKind::kIdent)
      return fail(args[0]->position, "cel.bind() variable names must be simple identifiers");
    NodePtr node = make(NodeKind::kComprehension, position);
    node->macro = Macro::kBind;
    node->name = args[0]->name;
    node->children.push_back(std::move(args[1]));
    node->children.push_back(std::move(args[2]));
    return node;
  }

  NodePtr comprehension(const MacroShape& shape, NodePtr range, std::vector<NodePtr> args,
                        uint32_t position) {
    size_t variables = shape.two_variables ? 2 : 1;
    for (size_t i = 0; i < variables; ++i)
      if (args[i]->kind != NodeKind::kIdent) {
        // all(x, p, q) with a first argument that is no name is still the macro; what has another
        // shape is an error.
        return fail(args[i]->position, "argument must be a simple name");
      }
    NodePtr node = make(NodeKind::kComprehension, position);
    node->macro = shape.macro;
    node->two_variables = shape.two_variables;
    node->name = args[0]->name;
    if (shape.two_variables) {
      node->name2 = args[1]->name;
      if (node->name == node->name2)
        return fail(args[1]->position, "duplicate variable name: " + node->name);
    }
    node->children.push_back(std::move(range));
    for (size_t i = variables; i < args.size(); ++i) node->children.push_back(std::move(args[i]));
    return node;
  }

  NodePtr primary() {
    const Token& t = peek();
    uint32_t position = t.position;
    switch (t.kind) {
      case TokenKind::kInt:
      case TokenKind::kDouble:
        return number(false);
      case TokenKind::kUint:
        return number(false);
      case TokenKind::kString:
        return constant(position, Value::of_string(ast_->arena.copy(take().value)),
                        TypeKind::kString);
      case TokenKind::kBytes:
        return constant(position, Value::of_bytes(ast_->arena.copy(take().value)),
                        TypeKind::kBytes);
      case TokenKind::kIdent:
        return identifier(false);
      case TokenKind::kQuotedIdent:
      case TokenKind::kEnd:
        return no_primary();
      case TokenKind::kPunct:
        break;
    }
    if (accept("true")) return constant(position, Value::of_bool(true), TypeKind::kBool);
    if (accept("false")) return constant(position, Value::of_bool(false), TypeKind::kBool);
    if (accept("null")) return constant(position, Value(), TypeKind::kNull);
    if (is("-")) {
      take();
      return number(true);
    }
    if (accept("(")) {
      NodePtr inner = expression();
      return inner != nullptr && expect_close(")") ? std::move(inner) : nullptr;
    }
    if (accept("[")) return list(position);
    if (accept("{")) return map(position);
    if (accept(".")) {
      if (peek().kind != TokenKind::kIdent) return unexpected("IDENTIFIER");
      return identifier(true);
    }
    return no_primary();
  }

  // What could begin a primary.
  static bool begins_primary(const Token& t) {
    if (t.kind == TokenKind::kEnd || t.kind == TokenKind::kQuotedIdent) return false;
    if (t.kind != TokenKind::kPunct) return true;
    static constexpr std::string_view kStarts[] = {"[", "{",    "(",     ".",   "-",
                                                   "!", "true", "false", "null"};
    return std::find(std::begin(kStarts), std::end(kStarts), t.text) != std::end(kStarts);
  }

  NodePtr no_primary() {
    if (peek().kind == TokenKind::kEnd || !begins_primary(peek(1)))
      return unexpected(kExpectedPrimary);
    return fail(peek().position, "Syntax error: extraneous input '" + std::string(peek().text) +
                                     "' expecting " + std::string(kExpectedPrimary));
  }

  NodePtr identifier(bool leading_dot) {
    const Token& t = take();
    std::string name(t.text);
    if (std::find(kReserved.begin(), kReserved.end(), t.text) != kReserved.end())
      return fail(t.position, "reserved identifier: " + name);
    if (is("(")) {
      uint32_t position = take().position;
      return call(nullptr, std::move(name), position);
    }
    if (is("{") && !leading_dot)
      return fail(peek().position, "undeclared reference to '" + name + "' (in container '')");
    NodePtr node = make(NodeKind::kIdent, t.position);
    node->name = std::move(name);
    return node;
  }

  NodePtr number(bool negative) {
    const Token& t = take();
    std::string text(t.text);
    if (t.kind == TokenKind::kDouble) {
      double d = std::strtod(text.c_str(), nullptr);
      if (std::isinf(d)) return fail(t.position, "invalid double literal");
      return constant(t.position, Value::of_double(negative ? -d : d), TypeKind::kDouble);
    }
    bool is_unsigned = t.kind == TokenKind::kUint;
    if (is_unsigned) text.pop_back();
    bool hex = text.size() > 2 && (text[1] == 'x' || text[1] == 'X');
    const char* first = text.data() + (hex ? 2 : 0);
    uint64_t n = 0;
    auto result = std::from_chars(first, text.data() + text.size(), n, hex ? 16 : 10);
    bool fits = result.ec == std::errc();
    if (is_unsigned) {
      if (!fits || negative) return fail(t.position, "invalid uint literal");
      return constant(t.position, Value::of_uint(n), TypeKind::kUint);
    }
    uint64_t limit = negative ? uint64_t{1} << 63 : (uint64_t{1} << 63) - 1;
    if (!fits || n > limit) return fail(t.position, "invalid int literal");
    auto value = static_cast<int64_t>(negative ? 0 - n : n);
    return constant(t.position, Value::of_int(value), TypeKind::kInt);
  }

  NodePtr list(uint32_t position) {
    NodePtr node = make(NodeKind::kList, position);
    while (!accept("]")) {
      bool optional = accept("?");
      NodePtr item = expression();
      if (item == nullptr) return nullptr;
      mark_optional(*node, node->children.size(), optional);
      node->children.push_back(std::move(item));
      if (accept("]")) break;
      if (!expect_more("]")) return nullptr;
    }
    return node;
  }

  NodePtr map(uint32_t position) {
    NodePtr node = make(NodeKind::kMap, position);
    while (!accept("}")) {
      bool optional = accept("?");
      NodePtr key = expression();
      if (key == nullptr || !expect_close(":")) return nullptr;
      NodePtr value = expression();
      if (value == nullptr) return nullptr;
      mark_optional(*node, node->children.size() / 2, optional);
      node->children.push_back(std::move(key));
      node->children.push_back(std::move(value));
      if (accept("}")) break;
      if (!expect_more("}")) return nullptr;
    }
    return node;
  }

  static void mark_optional(Node& node, size_t i, bool optional) {
    if (!optional) return;
    node.optional_items.resize(i + 1, false);
    node.optional_items[i] = true;
  }

  static constexpr std::string_view kExpectedPrimary =
      "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, "
      "STRING, BYTES, IDENTIFIER}";

  Ast* ast_;
  std::vector<Token> tokens_;
  std::vector<Issue>* issues_;
  size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;  // only the first error of the grammar is told
};

}  // namespace

std::unique_ptr<Ast> parse(std::string_view source, std::vector<Issue>* issues) {
  size_t size = code_points(source);
  if (size > kMaxExpressionCodePoints) {
    issues->push_back(
        {0, "expression code point size exceeds limit: size: " + std::to_string(size) + ", limit " +
                std::to_string(kMaxExpressionCodePoints)});
    return nullptr;
  }
  auto ast = std::make_unique<Ast>();
  ast->source = std::string(source);
  std::vector<Token> tokens;
  tokenize(ast->source, &tokens, issues);
  bool parsed = Parser(ast.get(), std::move(tokens), issues).run();
  if (!parsed || !issues->empty()) return nullptr;
  return ast;
}

std::string unescape_name(std::string_view name) {
  if (name.find("__") == std::string_view::npos) return std::string(name);
  static constexpr std::array<std::string_view, 17> kKeywords = {
      "true", "false",    "null", "in",     "as",  "break", "const",   "continue", "else",
      "for",  "function", "if",   "import", "let", "loop",  "package", "namespace"};
  if (name.size() > 4 && name.starts_with("__") && name.ends_with("__")) {
    std::string_view word = name.substr(2, name.size() - 4);
    if (word == "return" || std::find(kKeywords.begin(), kKeywords.end(), word) != kKeywords.end())
      return std::string(word);
  }
  static constexpr std::pair<std::string_view, std::string_view> kEscapes[] = {
      {"__underscores__", "__"}, {"__dot__", "."}, {"__dash__", "-"}, {"__slash__", "/"}};
  std::string out;
  for (size_t i = 0; i < name.size();) {
    bool found = false;
    for (const auto& [escape, plain] : kEscapes) {
      if (!name.substr(i).starts_with(escape)) continue;
      out += plain;
      i += escape.size();
      found = true;
      break;
    }
    if (!found) out += name[i++];
  }
  return out;
}

}  // namespace kueue::cel
