// Tokens of the Common Expression Language. Pure; thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kueue::cel {

enum class TokenKind : uint8_t {
  kEnd,
  kIdent,        // identifiers and reserved words
  kQuotedIdent,  // `a.b`: only after a dot
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kPunct,  // operators, brackets, and the words in, true, false, null
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  uint32_t position = 0;
  std::string_view text;  // as written
  std::string value;      // kString, kBytes: unescaped; kQuotedIdent: without the quotes
};

// What is wrong with an expression, and where.
struct Issue {
  uint32_t position = 0;
  std::string message;
};

// The text of issues, in order of position, as cel-go prints them: "ERROR: <input>:1:5: undefined
// field 'x'\n | self.x\n |
// ....^".
std::string format_issues(std::string_view source, std::vector<Issue> issues);

// The tokens, kEnd last. What is no token is left out and becomes an issue.
void tokenize(std::string_view source, std::vector<Token>* tokens, std::vector<Issue>* issues);

}  // namespace kueue::cel
