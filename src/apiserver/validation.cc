#include "apiserver/validation.h"

#include <algorithm>
#include <optional>

#include "cel/rules.h"
#include "schema/validate.h"

namespace kueue::apiserver {

namespace {

// What the kind's own rules say comes first; the table repeats none of it.
void add_table_causes(const Call& call, const json::Value& object, const json::Value* old,
                      Causes& causes) {
  std::optional<cel::ObjectRules> rules;
  if (call.served->rules != nullptr) rules.emplace(*call.served->rules);
  schema::ValidateOptions options;
  if (rules) options.rules = &*rules;
  options.old = old;
  const size_t told = causes.size();
  for (ErrorCause& cause : schema::validate(*call.served->info->type, object, options)) {
    const bool repeated = std::any_of(
        causes.begin(), causes.begin() + static_cast<ptrdiff_t>(told),
        [&](const ErrorCause& c) { return c.field == cause.field && c.reason == cause.reason; });
    if (!repeated) causes.push_back(std::move(cause));
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
