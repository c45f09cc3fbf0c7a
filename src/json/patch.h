// Patches that need no schema: JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386), and the
// difference of two documents as a merge patch. Strategic merge and apply need field tables:
// schema/merge.h, schema/apply.h.
#pragma once

#include "json/value.h"

namespace kueue::json {

// Takes about half a second; ten thousand operations on a list of five thousand stay below.
inline constexpr size_t kMaxMoves = 50'000'000;

// Applies the operations in order to a copy. Errors name the operation's index and path (kInvalid
// for a failed test or a missing path, kBadRequest for a malformed patch). At most 10,000
// operations; kTooLarge when inserting and removing would move more than `max_moves` items and
// members that stand behind (members that are removed in a row move the others once).
Result<Value> apply_json_patch(const Value& document, const Value& patch,
                               size_t max_moves = kMaxMoves);

// null removes a member; nested objects merge; anything else replaces.
Value apply_merge_patch(Value document, const Value& patch);

// The smallest merge patch that turns `from` into `to`; an empty object when they are equal.
Value make_merge_patch(const Value& from, const Value& to);

}  // namespace kueue::json
