#include "apiserver/validation.h"

#include <optional>

#include "cel/rules.h"
#include "schema/validate.h"

namespace kueue::apiserver {

void validate_new(const Call& call, const json::Value& object, Causes& causes) {
  std::optional<cel::ObjectRules> rules;
  if (call.served->rules != nullptr) rules.emplace(*call.served->rules);
  schema::ValidateOptions options;
  if (rules) options.rules = &*rules;
  for (ErrorCause& cause : schema::validate(*call.served->info->type, object, options))
    causes.push_back(std::move(cause));
  if (call.resource().traits->validate != nullptr)
    call.resource().traits->validate(call, object, causes);
}

void validate_changed(const Call& call, std::string_view subresource, const json::Value& object,
                      const json::Value& old, Causes& causes) {
  std::optional<cel::ObjectRules> rules;
  if (call.served->rules != nullptr) rules.emplace(*call.served->rules);
  schema::ValidateOptions options;
  if (rules) options.rules = &*rules;
  options.old = &old;
  for (ErrorCause& cause : schema::validate(*call.served->info->type, object, options))
    causes.push_back(std::move(cause));
  const Traits& traits = *call.resource().traits;
  if (subresource == "status") {
    if (traits.validate_status != nullptr) traits.validate_status(call, object, old, causes);
    return;
  }
  if (traits.validate != nullptr) traits.validate(call, object, causes);
  if (traits.validate_update != nullptr) traits.validate_update(call, object, old, causes);
}

}  // namespace kueue::apiserver
