#include "apiserver/validation.h"

#include <algorithm>
#include <optional>

#include "cel/rules.h"
#include "schema/validate.h"

namespace kueue::apiserver {

namespace {

// The Type at a path like "spec.containers[0].name"; nullptr when it is not known.
const schema::Type* type_at(const schema::Type& root, std::string_view path) {
  const schema::Type* type = &root;
  while (!path.empty()) {
    if (path.front() == '[') {
      const size_t end = path.find(']');
      if (end == std::string_view::npos || !type->element) return nullptr;
      type = &*type->element;
      path.remove_prefix(end + 1);
      continue;
    }
    if (path.front() == '.') path.remove_prefix(1);
    const size_t end = path.find_first_of(".[");
    const schema::Field* field = type->field(path.substr(0, end));
    if (field == nullptr) return nullptr;
    type = &*field->type;
    path = end == std::string_view::npos ? std::string_view() : path.substr(end);
  }
  return type;
}

// "Required" in the schema of a built-in kind often only means that Go writes the zero value:
// absent numbers, booleans and structs are such, and so is everything in a status.
bool only_zero(const Call& call, const ErrorCause& cause) {
  if (call.resource().custom() || cause.reason != "FieldValueRequired") return false;
  if (cause.field.starts_with("status")) return true;
  const schema::Type* type = type_at(*call.served->info->type, cause.field);
  if (type == nullptr) return false;
  switch (type->kind) {
    case schema::Kind::kBool:
    case schema::Kind::kInt32:
    case schema::Kind::kInt64:
    case schema::Kind::kDouble:
    case schema::Kind::kStruct:
    case schema::Kind::kAny:
      return true;
    case schema::Kind::kString:
    case schema::Kind::kBytes:
    case schema::Kind::kMap:
    case schema::Kind::kList:
    case schema::Kind::kIntOrString:
    case schema::Kind::kQuantity:
    case schema::Kind::kTime:
    case schema::Kind::kMicroTime:
    case schema::Kind::kDuration:
      return false;
  }
  return false;
}

// What the kind's own rules say comes first; the table repeats none of it.
void add_table_causes(const Call& call, const json::Value& object, const json::Value* old,
                      Causes& causes) {
  std::optional<cel::ObjectRules> rules;
  if (call.served->rules != nullptr) rules.emplace(*call.served->rules);
  schema::ValidateOptions options;
  if (rules) options.rules = &*rules;
  options.old = old;
  if (call.resource().custom()) {
    // What the metadata lacks may keep the rules from running.
    options.earlier = std::move(causes);
    causes = schema::validate(*call.served->info->type, object, options);
    return;
  }
  const size_t told = causes.size();
  for (ErrorCause& cause : schema::validate(*call.served->info->type, object, options)) {
    const bool repeated = std::any_of(
        causes.begin(), causes.begin() + static_cast<ptrdiff_t>(told),
        [&](const ErrorCause& c) { return c.field == cause.field && c.reason == cause.reason; });
    if (!repeated && !only_zero(call, cause)) causes.push_back(std::move(cause));
  }
}

}  // namespace

void validate_new(const Call& call, const json::Value& object, Causes& causes) {
  if (call.resource().traits->validate != nullptr)
    call.resource().traits->validate(call, object, causes);
  add_table_causes(call, object, nullptr, causes);
}

void validate_changed(const Call& call, std::string_view subresource, const json::Value& object,
                      const json::Value& old, Causes& causes) {
  const Traits& traits = *call.resource().traits;
  if (subresource == "status") {
    if (traits.validate_status != nullptr) traits.validate_status(call, object, old, causes);
  } else {
    if (traits.validate != nullptr) traits.validate(call, object, causes);
    if (traits.validate_update != nullptr) traits.validate_update(call, object, old, causes);
  }
  add_table_causes(call, object, &old, causes);
}

}  // namespace kueue::apiserver
