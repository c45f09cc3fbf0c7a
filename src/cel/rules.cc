#include "cel/rules.h"

#include <algorithm>

#include "json/json.h"
#include "schema/errors.h"

namespace kueue::cel {
namespace {

constexpr size_t kMaxMessageLength = 5 * 1024;

std::string_view trimmed(std::string_view t) {
  while (!t.empty() &&
         (t.front() == ' ' || t.front() == '\n' || t.front() == '\t' || t.front() == '\r'))
    t.remove_prefix(1);
  while (!t.empty() &&
         (t.back() == ' ' || t.back() == '\n' || t.back() == '\t' || t.back() == '\r'))
    t.remove_suffix(1);
  return t;
}

// What messages call the rule.
std::string_view rule_name(const schema::Rule& rule) {
  return trimmed(rule.message.empty() ? rule.rule : rule.message);
}

std::string_view schema_type(const schema::Type& type) {
  switch (type.kind) {
    case schema::Kind::kStruct:
    case schema::Kind::kMap:
      return "object";
    case schema::Kind::kList:
      return "array";
    case schema::Kind::kString:
    case schema::Kind::kBytes:
    case schema::Kind::kTime:
    case schema::Kind::kMicroTime:
    case schema::Kind::kDuration:
      return "string";
    case schema::Kind::kInt32:
    case schema::Kind::kInt64:
      return "integer";
    case schema::Kind::kDouble:
      return "number";
    case schema::Kind::kBool:
      return "boolean";
    case schema::Kind::kAny:
    case schema::Kind::kIntOrString:
    case schema::Kind::kQuantity:
      return "";
  }
  return "";
}

// ".a['b-c'].d" is "a[b-c].d".
std::string normalize_field_path(std::string_view path) {
  std::string out;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '.' && out.empty()) continue;
    if (path.substr(i).starts_with("['")) {
      size_t end = path.find("']", i);
      if (end == std::string_view::npos) end = path.size();
      out += '[';
      out += path.substr(i + 2, end - i - 2);
      out += ']';
      i = std::min(end + 1, path.size());
    } else {
      out += path[i];
    }
  }
  return out;
}

// The object itself is "<nil>", as Kubernetes names it.
std::string field_text(const schema::Path& path) { return path.is_root() ? "<nil>" : path.str(); }

ErrorCause cause(std::string reason, std::string message, std::string field) {
  return {std::move(reason), std::move(message), std::move(field)};
}

// A rule that is false. Objects and lists are not repeated in the message, scalars are.
ErrorCause violation(const schema::Rule& rule, const json::Value& self, std::string_view detail,
                     std::string field) {
  std::string value;
  if (!self.is_object() && !self.is_array()) value = ": " + schema::bad_value_text(self);
  std::string text(detail);
  if (rule.reason == "FieldValueForbidden")
    return cause("FieldValueForbidden", "Forbidden: " + text, std::move(field));
  if (rule.reason == "FieldValueRequired")
    return cause("FieldValueRequired", "Required value: " + text, std::move(field));
  if (rule.reason == "FieldValueDuplicate")
    return cause("FieldValueDuplicate", "Duplicate value" + value, std::move(field));
  return cause("FieldValueInvalid", "Invalid value" + value + ": " + text, std::move(field));
}

}  // namespace

std::shared_ptr<const RulePrograms> RulePrograms::compile(const schema::Type& root) {
  auto programs = std::make_shared<RulePrograms>();
  programs->walk(root);
  return programs;
}

namespace {

// One expression of a rule; an error with Kubernetes' text when it cannot be used.
Result<std::shared_ptr<const Program>> compile_expression(const schema::Type& type,
                                                          const schema::Rule& rule, bool message) {
  CelType self = type_of_schema(&type);
  CelType old = rule.optional_old_self ? CelType::optional(self) : self;
  std::string_view source = message ? rule.message_expression : rule.rule;
  Result<std::shared_ptr<const Program>> program =
      compile(source, {{"self", std::move(self)}, {"oldSelf", std::move(old)}});
  if (!program.ok()) {
    if (!message) return program;
    return make_error(ErrorCode::kInvalid, "messageExpression " + program.error().message);
  }
  TypeKind kind = (*program)->type().kind;
  if (kind == TypeKind::kDyn || kind == (message ? TypeKind::kString : TypeKind::kBool))
    return program;
  return make_error(ErrorCode::kInvalid, message ? "messageExpression must evaluate to a string"
                                                 : "cel expression must evaluate to a bool");
}

// The rule as kube-apiserver prints it in errors.
std::string rule_text(const schema::Rule& rule) {
  json::Value out = json::Value::object({
      {"Rule", rule.rule},
      {"Message", rule.message},
      {"MessageExpression", rule.message_expression},
      {"Reason", rule.reason.empty() ? json::Value() : json::Value(rule.reason)},
      {"FieldPath", rule.field_path},
      {"OptionalOldSelf", rule.optional_old_self ? json::Value(true) : json::Value()},
  });
  return json::write(out);
}

}  // namespace

void RulePrograms::walk(const schema::Type& type) {
  if (!seen_.emplace(&type, true).second) return;
  for (const schema::Rule& source : type.rules) {
    Rule rule;
    rule.source = &source;
    rule.field_path = normalize_field_path(source.field_path);
    Result<std::shared_ptr<const Program>> program = compile_expression(type, source, false);
    if (program.ok()) {
      rule.program = *program;
      rule.uses_old = rule.program->uses(1);
    } else {
      rule.error = program.error().message;
    }
    if (!source.message_expression.empty()) {
      Result<std::shared_ptr<const Program>> message = compile_expression(type, source, true);
      if (message.ok()) rule.message_expression = *message;
    }
    ++count_;
    rules_[&type].push_back(std::move(rule));
  }
  for (const schema::Field& field : type.fields)
    if (field.type) walk(*field.type);
  if (type.element) walk(*type.element);
}

