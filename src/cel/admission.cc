#include "cel/admission.h"

#include <array>

#include "schema/errors.h"

namespace kueue::cel {
namespace {

// The order of values in an activation.
enum Slot : size_t {
  kObject,
  kOldObject,
  kRequest,
  kNamespaceObject,
  kParams,
  kAuthorizer,
  kVariables,
  kSlots
};

std::vector<Variable> declared() {
  std::vector<Variable> out;
  for (const char* name :
       {"object", "oldObject", "request", "namespaceObject", "params", "authorizer", "variables"})
    out.push_back({name, TypeKind::kDyn});
  return out;
}

using Values = std::array<Value, kSlots>;

Values activation(const AdmissionInput& input, Arena& arena) {
  Values values;
  auto set = [&](Slot slot, const json::Value* document) {
    if (document != nullptr) values[slot] = from_json(*document, nullptr, arena);
  };
  set(kObject, input.object);
  set(kOldObject, input.old_object);
  set(kRequest, input.request);
  set(kNamespaceObject, input.namespace_object);
  set(kParams, input.params);
  values[kAuthorizer] =
      Value::error("authorizer is not available: authorization is not evaluated here");
  values[kVariables] = Value::error("no such attribute(s): variables");
  return values;
}

ErrorCause problem(const std::string& field, std::string_view text, const std::string& why) {
  return {"FieldValueInvalid", "Invalid value: " + schema::go_quote(text) + ": " + why, field};
}

Error refused(std::vector<ErrorCause> causes) {
  Error error =
      make_error(ErrorCode::kInvalid, causes.front().field + ": " + causes.front().message);
  error.causes = std::move(causes);
  return error;
}

// Compiles one expression; a failure becomes a cause.
std::shared_ptr<const Program> compile_one(std::string_view expression, TypeKind wanted,
                                           const std::string& field,
                                           std::vector<ErrorCause>* causes) {
  Result<std::shared_ptr<const Program>> program = compile_for(expression, declared(), wanted);
  if (program.ok()) return *program;
  causes->push_back(problem(field, expression, program.error().message));
  return nullptr;
}

}  // namespace

Result<std::shared_ptr<const MatchConditions>> MatchConditions::compile(
    const json::Value* conditions, std::string_view path) {
  auto out = std::make_shared<MatchConditions>();
  if (conditions == nullptr || !conditions->is_array())
    return std::shared_ptr<const MatchConditions>(out);
  std::vector<ErrorCause> causes;
  size_t i = 0;
  for (const json::Value& condition : conditions->as_array()) {
    std::string field = std::string(path) + '[' + std::to_string(i++) + "].expression";
    std::string_view expression = condition.get_string({"expression"});
    auto program = compile_one(expression, TypeKind::kBool, field, &causes);
    if (program != nullptr)
      out->conditions_.push_back({std::string(condition.get_string({"name"})), program});
  }
  if (!causes.empty()) return refused(std::move(causes));
  return std::shared_ptr<const MatchConditions>(out);
}

Result<bool> MatchConditions::matches(const AdmissionInput& input) const {
  if (conditions_.empty()) return true;
  Arena arena;
  Values values = activation(input, arena);
  std::string failure;
  for (const Condition& condition : conditions_) {
    Evaluation result = condition.program->evaluate(values, arena);
    if (result.value.is_false()) return false;
    if (result.value.is_true() || !failure.empty()) continue;
    std::string why = result.value.is_error() ? std::string(result.value.str())
                                              : "cel evaluation did not yield a bool";
    failure = "expression '" + condition.program->source() + "' resulted in error: " + why;
  }
  if (!failure.empty()) return make_error(ErrorCode::kInternal, failure);
  return true;
}

Result<std::shared_ptr<const ValidatingPolicy>> ValidatingPolicy::compile(const json::Value& spec) {
  auto out = std::make_shared<ValidatingPolicy>();
  KUEUE_ASSIGN(auto match,
               MatchConditions::compile(spec.find("matchConditions"), "spec.matchConditions"));
  out->match_ = *match;
  out->ignore_failures_ = spec.get_string({"failurePolicy"}) == "Ignore";
  std::vector<ErrorCause> causes;
  auto items = [&spec](std::string_view key) {
    const json::Value* v = spec.find(key);
    return v != nullptr && v->is_array() ? v->as_array() : json::Array();
  };
  size_t i = 0;
  for (const json::Value& variable : items("variables")) {
    std::string field = "spec.variables[" + std::to_string(i++) + "].expression";
    auto program = compile_one(variable.get_string({"expression"}), TypeKind::kDyn, field, &causes);
    if (program != nullptr)
      out->variables_.push_back({std::string(variable.get_string({"name"})), program});
  }
  i = 0;
  for (const json::Value& item : items("validations")) {
    std::string field = "spec.validations[" + std::to_string(i++) + "].";
    Validation v;
    v.expression = std::string(item.get_string({"expression"}));
    v.message = std::string(item.get_string({"message"}));
    v.reason = std::string(item.get_string({"reason"}, "Invalid"));
    v.program = compile_one(v.expression, TypeKind::kBool, field + "expression", &causes);
    std::string_view message = item.get_string({"messageExpression"});
    if (!message.empty())
      v.message_expression =
          compile_one(message, TypeKind::kString, field + "messageExpression", &causes);
    out->validations_.push_back(std::move(v));
  }
  if (!causes.empty()) return refused(std::move(causes));
  return std::shared_ptr<const ValidatingPolicy>(out);
}

std::vector<ValidatingPolicy::Denial> ValidatingPolicy::evaluate(
    const AdmissionInput& input) const {
  std::vector<Denial> out;
  Result<bool> match = match_.matches(input);
  if (!match.ok()) {
    if (!ignore_failures_) out.push_back({match.error().message, "Invalid", true});
    return out;
  }
  if (!*match) return out;
  Arena arena;
  Values values = activation(input, arena);
  // Variables see those before them. A failed one is an error value: it harms only the expressions
  // that use it.
  std::vector<Entry> computed;
  auto publish = [&] {
    Entry* entries = arena.array<Entry>(computed.size());
    std::copy(computed.begin(), computed.end(), entries);
    values[kVariables] = make_map({entries, computed.size()}, arena);
  };
  publish();
  for (const Named& variable : variables_) {
    Evaluation result = variable.program->evaluate(values, arena);
    computed.push_back({Value::of_string(variable.name), result.value});
    publish();
  }
  for (const Validation& v : validations_) {
    Evaluation result = v.program->evaluate(values, arena);
    if (result.value.is_true()) continue;
    if (!result.value.is_false()) {
      std::string why = result.value.is_error() ? std::string(result.value.str())
                                                : "cel evaluation did not yield a bool";
      if (!ignore_failures_)
        out.push_back(
            {"expression '" + v.expression + "' resulted in error: " + why, "Invalid", true});
      continue;
    }
    std::string message = v.message.empty() ? "failed expression: " + v.expression : v.message;
    if (v.message_expression != nullptr) {
      Evaluation text = v.message_expression->evaluate(values, arena);
      if (text.value.kind == Kind::kString && !text.value.str().empty())
        message = std::string(text.value.str());
    }
    out.push_back({std::move(message), v.reason, false});
  }
  return out;
}

}  // namespace kueue::cel
