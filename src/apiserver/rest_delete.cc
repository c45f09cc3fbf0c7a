// delete and deletecollection.
#include <atomic>

#include "apiserver/admission.h"
#include "apiserver/body.h"
#include "apiserver/core.h"
#include "apiserver/crds.h"
#include "apiserver/filter.h"
#include "apiserver/json_scan.h"
#include "apiserver/rest.h"
#include "apiserver/traits.h"
#include "apiserver/view.h"
#include "apiserver/write.h"
#include "json/json.h"
#include "wire/status.h"

namespace kueue::apiserver {

namespace {

constexpr int kConflictTries = 20;
constexpr int64_t kDefaultGraceSeconds = 30;

struct DeleteOptions {
  std::string propagation;
  std::optional<int64_t> grace_seconds;
  std::string uid;
  std::string resource_version;
  json::Value document;  // as sent, for admission
};

Result<DeleteOptions> read_delete_options(Call& call) {
  DeleteOptions options;
  if (!call.request.body.empty()) {
    KUEUE_ASSIGN(const Body body, read_body(call));
    const json::Value& value = body.value;
    if (!value.is_null() && !value.is_object())
      return make_error(ErrorCode::kBadRequest, "DeleteOptions is not a JSON object");
    options.document = value;
    options.propagation = value.get_string({"propagationPolicy"});
    if (const json::Value* grace = value.find("gracePeriodSeconds"); grace && grace->is_int())
      options.grace_seconds = grace->as_int();
    if (const json::Value* orphan = value.find("orphanDependents"); orphan && orphan->is_bool())
      options.propagation = orphan->as_bool() ? "Orphan" : "Background";
    options.uid = value.get_string({"preconditions", "uid"});
    options.resource_version = value.get_string({"preconditions", "resourceVersion"});
    if (const json::Value* dry = value.find("dryRun"); dry != nullptr && dry->is_array()) {
      for (const json::Value& word : dry->as_array())
        if (word.string_or("") == "All") call.dry_run = true;
    }
  }
  if (const auto text = call.request.query_value("propagationPolicy"); !text.empty())
    options.propagation = text;
  if (const auto text = call.request.query_value("gracePeriodSeconds"); !text.empty())
    options.grace_seconds = std::strtoll(std::string(text).c_str(), nullptr, 10);
  const std::string& p = options.propagation;
  if (!p.empty() && p != "Foreground" && p != "Background" && p != "Orphan") {
    std::string text = "Unsupported value: \"" + p +
                       "\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"";
    Error error =
        make_error(ErrorCode::kInvalid,
                   "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: " + text);
    error.group = "meta.k8s.io";
    error.kind = "DeleteOptions";
    error.causes.push_back({.reason = "FieldValueNotSupported",
                            .message = std::move(text),
                            .field = "propagationPolicy"});
    return error;
  }
  // A negative period counts as the shortest, as in Kubernetes.
  if (options.grace_seconds && *options.grace_seconds < 0) options.grace_seconds = 1;
  if (options.document.is_null())
    options.document =
        json::Value::object({{"kind", "DeleteOptions"}, {"apiVersion", "meta.k8s.io/v1"}});
  return options;
}

// What a delete did, and what its answer shows.
struct Deleted {
  StoredPtr stored;  // the state after it; null for a dry run that would remove
  bool gone = false;
  std::string uid;
};

void set_finalizer(json::Value& object, std::string_view name, bool wanted) {
  json::Value& finalizers = object["metadata"]["finalizers"];
  if (!finalizers.is_array()) finalizers = json::Value::array();
  json::Array& list = finalizers.as_array();
  std::erase_if(list, [&](const json::Value& f) { return f.string_or("") == name; });
  if (wanted) list.emplace_back(name);
  if (list.empty()) object.erase_path({"metadata", "finalizers"});
}

bool has_finalizers(const json::Value& object) {
  const json::Value* f = object.find_path({"metadata", "finalizers"});
  return f != nullptr && f->is_array() && !f->as_array().empty();
}

// Grace period of a pod's deletion; 0 for other kinds, and for pods that run nowhere.
int64_t grace_of(const Call& call, const json::Value& object, const DeleteOptions& options) {
  if (call.resource().collection != "/pods") return 0;
  const std::string_view phase = object.get_string({"status", "phase"});
  if (object.get_string({"spec", "nodeName"}).empty() || phase == "Succeeded" || phase == "Failed")
    return 0;
  if (options.grace_seconds) return *options.grace_seconds;
  return object.get_int({"spec", "terminationGracePeriodSeconds"}, kDefaultGraceSeconds);
}

// Puts the marks of a deletion on the object. Returns whether anything changed.
bool mark(const Call& call, json::Value& object, const DeleteOptions& options) {
  const json::Value before = object;
  const Core& core = *call.core;
  set_finalizer(object, "foregroundDeletion", false);
  set_finalizer(object, "orphan", false);
  if (options.propagation == "Foreground") set_finalizer(object, "foregroundDeletion", true);
  if (options.propagation == "Orphan") set_finalizer(object, "orphan", true);
  if (options.propagation.empty() && object.find_path({"metadata", "deletionTimestamp"})) {
    // Deleting again without saying how keeps what was said before.
    for (const char* name : {"foregroundDeletion", "orphan"}) {
      const json::Value* list = before.find_path({"metadata", "finalizers"});
      if (list == nullptr || !list->is_array()) continue;
      for (const json::Value& f : list->as_array())
        if (f.string_or("") == name) set_finalizer(object, name, true);
    }
  }
  if (call.resource().collection == Crds::kCollection &&
      object.find_path({"metadata", "deletionTimestamp"}) == nullptr) {
    set_finalizer(object, Crds::kFinalizer, true);
    json::Value& conditions = object["status"]["conditions"];
    if (!conditions.is_array()) conditions = json::Value::array();
    conditions.as_array().push_back(json::Value::object(
        {{"type", "Terminating"},
         {"status", "True"},
         {"reason", "InstanceDeletionPending"},
         {"message",
          "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"},
         {"lastTransitionTime", format_time(core.now())}}));
  }
  const bool namespace_object = call.resource().collection == "/namespaces";
  const json::Value* spec_finalizers = object.find_path({"spec", "finalizers"});
  const bool content = namespace_object && spec_finalizers != nullptr &&
                       spec_finalizers->is_array() && !spec_finalizers->as_array().empty();
  const int64_t grace = grace_of(call, object, options);
  json::Value& metadata = object["metadata"];
  const json::Value* since = metadata.find("deletionTimestamp");
  if (since == nullptr || since->is_null()) {
    if (!has_finalizers(object) && grace == 0 && !content) return false;
    metadata["deletionTimestamp"] = format_time(core.now() + Duration::seconds(grace));
    if (!namespace_object) metadata["deletionGracePeriodSeconds"] = grace;
    if (call.resource().traits->generation)
      metadata["generation"] = metadata.get_int({"generation"}) + 1;
  } else if (grace < metadata.get_int({"deletionGracePeriodSeconds"})) {
    metadata["deletionGracePeriodSeconds"] = grace;
    metadata["deletionTimestamp"] = format_time(core.now() + Duration::seconds(grace));
  }
  if (content) object["status"]["phase"] = "Terminating";
  return !(object == before);
}

bool removable(const Call& call, const json::Value& object) {
  if (has_finalizers(object)) return false;
  if (call.resource().collection == "/namespaces") {
    const json::Value* f = object.find_path({"spec", "finalizers"});
    if (f != nullptr && f->is_array() && !f->as_array().empty()) return false;
  }
  return object.get_int({"metadata", "deletionGracePeriodSeconds"}) == 0;
}

// "Job.batch", which the words of this refusal have where others have "jobs.batch".
std::string qualified_kind(const Call& call) {
  const schema::ResourceInfo& info = *call.served->info;
  std::string text(info.kind);
  if (!info.group.empty()) text.append(".").append(info.group);
  return text;
}

Result<void> check_preconditions(const Call& call, const DeleteOptions& options,
                                 std::string_view uid, std::string_view version,
                                 std::string_view name) {
  const std::string start = "Operation cannot be fulfilled on " + qualified_kind(call) + " \"" +
                            std::string(name) + "\": ";
  const auto conflict = [&](const std::string& why) {
    Error error = call.error(ErrorCode::kConflict, start + why);
    error.kind = call.served->info->kind;
    return error;
  };
  if (!options.uid.empty() && options.uid != uid)
    return conflict("the UID in the precondition (" + options.uid +
                    ") does not match the UID in record (" + std::string(uid) +
                    "). The object might have been deleted and then recreated");
  if (!options.resource_version.empty() && options.resource_version != version)
    return conflict("the ResourceVersion in the precondition (" + options.resource_version +
                    ") does not match the ResourceVersion in record (" + std::string(version) +
                    "). The object might have been modified");
  return {};
}

Error forbidden_namespace(const Call& call, std::string_view name) {
  Error error = call.error(ErrorCode::kForbidden, "namespaces \"" + std::string(name) +
                                                      "\" is forbidden: this namespace may not be "
                                                      "deleted");
  error.name = name;
  return error;
}

// Deletes one object. `done` runs when it is durable.
Result<Deleted> delete_one(Call& call, const std::string& key, const DeleteOptions& options,
                           const Store::Done& done) {
  Core& core = *call.core;
  const std::string& collection = call.resource().collection;
  for (int i = 0; i < kConflictTries; ++i) {
    const StoredPtr stored = core.store->get(collection, key);
    const size_t slash = key.find('/');
    const std::string name = slash == std::string::npos ? key : key.substr(slash + 1);
    if (stored == nullptr) return call.not_found(name);
    KUEUE_ASSIGN(json::Value object, json::parse(stored->bytes));
    Deleted deleted;
    deleted.uid = object.get_string({"metadata", "uid"});
    KUEUE_TRY(
        check_preconditions(call, options, deleted.uid, std::to_string(stored->revision), name));
    if (collection == "/namespaces" &&
        (name == "default" || name == "kube-system" || name == "kube-public"))
      return forbidden_namespace(call, name);
    KUEUE_ASSIGN(const json::Value old, convert(core, object, *call.served));
    KUEUE_TRY(core.admission->mutate(
        call, {.operation = "DELETE", .old = &old, .options = &options.document}));
    KUEUE_TRY(core.admission->validate(
        call, {.operation = "DELETE", .old = &old, .options = &options.document}));
    const bool changed = mark(call, object, options);
    deleted.gone = removable(call, object);
    if (call.dry_run) {
      deleted.stored = stored;
      core.store->flush(
          [done, stored](const Result<void>& r, const StoredPtr&) { done(r, stored); });
      return deleted;
    }
    Result<StoredPtr> put = make_error(ErrorCode::kInternal, "");
    if (deleted.gone) {
      object = ordered(std::move(object));
      const Draft last(object);
      put = core.store->remove(collection, key, stored->revision, done, changed ? &last : nullptr);
    } else if (changed) {
      object = ordered(std::move(object));
      put = core.store->put(collection, key, stored->revision, Draft(object), done);
    } else {
      deleted.stored = stored;
      core.store->flush(
          [done, stored](const Result<void>& r, const StoredPtr&) { done(r, stored); });
      return deleted;
    }
    if (put.ok()) {
      if (collection == Crds::kCollection) core.crds->refresh();
      deleted.stored = *put;
      return deleted;
    }
    if (put.error().code != ErrorCode::kConflict) return put.error();
  }
  return conflict_error(call);
}

// Pods, services and custom resources that wait are answered with the object, what is gone with a
// Status.
void answer_deleted(Call& call, const StoredPtr& stored, bool gone) {
  const bool object_wanted = !gone || call.resource().collection == "/pods" ||
                             call.resource().collection == "/services" ||
                             call.resource().collection == "/serviceaccounts" ||
                             call.resource().collection == "/persistentvolumeclaims" ||
                             call.resource().collection == "/persistentvolumes" ||
                             call.resource().collection == "/resourcequotas" ||
                             call.resource().collection == "/podtemplates";
  if (object_wanted) {
    auto value = object_value(*call.core, *call.served, *stored);
    if (!value.ok()) return reply_error(call, value.error());
    return reply_object(call, *value, false, {});
  }
  const auto& info = *call.served->info;
  reply_value(call, wire::success_status(info.group, info.plural,
                                         scan_string(stored->bytes, {"metadata", "name"}),
                                         scan_string(stored->bytes, {"metadata", "uid"})));
}

void delete_now(const CallPtr& call, const DeleteOptions& options) {
  // The answer may be sent from the store's thread before delete_one() returns here.
  struct Answer {
    std::mutex mutex;
    bool have_outcome = false;
    bool gone = false;
    bool durable = false;
    StoredPtr stored;
  };
  auto answer = std::make_shared<Answer>();
  const auto done = [call, answer](const Result<void>& result, const StoredPtr& stored) {
    if (!result.ok()) return reply_error(*call, result.error());
    std::unique_lock lock(answer->mutex);
    answer->stored = stored;
    answer->durable = true;
    if (!answer->have_outcome) return;
    lock.unlock();
    answer_deleted(*call, stored, answer->gone);
  };
  const auto deleted =
      delete_one(*call, object_key(call->path.namespace_, call->path.name), options, done);
  if (!deleted.ok()) return reply_error(*call, deleted.error());
  std::unique_lock lock(answer->mutex);
  answer->have_outcome = true;
  answer->gone = deleted->gone;
  if (!answer->durable) return;
  lock.unlock();
  answer_deleted(*call, answer->stored, answer->gone);
}

void delete_collection_now(const CallPtr& call, const Filter& filter,
                           const DeleteOptions& options) {
  Core& core = *call->core;
  const Store::Page page = core.store->snapshot(call->resource().collection, filter.prefix());
  std::string items;
  for (const auto& [key, stored] : page.items) {
    if (!filter.matches(key, stored->bytes)) continue;
    const auto deleted =
        delete_one(*call, key, options, [](const Result<void>&, const StoredPtr&) {});
    if (!deleted.ok()) {
      if (deleted.error().code == ErrorCode::kNotFound) continue;
      return reply_error(*call, deleted.error());
    }
    auto text = object_text(core, *call->served, *deleted->stored);
    if (!text.ok()) return reply_error(*call, text.error());
    items += (items.empty() ? "" : ",") + *text;
  }
  std::string body = "{\"kind\":\"" + list_kind(*call->served) + "\",\"apiVersion\":\"" +
                     call->served->api_version + "\",\"metadata\":{\"resourceVersion\":\"" +
                     std::to_string(core.store->revision()) + "\"},\"items\":[" + items + "]}";
  core.store->flush([call, body = std::move(body)](const Result<void>& result, const StoredPtr&) {
    if (!result.ok()) return reply_error(*call, result.error());
    reply_bytes(*call, body);
  });
}

}  // namespace

void rest_delete(const CallPtr& call) {
  if (const auto read = read_write_options(*call); !read.ok())
    return reply_error(*call, read.error());
  auto options = read_delete_options(*call);
  if (!options.ok()) return reply_error(*call, options.error());
  // Jobs of batch/v1 let their pods go unless told otherwise.
  if (call->resource().collection == "batch/jobs" && options->propagation.empty()) {
    options->propagation = "Orphan";
    call->warn(
        "child pods are preserved by default when jobs are deleted; set "
        "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress "
        "this warning");
  }
  run_write(call, "DELETE",
            [call, options = std::move(options).value()] { delete_now(call, options); });
}

void rest_delete_collection(const CallPtr& call) {
  if (const auto read = read_write_options(*call); !read.ok())
    return reply_error(*call, read.error());
  auto options = read_delete_options(*call);
  if (!options.ok()) return reply_error(*call, options.error());
  auto filter = Filter::parse(*call);
  if (!filter.ok()) return reply_error(*call, filter.error());
  run_write(call, "DELETE",
            [call, options = std::move(options).value(), filter = std::move(filter).value()] {
              delete_collection_now(call, filter, options);
            });
}

}  // namespace kueue::apiserver
