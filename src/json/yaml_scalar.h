// What plain YAML scalars mean (YAML 1.1 as go-yaml v2 reads it), which strings must be quoted to
// stay strings. Pure functions, used by yaml.cc only.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace kueue::json {

// The value of a scalar with its tag ("" = none). `plain`: unquoted, so that its text decides the
// type. Infinity and NaN come back as doubles. The error has the message only.
Result<Value> resolve_yaml_scalar(std::string_view text, std::string_view tag, bool plain);

// True when a reader takes the plain text for a string: neither number, bool, null, time nor merge
// key.
bool yaml_reads_as_text(std::string_view text);

// As Go prints a float64 with %g and the least digits: 1.5, 1e+06, 1e-05.
std::string yaml_double(double d);

bool valid_utf8(std::string_view text);
// Each byte that is not UTF-8 becomes U+FFFD.
std::string repair_utf8(std::string_view text);

}  // namespace kueue::json
