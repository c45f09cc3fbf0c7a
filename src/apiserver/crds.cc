#include "apiserver/crds.h"

#include "apiserver/core.h"
#include "apiserver/json_scan.h"
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

ResourcePtr make_resource(const json::Value& definition, schema::TypeRef object_meta,
                          uint64_t revision) {
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
  resource->revision = revision;
  resource->terminating = definition.find_path({"metadata", "deletionTimestamp"}) != nullptr;
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
  for (const auto& [name, stored] : core_.store->snapshot(kCollection, "").items)
    if (!scan_string(stored->bytes, {"metadata", "deletionTimestamp"}).empty())
      core_.background.run([this, n = name] { terminate(n); });
}

void Crds::observe(const Change& change) {
  if (*change.collection == kCollection) {
    if (change.type != ChangeType::kDeleted &&
        !scan_string(change.object->bytes, {"metadata", "deletionTimestamp"}).empty())
      core_.background.run([this, name = change.key] { terminate(name); });
    return;
  }
  if (change.type != ChangeType::kDeleted) return;
  // "group/plural" of the last object of a definition that waits.
  const std::string& collection = *change.collection;
  const size_t slash = collection.find('/');
  const std::string name = collection.substr(slash + 1) + "." + collection.substr(0, slash);
  const StoredPtr stored = core_.store->get(kCollection, name);
  if (stored != nullptr && !scan_string(stored->bytes, {"metadata", "deletionTimestamp"}).empty())
    core_.background.run([this, name] { terminate(name); });
}

void Crds::terminate(const std::string& name) {
  const StoredPtr stored = core_.store->get(kCollection, name);
  if (stored == nullptr) return;
  const std::string collection = scan_string(stored->bytes, {"spec", "group"}) + "/" +
                                 scan_string(stored->bytes, {"spec", "names", "plural"});
  for (const auto& [key, object] : core_.store->snapshot(collection, "").items)
    edit_internally(core_, collection, key, [&](json::Value& o) {
      json::Value& metadata = o["metadata"];
      if (metadata.find("deletionTimestamp") != nullptr) return false;
      metadata["deletionTimestamp"] = format_time(core_.now());
      metadata["deletionGracePeriodSeconds"] = 0;
      return true;
    });
  if (core_.store->count(collection) != 0) return;
  edit_internally(core_, kCollection, name, [](json::Value& o) {
    json::Value* finalizers = o.find_path({"metadata", "finalizers"});
    if (finalizers == nullptr || !finalizers->is_array()) return false;
    std::erase_if(finalizers->as_array(),
                  [](const json::Value& f) { return f.string_or("") == kFinalizer; });
    if (finalizers->as_array().empty()) o.erase_path({"metadata", "finalizers"});
    return true;
  });
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
        known.resource = make_resource(*definition, object_meta, stored->revision);
    }
    if (known.resource != nullptr) resources.push_back(known.resource);
    now.emplace(name, std::move(known));
  }
  known_ = std::move(now);
  core_.set_catalog(std::make_shared<const Catalog>(std::move(resources)));
}

}  // namespace kueue::apiserver
