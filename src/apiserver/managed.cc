#include "apiserver/managed.h"

#include "apiserver/core.h"
#include "apiserver/view.h"
#include "schema/managed_fields.h"

namespace kueue::apiserver {

namespace {

schema::FieldSet fields_named(std::initializer_list<std::string_view> names) {
  schema::FieldSet set;
  for (std::string_view name : names) set.insert({name});
  return set;
}

const schema::FieldSet& reset_fields(const Call& call, std::string_view subresource) {
  static const schema::FieldSet none;
  static const schema::FieldSet status = fields_named({"status"});
  static const schema::FieldSet spec = fields_named({"spec"});
  static const schema::FieldSet all_but_status = fields_named({"spec", "metadata"});
  if (!call.served->info->has_status) return none;
  if (subresource == "status") return call.resource().custom() ? all_but_status : spec;
  return subresource.empty() || subresource == "scale" ? status : none;
}

// Runs `use` with the context of this call.
template <typename F>
auto with_context(const Call& call, std::string_view subresource, F use) {
  schema::Versions versions;
  versions.type = [&call](std::string_view api_version) -> const schema::Type* {
    for (const Served& s : call.resource().versions)
      if (s.api_version == api_version) return &*s.info->type;
    return nullptr;
  };
  versions.convert = [&call](const json::Value& document,
                             std::string_view api_version) -> Result<json::Value> {
    for (const Served& s : call.resource().versions)
      if (s.api_version == api_version) return convert(*call.core, document, s);
    return make_error(ErrorCode::kNotFound, "no version " + std::string(api_version));
  };
  const schema::WriteContext context{
      .type = *call.served->info->type,
      .api_version = call.served->api_version,
      .manager = call.field_manager,
      .subresource = subresource,
      .now = call.core->now(),
      .reset_fields = &reset_fields(call, subresource),
      .versions = call.resource().versions.size() > 1 ? &versions : nullptr};
  return use(context);
}

}  // namespace

void track_update(const Call& call, std::string_view subresource, const json::Value* old,
                  json::Value& object) {
  object = with_context(call, subresource, [&](const schema::WriteContext& context) {
    return schema::track_update(old, std::move(object), context);
  });
}

Result<json::Value> apply(const Call& call, std::string_view subresource,
                          const json::Value* current, const json::Value& patch, bool force) {
  return with_context(call, subresource, [&](const schema::WriteContext& context) {
    return schema::server_side_apply(current, patch, force, context);
  });
}

}  // namespace kueue::apiserver
