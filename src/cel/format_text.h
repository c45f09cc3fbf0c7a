// The format() function of CEL's strings extension: %s %d %f %e %b %x %X %o %%.
#pragma once

#include <string_view>

#include "cel/functions.h"

namespace kueue::cel {

// The text with each clause replaced by its argument; an error value for a clause without argument,
// of an unknown kind or an unfit argument.
Value format_text(Context& context, std::string_view pattern, const Value& arguments);

}  // namespace kueue::cel
