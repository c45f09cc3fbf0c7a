// Name resolution and gradual type checking of a parsed expression. Pure; thread safe.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cel/ast.h"
#include "cel/lexer.h"
#include "cel/program.h"

namespace kueue::cel {

struct CheckResult {
  uint32_t slots = 0;      // variables and iteration variables
  std::vector<bool> used;  // per declared variable
  // Why a call with constant arguments always fails; "" when none does.
  std::string failure = {};
};

// Annotates the tree: slots, functions, types, compiled patterns. Appends to `issues` what is
// wrong; the tree may be evaluated only when nothing is.
CheckResult check(Ast& ast, std::span<const Variable> variables, std::vector<Issue>* issues);

}  // namespace kueue::cel
