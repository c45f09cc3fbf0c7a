// Text to tree: the whole CEL grammar with the standard macros, two-variable comprehensions and
// optional syntax. Pure; thread safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cel/ast.h"
#include "cel/lexer.h"

namespace kueue::cel {

inline constexpr size_t kMaxExpressionCodePoints = 100'000;
inline constexpr int kMaxParseDepth = 250;

// The tree, or nullptr with at least one issue. Names are not resolved yet (checker.h).
std::unique_ptr<Ast> parse(std::string_view source, std::vector<Issue>* issues);

// Kubernetes' escapes of property names: "__namespace__" is "namespace", "a__dash__b" is "a-b".
// Text without escapes comes back as it is.
std::string unescape_name(std::string_view name);

}  // namespace kueue::cel
