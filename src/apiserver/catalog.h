// Catalog: which resources are served, by path and by kind. Immutable; a change of a CRD makes a
// new one that shares what did not change. Thread safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "schema/type.h"

namespace kueue::cel {
class RulePrograms;
}

namespace kueue::apiserver {

struct Resource;
struct Traits;

// One version of a resource.
struct Served {
  const schema::ResourceInfo* info = nullptr;
  const Resource* resource = nullptr;
  std::string api_version;  // "batch/v1", "v1"
  std::string warning;      // sent with every answer of a deprecated version
  bool served = true;       // false: only stored
  // The CEL rules of the version, compiled; null when it has none.
  std::shared_ptr<const cel::RulePrograms> rules;
};

// How the CRD behind a resource converts between its versions.
struct ConversionWebhook {
  json::Value client_config;
  std::vector<std::string> review_versions;
};

// One resource with all its versions.
struct Resource {
  std::string group;
  std::string plural;
  std::string kind;
  std::string collection;  // "batch/jobs": where its objects are kept
  bool namespaced = true;
  std::vector<Served> versions;  // most preferred first
  size_t storage = 0;            // index into versions
  const Traits* traits = nullptr;
  // Custom resources: the name and uid of the CRD, and what keeps the tables of the versions alive.
  std::string crd_name;
  std::string crd_uid;
  uint64_t revision = 0;     // of the definition
  bool terminating = false;  // nothing new is created
  std::shared_ptr<const void> tables;
  std::optional<ConversionWebhook> conversion;

  bool custom() const { return !crd_name.empty(); }
  const Served& stored() const { return versions[storage]; }
  // "jobs.batch" or "pods".
  std::string qualified() const { return group.empty() ? plural : plural + "." + group; }
  const Served* version(std::string_view name) const;
};
using ResourcePtr = std::shared_ptr<const Resource>;

class Catalog {
 public:
  // Sorts and indexes; of two resources with one path the first wins.
  explicit Catalog(std::vector<ResourcePtr> resources);

  // nullptr when not served.
  const Served* find(std::string_view group, std::string_view version,
                     std::string_view plural) const;
  const Served* find_kind(std::string_view group, std::string_view version,
                          std::string_view kind) const;
  // The resource whose objects are kept there; of several the first.
  const Resource* of_collection(std::string_view collection) const;
  const std::vector<ResourcePtr>& resources() const { return resources_; }

  struct Version {
    std::string name;
    std::vector<const Served*> resources;  // by plural
  };
  struct Group {
    std::string name;
    std::vector<Version> versions;  // most preferred first
  };
  // Core first, then built-in groups in the order they were given, then those of CRDs by name.
  const std::vector<Group>& groups() const { return groups_; }
  const Group* group(std::string_view name) const;
  const Version* version(std::string_view group, std::string_view version) const;
  // Differs between catalogs with different contents.
  const std::string& tag() const { return tag_; }

 private:
  std::vector<ResourcePtr> resources_;
  std::map<std::string, const Served*, std::less<>> by_path_;
  std::map<std::string, const Served*, std::less<>> by_kind_;
  std::map<std::string, const Resource*, std::less<>> by_collection_;
  std::vector<Group> groups_;
  std::string tag_;
};

// Resources for the kinds built in. Those of one group and plural become one;
// `events.k8s.io/events` shares the collection of core events.
std::vector<ResourcePtr> make_built_in(const std::vector<const schema::ResourceInfo*>& infos);

// Kubernetes' order of versions: v2 before v1 before v1beta2 before v1alpha1 before other names.
bool version_before(std::string_view a, std::string_view b);

}  // namespace kueue::apiserver
