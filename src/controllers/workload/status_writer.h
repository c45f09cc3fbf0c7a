// Writing the status of a Workload: server-side apply as kueue-admission of everything that this
// manager owns, guarded by the version that the change was made from. labels-conditions-events 1.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "controllers/context.h"
#include "controllers/stores.h"

namespace kueue::controllers {

using WorkloadPointer = std::shared_ptr<const v1beta2::Workload>;

// The newest Workload known: from the cache, or with `live` from the API server (then the cache
// learns it too). kNotFound when there is none.
Result<WorkloadPointer> newest_workload(Context& context, const kube::ObjectKey& key, bool live);

// Writes `changed.status`, made from `before`: applies the part that is ours, or with the gate
// WorkloadRequestUseMergePatch patches the difference. kConflict when the object is no longer the
// one of its resourceVersion. The cache takes the answer in.
Result<WorkloadPointer> write_status(Context& context, const v1beta2::Workload& before,
                                     const v1beta2::Workload& changed);

// Server-side applies this one field of the status as `manager`, which owns nothing else in it
// (null: nothing any more). The
// cache takes the answer in. A Workload that is gone is no error; kConflict for another of its
// name.
Result<void> apply_status_field(const Context& context, const v1beta2::Workload& workload,
                                std::string_view manager, std::string_view field,
                                json::Value value);

// What a change of a status decides for the current object.
enum class StatusEdit : uint8_t {
  kWrite,      // the copy was changed: write it
  kUnchanged,  // nothing to do
  kObsolete,   // the change makes no sense any more
};

// Reads the object, lets `edit` change a copy, writes it; after a conflict again from the newest
// object, up to 5 times. The value is the object as written (or found); null when it is gone or the
// edit was obsolete.
Result<WorkloadPointer> edit_status(Context& context, const kube::ObjectKey& key,
                                    std::string_view uid,
                                    const std::function<StatusEdit(v1beta2::Workload&)>& edit);

// The document that is applied; for tests.
json::Value status_apply_document(const v1beta2::Workload& workload);

}  // namespace kueue::controllers
