// Parts of the Configuration's validation that live in files of their own.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"
#include "schema/field_errors.h"

namespace kueue::config {

// Texts of a list; empty when it is none.
std::vector<std::string> texts_of(const json::Value* list);
void check_tls(const json::Value& config, schema::FieldErrors& errors);

}  // namespace kueue::config
