// Rules for names, labels and annotations, in Kubernetes' words. Pure; thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/traits.h"
#include "json/value.h"

namespace kueue::apiserver {

// Each returns what is wrong, nothing when the text is fine.
std::vector<std::string> check_subdomain(std::string_view text);
std::vector<std::string> check_label(std::string_view text);
std::vector<std::string> check_label_1035(std::string_view text);
std::vector<std::string> check_path_segment(std::string_view text);
std::vector<std::string> check_qualified_name(std::string_view text);
std::vector<std::string> check_label_value(std::string_view text);
std::vector<std::string> check_name(Traits::Name rule, std::string_view text);

// name, generateName, namespace, labels, annotations, finalizers, ownerReferences of an object to
// be stored.
void validate_metadata(const json::Value& object, bool namespaced, Traits::Name rule,
                       Causes& causes);
// What an update may not touch; of annotations and labels the same as above.
void validate_metadata_update(const json::Value& object, const json::Value& old, Causes& causes);
// A map of labels at `field` ("metadata.labels").
void validate_labels(const json::Value* labels, std::string_view field, Causes& causes);

// Causes without a schema::Path.
ErrorCause cause_invalid(std::string field, const json::Value& value, std::string_view detail);
ErrorCause cause_required(std::string field, std::string_view detail);
ErrorCause cause_forbidden(std::string field, std::string_view detail);

}  // namespace kueue::apiserver
