// The evaluator of CEL rules that validation uses; the seam to cel/.
#pragma once

#include <memory>

#include "schema/validate.h"

namespace kueue::apiserver {

// For one object. Null when rules are not evaluated.
std::unique_ptr<schema::RuleEvaluator> make_rule_evaluator();

}  // namespace kueue::apiserver