void check_rule(const schema::Type& type, const schema::Rule& rule, const schema::Path& at,
                std::vector<ErrorCause>& errors) {
  auto refuse = [&](std::string_view field, const std::string& why) {
    errors.push_back(cause("FieldValueInvalid", "Invalid value: " + rule_text(rule) + ": " + why,
                           at.child(field).str()));
  };
  Result<std::shared_ptr<const Program>> program = compile_expression(type, rule, false);
  if (!program.ok()) refuse("rule", program.error().message);
  if (program.ok() && rule.optional_old_self && !(*program)->uses(1))
    errors.push_back(
        cause("FieldValueInvalid",
              "Invalid value: true: option may not be set if oldSelf is not used in rule",
              at.child("optionalOldSelf").str()));
  if (rule.message_expression.empty()) return;
  Result<std::shared_ptr<const Program>> message = compile_expression(type, rule, true);
  if (!message.ok()) refuse("messageExpression", message.error().message);
}

const std::vector<RulePrograms::Rule>* RulePrograms::find(const schema::Type& type) const {
  auto it = rules_.find(&type);
  return it == rules_.end() ? nullptr : &it->second;
}

struct ObjectRules::Activation {
  Value plain[2];     // self, oldSelf
  Value optional[2];  // self, optional oldSelf
};

bool ObjectRules::spend(uint64_t cost) {
  if (cost > budget_) {
    exhausted_ = true;
    return false;
  }
  budget_ -= cost;
  return true;
}

void ObjectRules::evaluate(const schema::RuleInput& input, std::vector<ErrorCause>& errors) {
  if (exhausted_ || input.self.is_null()) return;
  const std::vector<RulePrograms::Rule>* rules = programs_.find(input.type);
  if (rules == nullptr) return;
  Arena arena;
  Activation activation;
  Value self = from_json(input.self, &input.type, arena);
  Value old = Value::error("no such attribute(s): oldSelf");
  Value inner;
  Value old_optional = Value::of_optional(nullptr);
  if (input.old_self != nullptr && !input.old_self->is_null()) {
    old = from_json(*input.old_self, &input.type, arena);
    inner = old;
    old_optional = Value::of_optional(&inner);
  }
  activation.plain[0] = activation.optional[0] = self;
  activation.plain[1] = old;
  activation.optional[1] = old_optional;
  bool has_old = !old.is_error();
  for (const RulePrograms::Rule& rule : *rules) {
    if (rule.uses_old && !has_old && !rule.source->optional_old_self) continue;
    if (input.unchanged && !rule.uses_old) continue;
    if (!run(rule, input, activation, errors)) return;
  }
}

// False when nothing more may be evaluated.
bool ObjectRules::run(const RulePrograms::Rule& rule, const schema::RuleInput& input,
                      const Activation& activation, std::vector<ErrorCause>& errors) {
  auto fail = [&](const std::string& text) {
    errors.push_back(
        cause("FieldValueInvalid",
              "Invalid value: " + schema::go_quote(schema_type(input.type)) + ": " + text,
              field_text(input.path)));
  };
  if (rule.program == nullptr) {
    fail("rule compile error: " + rule.error);
    return true;
  }
  Arena arena;
  const Value* values = rule.source->optional_old_self ? activation.optional : activation.plain;
  Evaluation result = rule.program->evaluate({values, 2}, arena);
  if (!spend(result.cost)) {
    fail(
        "validation failed due to running out of cost budget, no further validation rules will be "
        "run");
    return false;
  }
  std::string name(rule_name(*rule.source));
  if (result.value.is_error()) {
    std::string error(result.value.str());
    if (error.starts_with("no such overload")) {
      fail("'" + error +
           "': call arguments did not match a supported operator, function or macro signature for "
           "rule: " +
           name);
    } else if (error.starts_with("operation cancelled")) {
      fail("'" + error +
           "': no further validation rules will be run due to call cost exceeds limit for rule: " +
           name);
      exhausted_ = true;
      return false;
    } else {
      fail(error + " evaluating rule: " + name);
    }
    return true;
  }
  if (result.value.is_true()) return true;
  std::string field = field_text(input.path);
  if (!rule.field_path.empty())
    field = input.path.is_root() ? rule.field_path : field + '.' + rule.field_path;
  errors.push_back(
      violation(*rule.source, input.self, detail(rule, activation, arena), std::move(field)));
  return !exhausted_;
}

// The message of a false rule: from its expression where that yields a usable text, else the fixed
// one.
std::string ObjectRules::detail(const RulePrograms::Rule& rule, const Activation& activation,
                                Arena& arena) {
  if (rule.message_expression != nullptr) {
    const Value* values = rule.source->optional_old_self ? activation.optional : activation.plain;
    Evaluation result = rule.message_expression->evaluate({values, 2}, arena);
    if (spend(result.cost) && result.value.kind == Kind::kString) {
      std::string_view text = trimmed(result.value.str());
      if (!text.empty() && text.size() <= kMaxMessageLength &&
          text.find('\n') == std::string_view::npos)
        return std::string(text);
    }
  }
  if (!rule.source->message.empty()) return std::string(trimmed(rule.source->message));
  return "failed rule: " + std::string(rule_name(*rule.source));
}

}  // namespace kueue::cel
