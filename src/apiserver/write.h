// The common path of writes: take in, admit, validate, store, answer. Every function sees to the
// reply of the call, at once or when the write is durable. Thread safe; a call belongs to one
// thread at a time.
#pragma once

#include <functional>
#include <string>

#include "apiserver/call.h"
#include "apiserver/store.h"
#include "base/result.h"
#include "json/value.h"

namespace kueue::apiserver {

// Answers with the stored object in another shape than the object itself (Scale, Status, ...).
using Finish = std::function<void(Call& call, const json::Value& object, bool created)>;

// Runs `task` here, or on a worker when webhooks may be called for this call.
void run_write(const CallPtr& call, std::string_view operation, std::function<void()> task);

// Stores a new object of the call's resource. `object` is taken in (body.h). The name comes from
// metadata.
void create_object(const CallPtr& call, json::Value object, Finish finish = {});

struct Update {
  // "" = the object itself; "status"; other names are told to admission and treated like the object
  // itself.
  std::string subresource;
  // The object as it should be, from what it is; both in the version of the call. May be called
  // several times.
  std::function<Result<json::Value>(const json::Value& current)> change;
  // A conflict that the client did not ask for (no resourceVersion given) is tried again with the
  // new state.
  bool retry = true;
  // The result of change() has not been taken in yet.
  std::vector<std::string> duplicates = {};
  // Makes the object when there is none. Null: 404.
  std::function<Result<json::Value>()> create = {};
  // True when managedFields of the result are final (apply).
  bool applied = false;
  Finish finish = {};
};
void update_object(const CallPtr& call, Update update);

// Replies with `object` (in the call's version), or through `finish`.
void reply_object(Call& call, const json::Value& object, bool created, const Finish& finish);

// The conflict error of Kubernetes for this call.
Error conflict_error(const Call& call);

// Changes made by the server itself: no admission, no validation. `edit` returns false to leave the
// object alone. Retries conflicts; ends when the object is gone. Removes the object when its last
// finalizer goes while it is being deleted.
void edit_internally(Core& core, std::string_view collection, std::string_view key,
                     const std::function<bool(json::Value& object)>& edit);
// Stores an object of the server's own making; kAlreadyExists when there is one.
Result<void> create_internally(Core& core, std::string_view group, std::string_view version,
                               std::string_view plural, json::Value object);

}  // namespace kueue::apiserver
