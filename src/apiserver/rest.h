// The verbs. Each takes a routed call and sees to it that the call is replied to, at once or later.
// Thread safe.
#pragma once

#include "apiserver/call.h"

namespace kueue::apiserver {

void rest_get(const CallPtr& call);
void rest_list(const CallPtr& call);
void rest_watch(const CallPtr& call);
void rest_create(const CallPtr& call);
void rest_update(const CallPtr& call);
void rest_patch(const CallPtr& call);
void rest_delete(const CallPtr& call);
void rest_delete_collection(const CallPtr& call);

// Subresources that are no part of the object itself (binding, eviction, log, token, scale, ...).
// False when there is none of that name.
bool rest_subresource(const CallPtr& call);
// Kinds that are only created: reviews.
void rest_review(const CallPtr& call);

// Shared by reads and watches.
Result<uint64_t> parse_revision(std::string_view text);
// A 422 about resourceVersionMatch.
Error list_options_error(std::string_view reason, std::string message);
Error too_large_revision(uint64_t wanted, uint64_t current);

}  // namespace kueue::apiserver
