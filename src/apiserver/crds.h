// CustomResourceDefinitions: from stored definitions to served resources. refresh() is serialised
// inside; thread safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/catalog.h"
#include "apiserver/store.h"
#include "json/value.h"

namespace kueue::apiserver {

class Core;

class Crds {
 public:
  static constexpr std::string_view kCollection = "apiextensions.k8s.io/customresourcedefinitions";

  // Held by a definition that is being deleted until its objects are gone.
  static constexpr std::string_view kFinalizer = "customresourcecleanup.apiextensions.k8s.io";

  explicit Crds(Core& core) : core_(core) {}
  void load(std::vector<ResourcePtr> built_in);
  // Reads the stored definitions that changed and puts a new catalog in place.
  void refresh();
  // A definition that is being deleted takes its objects along, then goes.
  void observe(const Change& change);

 private:
  struct Known {
    uint64_t revision = 0;
    ResourcePtr resource;  // null: cannot be served
  };
  void terminate(const std::string& name);
  Core& core_;
  std::mutex mutex_;
  std::vector<ResourcePtr> built_in_;
  std::map<std::string, Known> known_;  // by name
};

}  // namespace kueue::apiserver
