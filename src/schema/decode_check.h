// Do the JSON types of a document fit its Type? For built-in kinds, whose documents kube-apiserver
// decodes into Go structs: the first misfit in document order is told in encoding/json's words.
// Documents of custom resources are checked by validate() instead, their metadata here. Pure;
// thread safe.
#pragma once

#include <string_view>

#include "base/result.h"
#include "json/value.h"
#include "schema/type.h"

namespace kueue::schema {

// 400 on a misfit: `Job in version "v1" cannot be handled as a Job: json: cannot unmarshal string
// into Go struct field JobSpec.spec.parallelism of type int32`; also for texts that are no
// quantity, time or base64, with their path behind Kubernetes' words: `... (at
// spec.containers[0].resources.requests[cpu])`. Unknown members are passed over, null fits
// everywhere.
Result<void> check_types(const Type& type, const json::Value& document, std::string_view kind,
                         std::string_view version);

// The same for the metadata of a custom resource, whose paths start at the metadata:
// `... json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string`.
Result<void> check_metadata_types(const Type& object_meta, const json::Value& metadata,
                                  std::string_view kind, std::string_view version);

// "" when the text is a Quantity, else Kubernetes' complaint, or ours about its size: what the API
// takes the manager must be able to count with.
std::string_view quantity_problem(std::string_view text);
bool is_quantity_range_problem(std::string_view problem);
// "" when the text is RFC 3339 as metav1.Time reads it, or with micro as metav1.MicroTime does;
// else Go's complaint
// (`parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"`).
std::string time_problem(std::string_view text, bool micro);

}  // namespace kueue::schema
