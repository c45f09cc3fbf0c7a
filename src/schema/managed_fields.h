// metadata.managedFields: who manages which fields, kept up to date by every write. Pure; thread
// safe; the present comes as an argument.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "json/value.h"
#include "schema/fieldset.h"
#include "schema/type.h"

namespace kueue::schema {

// Other versions of the same object, for kinds that are served in several: an entry of
// metadata.managedFields speaks of the fields of its own apiVersion. Without functions all versions
// are taken to have the same fields.
struct Versions {
  // The Type of an apiVersion ("kueue.x-k8s.io/v1beta1"); nullptr for one that is not served, whose
  // entries are dropped.
  std::function<const Type*(std::string_view api_version)> type = {};
  std::function<Result<json::Value>(const json::Value& document, std::string_view api_version)>
      convert = {};
};

struct WriteContext {
  const Type& type;                   // of the whole object, in api_version
  std::string_view api_version;       // of the request: "batch/v1"
  std::string_view manager;           // at most 128 printable characters; the caller checks
  std::string_view subresource = {};  // "status", "scale"; "" = the object itself
  Instant now = {};
  // Fields (with all below) that this endpoint resets and nobody comes to manage through it: status
  // for the object itself, spec and metadata for status. nullptr = none.
  const FieldSet* reset_fields = nullptr;
  const Versions* versions = nullptr;
};

// After a create (before = nullptr) or an update: `after`, with metadata.managedFields that follow
// from the entries of the request or, when it has none, of `before`: changed fields go to the
// manager, removed ones leave all. An update that changes no field leaves entries and times alone.
// [{}] in the request clears all entries. At most 10 update entries are kept: the oldest are merged
// into "ancient-changes". An entry that cannot be read empties them all. An object
// without entries stays without until something is applied to it.
json::Value track_update(const json::Value* before, json::Value after, const WriteContext& context);

// Server-side apply of `config` to `live` (nullptr: create). The new object with its managedFields;
// `live` itself, when nothing changes, so that equal bytes mean no write. Fields the manager no
// longer applies and nobody else manages are removed. Errors: kConflict with one
// FieldManagerConflict cause per field, worded as kube-apiserver does; kBadRequest for
// managedFields in config; kInternal (500, as kube-apiserver) for a config that does not fit the
// Type. Field managers named "kubectl" take over what kubectl-client-side-apply left behind and
// keep the last-applied annotation in step.
Result<json::Value> server_side_apply(const json::Value* live, const json::Value& config,
                                      bool force, const WriteContext& context);

// True when two objects differ in nothing but the times of managedFields: such a write may be
// skipped.
bool equal_but_for_times(const json::Value& a, const json::Value& b);

}  // namespace kueue::schema
