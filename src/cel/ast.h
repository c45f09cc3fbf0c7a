// The tree of one expression: what the parser makes, the checker annotates and the evaluator walks.
// Immutable after the check, then readable from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cel/types.h"
#include "cel/value.h"

namespace re2 {
class RE2;
}

namespace kueue::cel {

struct Function;

enum class NodeKind : uint8_t {
  kConstant,
  kIdent,     // unresolved name; the checker turns it into kVariable or kConstant
  kVariable,  // slot
  kSelect,    // children[0].name, optional with ?.
  kHas,       // has(children[0].name)
  kIndex,     // children[0][children[1]], optional with [?]
  kCall,      // function or macro-free call; has_target: children[0] is the receiver
  kList,      // children; optional_items marks ?e
  kMap,       // children: key, value, key, value
  kNot,
  kNegate,
  kAnd,
  kOr,
  kConditional,
  kBinary,  // op
  kComprehension,
};

enum class Op : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kModulo,
};

enum class Macro : uint8_t {
  kAll,
  kExists,
  kExistsOne,
  kMap,
  kFilter,
  kTransformList,
  kTransformMap,
  kTransformMapEntry,
  kBind,
  kOptMap,
  kOptFlatMap,
  kSortBy,
};

struct Node {
  NodeKind kind = NodeKind::kConstant;
  Op op = Op::kEqual;
  Macro macro = Macro::kAll;
  bool optional = false;    // ?. or [?]
  bool has_target = false;  // kCall
  uint32_t position = 0;    // byte offset in the source
  uint32_t slot = 0;        // kVariable; first variable of a comprehension
  uint32_t slot2 = 0;       // second variable of a comprehension
  bool two_variables = false;
  std::string name;  // identifier, field, function, first iteration variable
  std::string
      name2;  // kSelect and kHas: the field without Kubernetes' escapes; second iteration variable
  Value constant;  // its texts live in the arena of the tree
  std::vector<std::unique_ptr<Node>>
      children;                      // comprehension: range, predicate or filter, transform
  std::vector<bool> optional_items;  // kList and kMap; empty when none is optional
  const Function* function = nullptr;
  std::shared_ptr<const re2::RE2> regex;  // a constant pattern, compiled
  CelType type;
};

struct Ast {
  std::string source;
  Arena arena;  // constants
  std::unique_ptr<Node> root;
};

}  // namespace kueue::cel
