// Filter: which objects of a collection a list or watch is about: namespace, name, label and field
// selectors. Works on the stored text. Immutable after parse; thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/call.h"
#include "base/result.h"
#include "wire/selector.h"

namespace kueue::apiserver {

class Filter {
 public:
  // From labelSelector, fieldSelector and the path of the call. kBadRequest with Kubernetes' texts.
  static Result<Filter> parse(const Call& call);

  // Prefix of the keys ("ns/"); the whole key when one object is named.
  const std::string& prefix() const { return prefix_; }
  // True when only the object with key prefix() can match.
  bool single() const { return single_; }
  bool matches_all() const { return !single_ && labels_.empty() && !nothing_ && fields_.empty(); }
  // `key` has the prefix and the text matches the selectors.
  bool matches(std::string_view key, std::string_view bytes) const;

 private:
  std::string prefix_;
  bool single_ = false;
  bool nothing_ = false;
  wire::LabelSelector labels_;
  wire::FieldSelector fields_;
};

// The value a field selector sees: custom for a few built-in fields, otherwise the scalar at the
// path. "" when absent.
std::string field_value(std::string_view collection, std::string_view bytes, std::string_view path);
// The field labels of a resource beyond metadata.name and metadata.namespace.
std::vector<std::string> selectable_fields(const Served& served);

}  // namespace kueue::apiserver
