#include "apiserver/crds.h"

#include "apiserver/core.h"
#include "apiserver/traits.h"
#include "apiserver/write.h"
#include "cel/rules.h"
#include "json/json.h"
#include "schema/crd.h"

namespace kueue::apiserver {

namespace {

// The Type of ObjectMeta, taken from a kind that has one.
schema::TypeRef object_meta_type(const std::vector<ResourcePtr>& resources) {
  for (const ResourcePtr& r : resources) {
    const schema::Field* field = r->versions.front().info->type->field("metadata");
    if (field != nullptr) return field->type;
  }
  return {};
}

ResourcePtr make_resource(const json::Value& definition, schema::TypeRef object_meta) {
  auto crd = schema::Crd::build(definition, object_meta);
  if (!crd.ok() || (*crd)->storage_version() == nullptr) return nullptr;
  auto resource = std::make_shared<Resource>();
  resource->group = definition.get_string({"spec", "group"});
  resource->plural = definition.get_string({"spec", "names", "plural"});
  resource->kind = definition.get_string({"spec", "names", "kind"});
  resource->collection = resource->group + "/" + resource->plural;
  resource->namespaced = definition.get_string({"spec", "scope"}) == "Namespaced";
  resource->traits = &custom_traits();
  resource->crd_name = definition.get_string({"metadata", "name"});
  resource->crd_uid = definition.get_string({"metadata", "uid"});
  resource->tables = *crd;
  if (definition.get_string({"spec", "conversion", "strategy"}) == "Webhook") {
    ConversionWebhook webhook;
    if (const json::Value* c =
            definition.find_path({"spec", "conversion", "webhook", "clientConfig"}))
      webhook.client_config = *c;
    if (const json::Value* v =
            definition.find_path({"spec", "conversion", "webhook", "conversionReviewVersions"});
        v != nullptr && v->is_array())
      for (const json::Value& name : v->as_array())
        webhook.review_versions.emplace_back(name.string_or(""));
    resource->conversion = std::move(webhook);
  }
  for (const schema::CrdVersion& version : (*crd)->versions()) {
    Served served;
    served.info = &version.resource;
    served.resource = resource.get();
    served.api_version = resource->group + "/" + std::string(version.resource.version);
    served.warning = version.deprecation_warning;
    served.served = version.served;
    auto rules = cel::RulePrograms::compile(*version.resource.type);
    if (rules->count() != 0) served.rules = std::move(rules);
    if (version.storage) resource->storage = resource->versions.size();
    resource->versions.push_back(std::move(served));
  }
  return resource;
}

}  // namespace

void Crds::load(std::vector<ResourcePtr> built_in) {
  {
    std::lock_guard lock(mutex_);
    built_in_ = std::move(built_in);
  }
  refresh();
}

void Crds::refresh() {
  std::lock_guard lock(mutex_);
  const schema::TypeRef object_meta = object_meta_type(built_in_);
  std::map<std::string, Known> now;
  std::vector<ResourcePtr> resources = built_in_;
  for (const auto& [name, stored] : core_.store->snapshot(kCollection, "").items) {
    Known known;
    const auto before = known_.find(name);
    if (before != known_.end() && before->second.revision == stored->revision) {
      known = before->second;
    } else {
      known.revision = stored->revision;
      if (auto definition = json::parse(stored->bytes); definition.ok())
        known.resource = make_resource(*definition, object_meta);
    }
    if (known.resource != nullptr) resources.push_back(known.resource);
    now.emplace(name, std::move(known));
  }
  known_ = std::move(now);
  core_.set_catalog(std::make_shared<const Catalog>(std::move(resources)));
}

}  // namespace kueue::apiserver
