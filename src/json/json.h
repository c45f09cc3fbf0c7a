// Text to Value and back: JSON and YAML. All functions are pure and thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace kueue::json {

struct ParseOptions {
  size_t max_depth = 512;
  size_t max_bytes = 64u << 20;
  // false: the last of equal keys wins silently, as encoding/json does. true: they are an error.
  bool reject_duplicate_keys = false;
  // When set, receives the path of each duplicate key ("spec.foo") instead of an error; of the
  // first hundred, as the API server tells no more.
  std::vector<std::string>* duplicates = nullptr;
  // Passes over the member `skipped` of each member `skipped_in` when it is an object or an array:
  // it is not in the result, and of its text only strings and brackets are looked at.
  std::string_view skipped_in = {};
  std::string_view skipped = {};
  // With `skipped`: what was passed over must be one array in the whole document, and the texts of
  // its items are put here, each to be parsed by itself. Views into the text.
  std::vector<std::string_view>* skipped_items = nullptr;
};

// One JSON document with nothing but white space after it. Errors are kBadRequest and name line and
// column.
Result<Value> parse(std::string_view text, const ParseOptions& options = {});

// Compact, as Go's encoding/json writes it without HTML escaping: members in stored order, doubles
// as Go prints them.
std::string write(const Value& value);
void write_to(std::string& out, const Value& value);
// Members sorted by key at every level: equal values give equal bytes.
std::string write_sorted(const Value& value);
// Indented (kubectl -o json uses 4 blanks), members sorted by key.
std::string write_pretty(const Value& value, int indent = 4);

// As Go prints a float64 in JSON: 1.5, 0.1, 1e+21, 1e-7, 2 for 2.0. "null" for what is not finite.
std::string format_double(double d);

struct YamlOptions {
  size_t max_bytes = 64u << 20;
  size_t max_depth = 512;
  // Limit of nodes after alias expansion, against "billion laughs".
  size_t max_nodes = 1'000'000;
  bool reject_duplicate_keys = true;
};

// First document of the text; YAML 1.1 scalars as sigs.k8s.io/yaml resolves them. JSON is accepted,
// being YAML.
Result<Value> parse_yaml(std::string_view text, const YamlOptions& options = {});
// Every document of a stream, empty ones left out.
Result<std::vector<Value>> parse_yaml_all(std::string_view text, const YamlOptions& options = {});
// Block style, members sorted by key, as kubectl -o yaml prints.
std::string write_yaml(const Value& value);

}  // namespace kueue::json
