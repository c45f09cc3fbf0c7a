// Checks that hooks share: labels, selectors, quantities, gates of admission. All append to
// `errors`; paths are texts. Pure; thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/feature_gates.h"
#include "json/lists.h"
#include "schema/field_errors.h"

namespace kueue::webhooks {

// The label or annotation; "" when absent.
std::string_view label_of(const json::Value& object, std::string_view name);
std::string_view annotation_of(const json::Value& object, std::string_view name);
bool has_annotation(const json::Value& object, std::string_view name);
using json::list_at;
// "metadata.labels[KEY]" and "metadata.annotations[KEY]".
std::string label_field(std::string_view key);
std::string annotation_field(std::string_view key);
// condition `type` has status True.
bool condition_true(const json::Value& object, std::string_view type);

// Key and value syntax of labels, in the order of keys.
void check_labels(const json::Value* labels, const std::string& field, schema::FieldErrors& errors);
// Key syntax and total size of annotations.
void check_annotations(const json::Value* annotations, const std::string& field,
                       schema::FieldErrors& errors);
void check_label_selector(const json::Value* selector, const std::string& field,
                          schema::FieldErrors& errors);
// Sign of a quantity of a document; 0 when it is none.
int quantity_sign(const json::Value& value);
// Canonical text.
std::string quantity_text(const json::Value& value);
// Both values must be equal: "field is immutable".
void check_immutable(const json::Value& now, const json::Value& before, const std::string& field,
                     schema::FieldErrors& errors);

// The annotation admission-gated-by: its form, and on updates that gates only go.
void check_admission_gates(const json::Value& object, const json::Value* old_object,
                           const FeatureGates& gates, schema::FieldErrors& errors);

}  // namespace kueue::webhooks
