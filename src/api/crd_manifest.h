// CustomResourceDefinitions of kueue.x-k8s.io, made from the field tables. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"
#include "schema/type.h"

namespace kueue::api {

struct CrdOptions {
  // Adds descriptions from the tables.
  bool descriptions = true;
  // When set, the kinds whose versions differ get a conversion webhook with this clientConfig (url
  // or service, caBundle).
  const json::Value* conversion_client_config = nullptr;
};

// The eleven CRDs, sorted by name, each with v1beta1 and v1beta2.
std::vector<json::Value> crd_manifests(const CrdOptions& options = {});

// True for the kinds whose v1beta1 and v1beta2 need converting: ClusterQueue, Cohort, LocalQueue,
// MultiKueueCluster, Workload.
bool needs_conversion(std::string_view kind);

// openAPIV3Schema of a custom resource: structural, as a CRD carries it. `root` tells that metadata
// is the object's own.
json::Value crd_schema(const schema::Type& type, bool descriptions, bool root);

}  // namespace kueue::api
