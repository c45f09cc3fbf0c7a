// Validation of a document's values against a Type: the limits of OpenAPI (Constraints), required
// members, list sets and maps, formats, and through a RuleEvaluator the CEL rules. Texts and
// reasons are those of kube-apiserver for custom resources. Pure; thread safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "schema/path.h"
#include "schema/type.h"

namespace kueue::schema {

// One node whose Type has rules.
struct RuleInput {
  const Type& type;  // its `rules` are to be evaluated; not those of types below
  const json::Value& self;
  // The value of the same node before the update: for list items of list maps the item with the
  // same keys. nullptr when there is none (a creation, a new item, a path through an atomic or set
  // list): transition rules, those that mention oldSelf, are then skipped unless optional_old_self.
  const json::Value* old_self = nullptr;
  // self equals old_self: only transition rules are to be evaluated (ratcheting). Never true
  // without old_self.
  bool unchanged = false;
  const Path& path;
};

// Evaluates x-kubernetes-validations. Implemented in cel/. One evaluator serves the validation of
// one object: it carries the cost budget. Called in document order.
class RuleEvaluator {
 public:
  virtual ~RuleEvaluator() = default;
  // Appends a cause for each rule of input.type that is false or fails: reason from the rule
  // (FieldValueInvalid by default), field = path plus the rule's field_path, message as
  // kube-apiserver words it, e.g. `Invalid value: "object": spec is immutable` (schema/errors.h
  // makes these texts).
  virtual void evaluate(const RuleInput& input, std::vector<ErrorCause>& errors) = 0;
};

struct ValidateOptions {
  // The document before an update: gives oldSelf and ratcheting (an error of a value that did not
  // change is tolerated). nullptr for creations.
  const json::Value* old = nullptr;
  // nullptr: rules are not evaluated.
  RuleEvaluator* rules = nullptr;
  // When set, receives failed rules that ratcheting tolerates, as kube-apiserver sends them in
  // warnings: `spec.l[0]: Invalid value: failed rule: self.name != 'bad'`.
  std::vector<std::string>* warnings = nullptr;
  // Causes found before (in metadata): they come first in the result and count for the question
  // whether rules run.
  std::vector<ErrorCause> earlier = {};
  // Validation stops when this many errors were found.
  size_t max_errors = 1000;
};

// Every violation in document order; empty when the document is valid. Rules run only when no error
// of another sort makes them pointless (wrong type, missing, not supported, too long, too many):
// then one more cause says so. Assumes a document that passed check_types (schema/decode_check.h);
// wrong types are reported here too but in CRD wording.
std::vector<ErrorCause> validate(const Type& type, const json::Value& document,
                                 const ValidateOptions& options = {});

}  // namespace kueue::schema
