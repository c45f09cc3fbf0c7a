// x-kubernetes-validations: the rules of a schema compiled once, and evaluated against objects with
// Kubernetes' budget and words. RulePrograms is immutable and thread safe; ObjectRules serves one
// validation.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cel/program.h"
#include "schema/type.h"
#include "schema/validate.h"

namespace kueue::cel {

// The compiled rules of a type and of all types below it. Refers to the types: they must outlive
// it.
class RulePrograms {
 public:
  // A rule that does not compile fails every object that it is evaluated for; check_rule tells
  // beforehand.
  static std::shared_ptr<const RulePrograms> compile(const schema::Type& root);
  size_t count() const { return count_; }

  struct Rule {
    const schema::Rule* source = nullptr;
    std::shared_ptr<const Program> program;             // null when it does not compile
    std::shared_ptr<const Program> message_expression;  // null when there is none
    std::string error;                                  // why program is null
    std::string field_path;                             // normalized, "" = none
    bool uses_old = false;
  };
  // nullptr when the type has no rules, or is not part of the graph that was compiled.
  const std::vector<Rule>* find(const schema::Type& type) const;

 private:
  void walk(const schema::Type& type);

  std::map<const schema::Type*, std::vector<Rule>> rules_;
  std::map<const schema::Type*, bool> seen_;
  size_t count_ = 0;
};

// A schema::RuleCheck: appends what kube-apiserver has against a rule of a CRD, at the fields
// "rule" and "messageExpression" of its entry `at`: what does not compile or yields another type.
void check_rule(const schema::Type& type, const schema::Rule& rule, const schema::Path& at,
                std::vector<ErrorCause>& errors);

// Evaluates the rules of one object: 1 000 000 units per expression, 10 000 000 in all.
class ObjectRules final : public schema::RuleEvaluator {
 public:
  explicit ObjectRules(const RulePrograms& programs, uint64_t budget = kObjectBudget)
      : programs_(programs), budget_(budget) {}
  void evaluate(const schema::RuleInput& input, std::vector<ErrorCause>& errors) override;

 private:
  struct Activation;
  bool run(const RulePrograms::Rule& rule, const schema::RuleInput& input,
           const Activation& activation, std::vector<ErrorCause>& errors);
  std::string detail(const RulePrograms::Rule& rule, const Activation& activation, Arena& arena);
  bool spend(uint64_t cost);

  const RulePrograms& programs_;
  uint64_t budget_;
  bool exhausted_ = false;  // the budget ran out: nothing more is evaluated
};

}  // namespace kueue::cel
