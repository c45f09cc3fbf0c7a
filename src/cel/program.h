// Compiled CEL expressions. compile() once, evaluate() many times from any thread.
//
//   auto program = cel::compile("self.replicas >= 1", {{"self", cel::type_of_schema(&type)}});
//   cel::Arena arena;
//   cel::Value self = cel::from_json(document, &type, arena);
//   cel::Evaluation e = (*program)->evaluate({&self, 1}, arena);
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cel/types.h"
#include "cel/value.h"

namespace kueue::cel {

struct Ast;

// Kubernetes' limits of run-time cost: of one expression, and of all rules for one object.
inline constexpr uint64_t kPerCallLimit = 1'000'000;
inline constexpr uint64_t kObjectBudget = 10'000'000;

struct Variable {
  std::string name;
  CelType type;
};

struct Evaluation {
  Value value;  // an error value when the evaluation failed; lives as long as arena, document and
                // program
  uint64_t cost = 0;  // in Kubernetes' units
};

class Program {
 public:
  Program(std::unique_ptr<Ast> ast, std::vector<bool> used, uint32_t slots);
  ~Program();

  // Values of the variables in the order compile() was given them. Stops with an error value when
  // `limit` is exceeded.
  Evaluation evaluate(std::span<const Value> variables, Arena& arena,
                      uint64_t limit = kPerCallLimit) const;
  // The static type of the result.
  const CelType& type() const;
  // The expression mentions variable number i.
  bool uses(size_t i) const { return used_[i]; }
  const std::string& source() const;

 private:
  std::unique_ptr<Ast> ast_;
  std::vector<bool> used_;
  uint32_t slots_;
};

// Parses and checks. Errors are kInvalid; the message is "compilation failed: ERROR: <input>:1:5:
// ..." with the source line and a caret, as Kubernetes shows it. At most 100 000 code points.
Result<std::shared_ptr<const Program>> compile(std::string_view source,
                                               std::vector<Variable> variables);
// As above; also an error when the result can only be of another type: "must evaluate to bool".
// kDyn takes any.
Result<std::shared_ptr<const Program>> compile_for(std::string_view source,
                                                   std::vector<Variable> variables,
                                                   TypeKind wanted);

}  // namespace kueue::cel
