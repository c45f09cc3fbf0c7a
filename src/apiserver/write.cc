#include "apiserver/write.h"

#include "apiserver/admission.h"
#include "apiserver/body.h"
#include "apiserver/core.h"
#include "apiserver/crds.h"
#include "apiserver/json_scan.h"
#include "apiserver/managed.h"
#include "apiserver/names.h"
#include "apiserver/namespaces.h"
#include "apiserver/traits.h"
#include "apiserver/validation.h"
#include "apiserver/view.h"
#include "json/json.h"
#include "schema/errors.h"
#include "schema/managed_fields.h"

namespace kueue::apiserver {

namespace {

constexpr int kNameTries = 8;
constexpr int kConflictTries = 20;

const Traits& traits(const Call& call) { return *call.resource().traits; }

Error invalid(const Call& call, const json::Value& object, Causes causes) {
  const auto& info = *call.served->info;
  return schema::make_invalid(info.group, info.kind, object.get_string({"metadata", "name"}),
                              std::move(causes));
}

// Kinds whose definition changes how the server itself works.
void after_write(Core& core, std::string_view collection) {
  if (collection == Crds::kCollection) core.crds->refresh();
}

Result<Draft> make_draft(Core& core, const Call& call, json::Value object) {
  KUEUE_ASSIGN(json::Value stored, convert(core, std::move(object), call.resource().stored()));
  stored = ordered(std::move(stored));
  Draft draft(stored);
  // etcd's limit of a request; generous against growth by defaults.
  if (draft.size() > kMaxBody)
    return make_error(ErrorCode::kTooLarge, "Request entity too large: limit is 3145728");
  return draft;
}

// The callback that answers when the write is durable.
Store::Done answer(const CallPtr& call, bool created, Finish finish) {
  return [call, created, finish = std::move(finish)](const Result<void>& result,
                                                     const StoredPtr& stored) {
    if (!result.ok()) return reply_error(*call, result.error());
    const auto send = [call, created, finish, stored] {
      if (finish || call->output.form != Output::Form::kObject) {
        auto value = object_value(*call->core, *call->served, *stored);
        if (!value.ok()) return reply_error(*call, value.error());
        return reply_object(*call, *value, created, finish);
      }
      auto text = object_text(*call->core, *call->served, *stored);
      if (!text.ok()) return reply_error(*call, text.error());
      reply_bytes(*call, std::move(text).value(), created ? 201 : 200);
    };
    if (conversion_blocks(*call->core, call->resource()))
      call->core->workers.run(send);
    else
      send();
  };
}

void set_system_metadata(const Call& call, json::Value& object) {
  json::Value& metadata = object["metadata"];
  for (const char* field : {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
                            "resourceVersion", "generation"})
    metadata.as_object().erase(field);
  metadata["uid"] = call.core->new_uid();
  metadata["creationTimestamp"] = format_time(call.core->now());
  if (traits(call).generation) metadata["generation"] = 1;
}

Result<void> prepare_new(Call& call, json::Value& object) {
  set_system_metadata(call, object);
  const schema::ResourceInfo& info = *call.served->info;
  if (info.has_status && call.resource().custom())
    object.as_object().erase("status");
  else if (info.has_status && call.resource().collection != "/nodes")
    object["status"] = json::Value::object();
  if (traits(call).prepare_create != nullptr) traits(call).prepare_create(call, object);
  Causes causes;
  validate_metadata(object, call.resource().namespaced, traits(call).name, causes);
  validate_new(call, object, causes);
  if (!causes.empty()) return invalid(call, object, std::move(causes));
  return {};
}

// One try; nullopt when a generated name was taken.
Result<bool> try_create(const CallPtr& call, json::Value object, const Finish& finish) {
  Core& core = *call->core;
  const std::string generate(object.get_string({"metadata", "generateName"}));
  const bool generated = object.get_string({"metadata", "name"}).empty() && !generate.empty();
  if (generated) object["metadata"]["name"] = generate.substr(0, 58) + core.random_suffix(5);
  KUEUE_TRY(prepare_new(*call, object));
  KUEUE_TRY(core.admission->validate(*call, {.operation = "CREATE", .object = &object}));
  if (call->dry_run) {
    const StoredPtr taken = core.store->get(call->resource().collection,
                                            object_key(object.get_string({"metadata", "namespace"}),
                                                       object.get_string({"metadata", "name"})));
    if (taken == nullptr) {
      reply_object(*call, object, true, finish);
      return true;
    }
  }
  const std::string name(object.get_string({"metadata", "name"}));
  const std::string key = object_key(object.get_string({"metadata", "namespace"}), name);
  const auto exists = [&] {
    Error error = call->error(ErrorCode::kAlreadyExists,
                              call->resource().qualified() + " \"" + name + "\" already exists");
    error.name = name;
    return error;
  };
  if (call->dry_run) return exists();
  KUEUE_ASSIGN(const Draft draft, make_draft(core, *call, std::move(object)));
  auto put =
      core.store->put(call->resource().collection, key, 0, draft, answer(call, true, finish));
  if (!put.ok() && put.error().code == ErrorCode::kAlreadyExists)
    return generated ? Result<bool>(false) : Result<bool>(exists());
  if (!put.ok()) return put.error();
  after_write(core, call->resource().collection);
  return true;
}

Result<void> create_checked(const CallPtr& call, json::Value object, const Finish& finish,
                            bool applied) {
  Core& core = *call->core;
  if (call->resource().terminating)
    return call->error(ErrorCode::kMethodNotAllowed,
                       "create not allowed while custom resource definition is terminating");
  KUEUE_TRY(check_kind(*call, object, *call->served));
  json::Value& metadata = object["metadata"];
  if (!metadata.is_object())
    return make_error(ErrorCode::kBadRequest, "metadata is not a JSON object");
  const std::string_view namespace_ = metadata.get_string({"namespace"});
  if (!call->path.namespace_.empty()) {
    if (!namespace_.empty() && namespace_ != call->path.namespace_)
      return make_error(ErrorCode::kBadRequest,
                        "the namespace of the provided object does not match the namespace sent "
                        "on the request");
    metadata["namespace"] = call->path.namespace_;
  }
  if (!call->path.name.empty()) {
    const std::string_view name = metadata.get_string({"name"});
    if (!name.empty() && name != call->path.name)
      return make_error(ErrorCode::kBadRequest, "the name of the object (" + std::string(name) +
                                                    ") does not match the name on the URL (" +
                                                    call->path.name + ")");
    metadata["name"] = call->path.name;
  }
  if (!metadata.get_string({"resourceVersion"}).empty())
    return make_error(ErrorCode::kBadRequest,
                      "resourceVersion should not be set on objects to be created");
  KUEUE_TRY(core.namespaces->admit_create(*call, object.get_string({"metadata", "namespace"}),
                                          object.get_string({"metadata", "name"})));
  // Managers own what they sent, not what admission makes of it.
  if (call->served->info->has_status && call->resource().collection != "/nodes")
    object.as_object().erase("status");
  if (!applied) track_update(*call, "", nullptr, object);
  KUEUE_TRY(core.admission->mutate(*call, {.operation = "CREATE", .object = &object}));
  for (int i = 0; i < kNameTries; ++i) {
    KUEUE_ASSIGN(const bool done, try_create(call, object, finish));
    if (done) return {};
  }
  return call->error(ErrorCode::kAlreadyExists,
                     call->resource().qualified() + ": no free name could be generated, try again");
}

}  // namespace

Error conflict_error(const Call& call) {
  return call.error(ErrorCode::kConflict,
                    "Operation cannot be fulfilled on " + call.resource().qualified() + " \"" +
                        call.path.name +
                        "\": the object has been modified; please apply your changes to the "
                        "latest version and try again");
}

void reply_object(Call& call, const json::Value& object, bool created, const Finish& finish) {
  if (finish) return finish(call, object, created);
  const int status = created ? 201 : 200;
  const std::string text = json::write(object);
  switch (call.output.form) {
    case Output::Form::kTable:
    case Output::Form::kPartial:
      return reply_bytes(call, render_form(call, text), status);
    case Output::Form::kObject:
    case Output::Form::kPartialList:
    case Output::Form::kDiscovery:
      break;
  }
  reply_bytes(call, text, status);
}

void run_write(const CallPtr& call, std::string_view operation, std::function<void()> task) {
  Core& core = *call->core;
  if (conversion_blocks(core, call->resource()) ||
      core.admission->may_call(*call, operation, call->path.subresource))
    core.workers.run(std::move(task));
  else
    task();
}

void create_object(const CallPtr& call, json::Value object, Finish finish) {
  const Result<void> result = create_checked(call, std::move(object), finish, false);
  if (!result.ok()) reply_error(*call, result.error());
}

namespace {

bool spec_changed(const json::Value& object, const json::Value& old, bool custom, bool has_status) {
  const auto differs = [&](const json::Object& a, const json::Value& b) {
    for (const auto& [key, value] : a) {
      if (key == "metadata" || key == "apiVersion" || key == "kind") continue;
      if (key == "status" && (!custom || has_status)) continue;
      const json::Value* other = b.find(key);
      if (other == nullptr || !(*other == value)) return true;
    }
    return false;
  };
  return differs(object.as_object(), old) || differs(old.as_object(), object);
}

// What no client may change: as it was.
void protect_metadata(json::Value& object, const json::Value& old) {
  json::Value& metadata = object["metadata"];
  for (const char* field : {"uid", "creationTimestamp", "deletionTimestamp",
                            "deletionGracePeriodSeconds", "generation", "selfLink"}) {
    if (const json::Value* value = old.find_path({"metadata", field}))
      metadata[field] = *value;
    else
      metadata.as_object().erase(field);
  }
  if (metadata.find("managedFields") == nullptr)
    if (const json::Value* value = old.find_path({"metadata", "managedFields"}))
      metadata["managedFields"] = *value;
}

// Keeps the parts that the addressed subresource does not write.
void isolate(const Call& call, std::string_view subresource, json::Value& object,
             const json::Value& old) {
  const auto keep = [&](std::string_view key) {
    if (const json::Value* value = old.find(key))
      object[key] = *value;
    else
      object.as_object().erase(key);
  };
  const bool custom = call.resource().custom();
  if (subresource == "status") {
    json::Value managed;
    if (const json::Value* m = object.find_path({"metadata", "managedFields"})) managed = *m;
    json::Value status;
    if (const json::Value* s = object.find("status")) status = *s;
    json::Value metadata = object["metadata"];
    json::Value result = old;
    if (!custom) result["metadata"] = std::move(metadata);
    if (!managed.is_null()) result["metadata"]["managedFields"] = std::move(managed);
    if (status.is_null())
      result.as_object().erase("status");
    else
      result["status"] = std::move(status);
    object = std::move(result);
  } else if (call.served->info->has_status && subresource != "finalize" &&
             subresource != "resize" && subresource != "binding") {
    keep("status");
  }
}

Result<void> check_identity(const Call& call, const json::Value& object, const json::Value& old,
                            const Stored& stored, bool& pinned) {
  const std::string_view version = object.get_string({"metadata", "resourceVersion"});
  const bool patch = call.request.method == "PATCH";
  pinned = false;
  if (version.empty() || version == "0") {
    if (!patch && !traits(call).unconditional_update && call.path.subresource.empty())
      return schema::make_invalid(
          call.served->info->group, call.served->info->plural, call.path.name,
          {cause_invalid("metadata.resourceVersion", 0, "must be specified for an update")});
  } else if (version != std::to_string(stored.revision)) {
    return conflict_error(call);
  } else {
    pinned = !patch;
  }
  const std::string_view uid = object.get_string({"metadata", "uid"});
  const std::string_view old_uid = old.get_string({"metadata", "uid"});
  if (!uid.empty() && uid != old_uid && patch)
    return invalid(call, object, {cause_invalid("metadata.uid", uid, "field is immutable")});
  if (!uid.empty() && uid != old_uid)
    return call.error(ErrorCode::kConflict,
                      "Operation cannot be fulfilled on " + call.resource().qualified() + " \"" +
                          call.path.name + "\": Precondition failed: UID in precondition: " +
                          std::string(uid) + ", UID in object meta: " + std::string(old_uid));
  return {};
}

Result<void> check_url(const Call& call, json::Value& object) {
  json::Value& metadata = object["metadata"];
  if (!metadata.is_object())
    return make_error(ErrorCode::kBadRequest, "metadata is not a JSON object");
  const std::string_view name = metadata.get_string({"name"});
  if (name.empty())
    return make_error(ErrorCode::kBadRequest,
                      "the name of the object (" + call.path.name +
                          " based on URL) was undeterminable: name must be provided");
  if (name != call.path.name)
    return make_error(ErrorCode::kBadRequest, "the name of the object (" + std::string(name) +
                                                  ") does not match the name on the URL (" +
                                                  call.path.name + ")");
  const std::string_view namespace_ = metadata.get_string({"namespace"});
  if (call.resource().namespaced && namespace_.empty())
    metadata["namespace"] = call.path.namespace_;
  if (!namespace_.empty() && namespace_ != call.path.namespace_ && call.request.method == "PUT")
    return make_error(ErrorCode::kBadRequest,
                      "the namespace of the provided object does not match the namespace sent on "
                      "the request");
  return {};
}

bool ready_to_go(const json::Value& object) {
  if (object.find_path({"metadata", "deletionTimestamp"}) == nullptr) return false;
  const json::Value* finalizers = object.find_path({"metadata", "finalizers"});
  if (finalizers != nullptr && finalizers->is_array() && !finalizers->as_array().empty())
    return false;
  return object.get_int({"metadata", "deletionGracePeriodSeconds"}) == 0;
}

// take_in(); what is wrong with the result of a patch is told as a fault of the patch.
Result<void> take_patched(Call& call, json::Value& object, const Update& update) {
  const bool patch = call.request.method == "PATCH" && !update.applied;
  if (!patch) return take_in(call, object, *call.served, update.duplicates);
  const std::string text = json::write_sorted(object);
  const auto taken = take_in(call, object, *call.served, update.duplicates);
  if (taken.ok() || taken.error().code != ErrorCode::kBadRequest) return taken;
  std::string why = taken.error().message;
  constexpr std::string_view kStart = " cannot be handled as a ";
  if (const size_t at = why.find(kStart); at != std::string::npos)
    why = why.substr(why.find(": ", at) + 2);
  return schema::make_invalid("", "", "", {cause_invalid("patch", text, why)});
}

enum class Tried : uint8_t { kDone, kAgain };

Result<Tried> try_update(const CallPtr& call, const Update& update) {
  Core& core = *call->core;
  const std::string& collection = call->resource().collection;
  const std::string key = object_key(call->path.namespace_, call->path.name);
  const StoredPtr stored = core.store->get(collection, key);
  if (stored == nullptr) {
    if (!update.create) return call->not_found(call->path.name);
    KUEUE_ASSIGN(json::Value fresh, update.create());
    KUEUE_TRY(check_kind(*call, fresh, *call->served));
    KUEUE_TRY(take_in(*call, fresh, *call->served, update.duplicates));
    KUEUE_TRY(create_checked(call, std::move(fresh), update.finish, update.applied));
    return Tried::kDone;
  }
  KUEUE_ASSIGN(const json::Value old, object_value(core, *call->served, *stored));
  KUEUE_ASSIGN(json::Value object, update.change(old));
  KUEUE_TRY(check_kind(*call, object, *call->served));
  KUEUE_TRY(check_url(*call, object));
  if (const auto taken = take_patched(*call, object, update); !taken.ok()) return taken.error();
  bool pinned = false;
  KUEUE_TRY(check_identity(*call, object, old, *stored, pinned));
  object["metadata"]["resourceVersion"] = std::to_string(stored->revision);
  protect_metadata(object, old);
  if (!update.applied) track_update(*call, update.subresource, &old, object);
  KUEUE_TRY(core.admission->mutate(
      *call,
      {.operation = "UPDATE", .subresource = update.subresource, .object = &object, .old = &old}));
  protect_metadata(object, old);
  isolate(*call, update.subresource, object, old);
  if (update.subresource != "status" && traits(*call).prepare_update != nullptr)
    traits(*call).prepare_update(*call, object, old);
  if (traits(*call).generation && update.subresource != "binding" &&
      spec_changed(object, old, call->resource().custom(), call->served->info->has_status))
    object["metadata"]["generation"] = old.get_int({"metadata", "generation"}) + 1;
  Causes causes;
  validate_metadata_update(object, old, causes);
  validate_changed(*call, update.subresource, object, old, causes);
  if (!causes.empty()) return invalid(*call, object, std::move(causes));
  KUEUE_TRY(core.admission->validate(
      *call,
      {.operation = "UPDATE", .subresource = update.subresource, .object = &object, .old = &old}));
  if (call->dry_run) {
    reply_object(*call, object, false, update.finish);
    return Tried::kDone;
  }
  const bool unchanged = schema::equal_but_for_times(object, old);
  if (unchanged && !ready_to_go(object)) {
    // The state may not be on disk yet; the answer waits until it is.
    core.store->flush([call, stored, done = answer(call, false, update.finish)](
                          const Result<void>& result, const StoredPtr&) { done(result, stored); });
    return Tried::kDone;
  }
  Result<StoredPtr> put = make_error(ErrorCode::kInternal, "");
  if (ready_to_go(object)) {
    put = core.store->remove(collection, key, stored->revision, answer(call, false, update.finish));
  } else {
    KUEUE_ASSIGN(const Draft draft, make_draft(core, *call, std::move(object)));
    put = core.store->put(collection, key, stored->revision, draft,
                          answer(call, false, update.finish));
  }
  if (put.ok()) {
    after_write(core, collection);
    return Tried::kDone;
  }
  if (put.error().code != ErrorCode::kConflict) return put.error();
  if (pinned || !update.retry) return conflict_error(*call);
  return Tried::kAgain;
}

}  // namespace

void update_object(const CallPtr& call, Update update) {
  for (int i = 0; i < kConflictTries; ++i) {
    const Result<Tried> tried = try_update(call, update);
    if (!tried.ok()) return reply_error(*call, tried.error());
    if (*tried == Tried::kDone) return;
  }
  reply_error(*call, conflict_error(*call));
}

void edit_internally(Core& core, std::string_view collection, std::string_view key,
                     const std::function<bool(json::Value& object)>& edit) {
  while (true) {
    const StoredPtr stored = core.store->get(collection, key);
    if (stored == nullptr) return;
    auto object = json::parse(stored->bytes);
    if (!object.ok() || !edit(*object)) return;
    Result<StoredPtr> put = make_error(ErrorCode::kInternal, "");
    if (ready_to_go(*object)) {
      put = core.store->remove(collection, key, stored->revision, {});
    } else {
      *object = ordered(std::move(*object));
      put = core.store->put(collection, key, stored->revision, Draft(*object), {});
    }
    if (put.ok()) after_write(core, collection);
    if (put.ok() || put.error().code != ErrorCode::kConflict) return;
  }
}

Result<void> create_internally(Core& core, std::string_view group, std::string_view version,
                               std::string_view plural, json::Value object) {
  const auto catalog = core.catalog();
  const Served* served = catalog->find(group, version, plural);
  if (served == nullptr)
    return make_error(ErrorCode::kNotFound, "no resource " + std::string(plural));
  object["apiVersion"] = served->api_version;
  object["kind"] = served->info->kind;
  tidy_up(object, *served);
  json::Value& metadata = object["metadata"];
  metadata["uid"] = core.new_uid();
  metadata["creationTimestamp"] = format_time(core.now());
  if (served->resource->traits->generation) metadata["generation"] = 1;
  const std::string key =
      object_key(metadata.get_string({"namespace"}), metadata.get_string({"name"}));
  object = ordered(std::move(object));
  auto put = core.store->put(served->resource->collection, key, 0, Draft(object), {});
  if (!put.ok()) return put.error();
  after_write(core, served->resource->collection);
  return {};
}

}  // namespace kueue::apiserver
