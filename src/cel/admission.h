// CEL in admission: match conditions of webhooks, and ValidatingAdmissionPolicies. Compiled objects
// are immutable and thread safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cel/program.h"
#include "json/value.h"

namespace kueue::cel {

// What an expression may ask about. nullptr is null (object on DELETE, oldObject on CREATE, no
// namespace, no parameters).
struct AdmissionInput {
  const json::Value* object = nullptr;
  const json::Value* old_object = nullptr;
  const json::Value* request = nullptr;  // AdmissionRequest without the objects
  const json::Value* namespace_object = nullptr;
  const json::Value* params = nullptr;
};

// matchConditions of a webhook configuration or policy.
class MatchConditions {
 public:
  // `conditions`: an array of {name, expression}; null is none. Errors are kInvalid with one cause
  // per bad expression, its field "PATH[0].expression".
  static Result<std::shared_ptr<const MatchConditions>> compile(
      const json::Value* conditions, std::string_view path = "matchConditions");
  // True when all are true, false when one is false, whatever the others do. An error (kInternal)
  // when none is false and one failed: the failure policy then decides.
  Result<bool> matches(const AdmissionInput& input) const;
  bool empty() const { return conditions_.empty(); }

 private:
  friend class ValidatingPolicy;
  struct Condition {
    std::string name;
    std::shared_ptr<const Program> program;
  };
  std::vector<Condition> conditions_;
};

// The spec of a ValidatingAdmissionPolicy.
class ValidatingPolicy {
 public:
  static Result<std::shared_ptr<const ValidatingPolicy>> compile(const json::Value& spec);

  struct Denial {
    std::string message;
    std::string reason;     // "Invalid" unless the validation says otherwise
    bool evaluation_error;  // an expression failed: counts only when failurePolicy is Fail
  };
  // Match conditions that do not match give nothing. With failurePolicy Ignore evaluation errors
  // give nothing.
  std::vector<Denial> evaluate(const AdmissionInput& input) const;

 private:
  struct Named {
    std::string name;
    std::shared_ptr<const Program> program;
  };
  struct Validation {
    std::string expression, message, reason;
    std::shared_ptr<const Program> program;
    std::shared_ptr<const Program> message_expression;
  };
  MatchConditions match_;
  std::vector<Named> variables_;
  std::vector<Validation> validations_;
  bool ignore_failures_ = false;
};

}  // namespace kueue::cel
