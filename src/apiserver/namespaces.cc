#include "apiserver/namespaces.h"

#include "apiserver/core.h"
#include "apiserver/json_scan.h"
#include "apiserver/write.h"
#include "json/json.h"

namespace kueue::apiserver {

namespace {

constexpr std::string_view kNamespaces = "/namespaces";

bool terminating(std::string_view bytes) {
  return !scan_string(bytes, {"metadata", "deletionTimestamp"}).empty();
}

}  // namespace

Result<void> Namespaces::admit_create(const Call& call, std::string_view namespace_,
                                      std::string_view name) const {
  if (!call.resource().namespaced || namespace_.empty()) return {};
  const StoredPtr stored = core_.store->get(kNamespaces, namespace_);
  if (stored == nullptr) {
    Error error = make_error(ErrorCode::kNotFound,
                             "namespaces \"" + std::string(namespace_) + "\" not found");
    error.kind = "namespaces";
    error.name = namespace_;
    return error;
  }
  if (!terminating(stored->bytes)) return {};
  Error error = call.error(ErrorCode::kForbidden,
                           call.resource().qualified() + " \"" + std::string(name) +
                               "\" is forbidden: unable to create new content in namespace " +
                               std::string(namespace_) + " because it is being terminated");
  error.name = name;
  error.causes.push_back(
      {.reason = "NamespaceTerminating",
       .message = "namespace " + std::string(namespace_) + " is being terminated",
       .field = "metadata.namespace"});
  return error;
}

void Namespaces::load() {
  for (const auto& [key, stored] : core_.store->snapshot(kNamespaces, "").items) {
    const std::string name = key;
    if (terminating(stored->bytes))
      core_.background.run([this, name] { terminate(name); });
    else
      core_.background.run([this, name] { furnish(name); });
  }
}

void Namespaces::observe(const Change& change) {
  if (*change.collection == kNamespaces) {
    if (change.type == ChangeType::kDeleted) return;
    const std::string name = change.key;
    if (terminating(change.object->bytes))
      core_.background.run([this, name] { terminate(name); });
    else if (change.type == ChangeType::kAdded)
      core_.background.run([this, name] { furnish(name); });
    return;
  }
  if (change.type != ChangeType::kDeleted) return;
  // The last object of a terminating namespace may have gone.
  const size_t slash = change.key.find('/');
  if (slash == std::string::npos) return;
  const std::string name = change.key.substr(0, slash);
  const StoredPtr stored = core_.store->get(kNamespaces, name);
  if (stored != nullptr) {
    if (terminating(stored->bytes))
      core_.background.run([this, name] { terminate(name); });
    else if (*change.collection == "/serviceaccounts" || *change.collection == "/configmaps")
      core_.background.run([this, name] { furnish(name); });
  }
}

void Namespaces::furnish(const std::string& name) {
  const StoredPtr stored = core_.store->get(kNamespaces, name);
  if (stored == nullptr || terminating(stored->bytes)) return;
  const auto metadata = [&](std::string_view object) {
    return json::Value::object(
        {{"metadata", json::Value::object({{"name", object}, {"namespace", name}})}});
  };
  if (core_.store->get("/serviceaccounts", object_key(name, "default")) == nullptr)
    (void)create_internally(core_, "", "v1", "serviceaccounts", metadata("default"));
  if (core_.options.ca_pem.empty()) return;
  if (core_.store->get("/configmaps", object_key(name, "kube-root-ca.crt")) != nullptr) return;
  json::Value root = metadata("kube-root-ca.crt");
  root["metadata"]["annotations"]["kubernetes.io/description"] =
      "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
      "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
      "guaranteed across distributions of Kubernetes clusters.";
  root["data"]["ca.crt"] = core_.options.ca_pem;
  (void)create_internally(core_, "", "v1", "configmaps", std::move(root));
}

void Namespaces::terminate(const std::string& name) {
  const std::string prefix = name + "/";
  size_t left = 0;
  std::string finalizers;
  for (const std::string& collection : core_.store->collections()) {
    if (const Resource* resource = core_.catalog()->of_collection(collection);
        resource != nullptr && !resource->namespaced)
      continue;
    for (const auto& [key, stored] : core_.store->snapshot(collection, prefix).items) {
      ++left;
      edit_internally(core_, collection, key, [&](json::Value& object) {
        json::Value& metadata = object["metadata"];
        if (metadata.find("deletionTimestamp") != nullptr) return false;
        int64_t grace = 0;
        if (collection == "/pods" && !object.get_string({"spec", "nodeName"}).empty()) {
          const std::string_view phase = object.get_string({"status", "phase"});
          if (phase != "Succeeded" && phase != "Failed")
            grace = object.get_int({"spec", "terminationGracePeriodSeconds"}, 30);
        }
        metadata["deletionTimestamp"] = format_time(core_.now() + Duration::seconds(grace));
        metadata["deletionGracePeriodSeconds"] = grace;
        return true;
      });
      if (core_.store->get(collection, key) == nullptr) --left;
    }
  }
  if (left != 0) return;
  edit_internally(core_, kNamespaces, name, [](json::Value& object) {
    if (object.find_path({"metadata", "deletionTimestamp"}) == nullptr) return false;
    json::Value* f = object.find_path({"spec", "finalizers"});
    if (f != nullptr && f->is_array()) {
      std::erase_if(f->as_array(),
                    [](const json::Value& v) { return v.string_or("") == "kubernetes"; });
      if (f->as_array().empty()) object.erase_path({"spec", "finalizers"});
    }
    object["metadata"]["deletionGracePeriodSeconds"] = 0;
    return true;
  });
}

}  // namespace kueue::apiserver
