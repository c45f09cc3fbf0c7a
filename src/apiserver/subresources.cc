// Subresources with a shape of their own: scale, binding, eviction, token, log, finalize, resize.
#include <algorithm>

#include "apiserver/body.h"
#include "apiserver/core.h"
#include "apiserver/names.h"
#include "apiserver/rest.h"
#include "apiserver/view.h"
#include "apiserver/write.h"
#include "json/json.h"
#include "json/patch.h"
#include "schema/errors.h"
#include "wire/selector.h"
#include "wire/status.h"

namespace kueue::apiserver {

namespace {

std::vector<std::string> steps_of(std::string_view path) {
  std::vector<std::string> steps;
  while (!path.empty()) {
    if (path.front() == '.') path.remove_prefix(1);
    const size_t dot = path.find('.');
    steps.emplace_back(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot);
  }
  return steps;
}

const json::Value* at(const json::Value& object, std::string_view path) {
  const json::Value* value = &object;
  for (const std::string& step : steps_of(path)) {
    value = value->find(step);
    if (value == nullptr) return nullptr;
  }
  return value;
}

bool set_at(json::Value& object, std::string_view path, json::Value value) {
  json::Value* target = &object;
  for (const std::string& step : steps_of(path)) {
    if (!target->is_null() && !target->is_object()) return false;
    target = &(*target)[step];
  }
  *target = std::move(value);
  return true;
}

json::Value scale_of(const Call& call, const json::Value& object) {
  const schema::ScalePaths& paths = *call.served->info->scale;
  json::Value metadata = json::Value::object();
  for (const char* key : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"})
    if (const json::Value* value = object.find_path({"metadata", key})) metadata[key] = *value;
  json::Value spec = json::Value::object();
  if (const json::Value* n = at(object, paths.spec_replicas); n != nullptr && n->int_or(1) != 0)
    spec["replicas"] = *n;
  json::Value status = json::Value::object({{"replicas", 0}});
  if (const json::Value* n = at(object, paths.status_replicas)) status["replicas"] = *n;
  if (!paths.label_selector.empty()) {
    if (const json::Value* selector = at(object, paths.label_selector)) {
      if (selector->is_string()) {
        status["selector"] = *selector;
      } else if (call.resource().collection == "/replicationcontrollers") {
        const auto parsed = wire::LabelSelector::from_object(
            &static_cast<const json::Value&>(json::Value::object({{"matchLabels", *selector}})));
        if (parsed.ok()) status["selector"] = parsed->to_string();
      } else if (const auto parsed = wire::LabelSelector::from_object(selector); parsed.ok()) {
        status["selector"] = parsed->to_string();
      }
    }
  }
  return json::Value::object({{"kind", "Scale"},
                              {"apiVersion", "autoscaling/v1"},
                              {"metadata", std::move(metadata)},
                              {"spec", std::move(spec)},
                              {"status", std::move(status)}});
}

Error scale_error(const Call& call, int64_t replicas) {
  return schema::make_invalid(
      "autoscaling", "Scale", call.path.name,
      {cause_invalid("spec.replicas", replicas, "must be greater than or equal to 0")});
}

Result<json::Value> put_scale(const Call& call, const json::Value& current,
                              const json::Value& scale) {
  const json::Value* replicas = scale.find_path({"spec", "replicas"});
  const int64_t n = replicas == nullptr ? 0 : replicas->int_or(-1);
  if (n < 0) return scale_error(call, n);
  json::Value object = current;
  if (!set_at(object, call.served->info->scale->spec_replicas, n))
    return make_error(ErrorCode::kInternal, "the object has no place for spec.replicas");
  const std::string_view version = scale.get_string({"metadata", "resourceVersion"});
  if (!version.empty()) object["metadata"]["resourceVersion"] = version;
  const std::string_view uid = scale.get_string({"metadata", "uid"});
  if (!uid.empty()) object["metadata"]["uid"] = uid;
  return object;
}

void serve_scale(const CallPtr& call) {
  Core& core = *call->core;
  const std::string& method = call->request.method;
  if (method == "GET") {
    const StoredPtr stored = core.store->get(call->resource().collection,
                                             object_key(call->path.namespace_, call->path.name));
    if (stored == nullptr) return reply_error(*call, call->not_found(call->path.name));
    const auto object = object_value(core, *call->served, *stored);
    if (!object.ok()) return reply_error(*call, object.error());
    return reply_value(*call, scale_of(*call, *object));
  }
  if (method != "PUT" && method != "PATCH")
    return reply_error(*call, make_error(ErrorCode::kMethodNotAllowed,
                                         "the server does not allow this method on the requested "
                                         "resource"));
  if (const auto options = read_write_options(*call); !options.ok())
    return reply_error(*call, options.error());
  const bool json_patch =
      call->request.headers.get("Content-Type").starts_with("application/json-patch+json");
  auto body = read_body(*call);
  if (!body.ok()) return reply_error(*call, body.error());
  auto sent = std::make_shared<json::Value>(std::move(body->value));
  Update update;
  update.subresource = "scale";
  update.change = [call, sent, method,
                   json_patch](const json::Value& current) -> Result<json::Value> {
    if (method == "PUT") return put_scale(*call, current, *sent);
    json::Value scale = scale_of(*call, current);
    if (json_patch) {
      KUEUE_ASSIGN(scale, json::apply_json_patch(scale, *sent));
    } else {
      scale = json::apply_merge_patch(std::move(scale), *sent);
    }
    return put_scale(*call, current, scale);
  };
  update.finish = [](Call& c, const json::Value& object, bool) {
    reply_value(c, scale_of(c, object));
  };
  run_write(call, "UPDATE", [call, update = std::move(update)]() mutable {
    update_object(call, std::move(update));
  });
}

void answer_success(Call& call, const json::Value&, bool) {
  json::Value status = json::Value::object({{"kind", "Status"},
                                            {"apiVersion", "v1"},
                                            {"metadata", json::Value::object()},
                                            {"status", "Success"},
                                            {"code", 201}});
  reply_value(call, status, 201);
}

void serve_binding(const CallPtr& call) {
  if (const auto options = read_write_options(*call); !options.ok())
    return reply_error(*call, options.error());
  auto body = read_body(*call);
  if (!body.ok()) return reply_error(*call, body.error());
  const std::string node(body->value.get_string({"target", "name"}));
  const std::string uid(body->value.get_string({"metadata", "uid"}));
  if (node.empty())
    return reply_error(
        *call, make_error(ErrorCode::kInvalid, "Binding \"" + call->path.name +
                                                   "\" is invalid: target.name: Required value"));
  json::Value extra;
  for (const char* key : {"annotations", "labels"})
    if (const json::Value* v = body->value.find_path({"metadata", key})) extra[key] = *v;
  Update update;
  update.subresource = "binding";
  update.change = [call, node, uid, extra](const json::Value& current) -> Result<json::Value> {
    json::Value pod = current;
    const auto conflict = [&](const std::string& why) {
      Error error =
          call->error(ErrorCode::kConflict, "Operation cannot be fulfilled on pods/binding \"" +
                                                call->path.name + "\": " + why);
      error.kind = "pods/binding";
      return error;
    };
    if (!uid.empty() && uid != pod.get_string({"metadata", "uid"}))
      return conflict("Precondition failed: UID in precondition: " + uid +
                      ", UID in object meta: " + std::string(pod.get_string({"metadata", "uid"})));
    if (pod.find_path({"metadata", "deletionTimestamp"}) != nullptr)
      return conflict("pod " + call->path.name + " is being deleted, cannot be assigned to a host");
    const std::string_view bound = pod.get_string({"spec", "nodeName"});
    if (!bound.empty())
      return conflict("pod " + call->path.name + " is already assigned to node \"" +
                      std::string(bound) + "\"");
    const json::Value* gates = pod.find_path({"spec", "schedulingGates"});
    if (gates != nullptr && gates->is_array() && !gates->as_array().empty())
      return conflict("pod " + call->path.name + " has non-empty .spec.schedulingGates");
    pod["spec"]["nodeName"] = node;
    if (const json::Value* annotations = extra.find("annotations");
        annotations && annotations->is_object())
      for (const auto& [key, value] : annotations->as_object())
        pod["metadata"]["annotations"][key] = value;
    const std::string now = format_time(call->core->now());
    json::Value& conditions = pod["status"]["conditions"];
    if (!conditions.is_array()) conditions = json::Value::array();
    std::erase_if(conditions.as_array(),
                  [](const json::Value& c) { return c.get_string({"type"}) == "PodScheduled"; });
    conditions.as_array().push_back(json::Value::object(
        {{"type", "PodScheduled"}, {"status", "True"}, {"lastTransitionTime", now}}));
    return pod;
  };
  update.finish = answer_success;
  run_write(call, "CREATE", [call, update = std::move(update)]() mutable {
    update_object(call, std::move(update));
  });
}

// The condition by which others tell an evicted pod from a deleted one.
void mark_disrupted(const Call& call) {
  Core& core = *call.core;
  edit_internally(core, "/pods", object_key(call.path.namespace_, call.path.name),
                  [&](json::Value& pod) {
                    const std::string_view phase = pod.get_string({"status", "phase"});
                    if (phase == "Succeeded" || phase == "Failed" ||
                        pod.get_string({"spec", "nodeName"}).empty())
                      return false;
                    json::Value& conditions = pod["status"]["conditions"];
                    if (!conditions.is_array()) conditions = json::Value::array();
                    std::erase_if(conditions.as_array(), [](const json::Value& c) {
                      return c.get_string({"type"}) == "DisruptionTarget";
                    });
                    conditions.as_array().push_back(
                        json::Value::object({{"type", "DisruptionTarget"},
                                             {"status", "True"},
                                             {"lastTransitionTime", format_time(core.now())},
                                             {"reason", "EvictionByEvictionAPI"},
                                             {"message", "Eviction API: evicting"}}));
                    return true;
                  });
}

// An eviction is a deletion; budgets that would be violated are the business of a controller that
// is not here.
void serve_eviction(const CallPtr& call) {
  if (const auto options = read_write_options(*call); !options.ok())
    return reply_error(*call, options.error());
  auto body = read_body(*call);
  if (!body.ok()) return reply_error(*call, body.error());
  json::Value options = json::Value::object();
  if (const json::Value* given = body->value.find("deleteOptions"); given && given->is_object())
    options = *given;
  auto eviction = std::make_shared<Call>();
  eviction->core = call->core;
  eviction->request = call->request;
  eviction->request.method = "DELETE";
  eviction->request.body = json::write(options);
  eviction->request.headers.set("Content-Type", "application/json");
  eviction->catalog = call->catalog;
  eviction->path = call->path;
  eviction->path.subresource.clear();
  eviction->served = call->served;
  struct Sink : wire::ResponseSink {
    explicit Sink(CallPtr c) : call(std::move(c)) {}
    void respond(wire::Response response) override {
      if (response.status >= 400) return reply(*call, std::move(response));
      answer_success(*call, json::Value(), true);
    }
    void begin_stream(wire::Response) override {}
    bool write(std::string) override { return false; }
    void end_stream() override {}
    void on_close(std::function<void()>) override {}
    CallPtr call;
  };
  eviction->sink = std::make_shared<Sink>(call);
  if (!call->dry_run) mark_disrupted(*call);
  rest_delete(eviction);
}

void serve_token(const CallPtr& call) {
  Core& core = *call->core;
  auto body = read_body(*call);
  if (!body.ok()) return reply_error(*call, body.error());
  const StoredPtr stored =
      core.store->get("/serviceaccounts", object_key(call->path.namespace_, call->path.name));
  if (stored == nullptr) return reply_error(*call, call->not_found(call->path.name));
  const auto account = json::parse(stored->bytes);
  const int64_t seconds = body->value.get_int({"spec", "expirationSeconds"}, 3600);
  if (seconds < 600)
    return reply_error(*call, make_error(ErrorCode::kInvalid,
                                         "TokenRequest.authentication.k8s.io \"\" is invalid: "
                                         "spec.expirationSeconds: Invalid value: " +
                                             std::to_string(seconds) +
                                             ": may not specify a duration less than 10 minutes"));
  const Instant expires = core.now() + Duration::seconds(seconds);
  json::Value answer = std::move(body->value);
  if (!answer.is_object()) answer = json::Value::object();
  for (const char* part : {"metadata", "spec", "status"})
    if (!answer[part].is_object()) answer[part] = json::Value::object();
  answer["kind"] = "TokenRequest";
  answer["apiVersion"] = "authentication.k8s.io/v1";
  answer["metadata"]["name"] = call->path.name;
  answer["metadata"]["namespace"] = call->path.namespace_;
  answer["metadata"]["creationTimestamp"] = format_time(core.now());
  answer["spec"]["expirationSeconds"] = seconds;
  if (answer.find_path({"spec", "audiences"}) == nullptr)
    answer["spec"]["audiences"] = json::Value::array({"https://kubernetes.default.svc"});
  answer["status"]["token"] =
      core.issue_token(call->path.namespace_, call->path.name,
                       account.ok() ? account->get_string({"metadata", "uid"}) : "", expires);
  answer["status"]["expirationTimestamp"] = format_time(expires);
  reply_value(*call, answer, 201);
}

void serve_log(const CallPtr& call) {
  const StoredPtr stored =
      call->core->store->get("/pods", object_key(call->path.namespace_, call->path.name));
  if (stored == nullptr) return reply_error(*call, call->not_found(call->path.name));
  wire::Response response;
  response.headers.set("Content-Type", "text/plain");
  response.body =
      "No containers run here: the pods of this server are stand-ins, they have no output.\n";
  reply(*call, std::move(response));
}

}  // namespace

bool rest_subresource(const CallPtr& call) {
  const std::string& name = call->path.subresource;
  const std::string& method = call->request.method;
  const std::string& collection = call->resource().collection;
  const bool pods = collection == "/pods";
  if (name == "scale" && call->served->info->scale) return serve_scale(call), true;
  if (pods && name == "binding" && method == "POST") return serve_binding(call), true;
  if (pods && name == "eviction" && method == "POST") return serve_eviction(call), true;
  if (collection == "/serviceaccounts" && name == "token" && method == "POST")
    return serve_token(call), true;
  if (pods && name == "log" && method == "GET") return serve_log(call), true;
  if (pods && (name == "exec" || name == "attach" || name == "portforward" || name == "proxy")) {
    reply_error(*call, make_error(ErrorCode::kBadRequest,
                                  "pods/" + name +
                                      " is not served: no containers run here, the pods of this "
                                      "server are stand-ins"));
    return true;
  }
  const bool own_shape =
      (collection == "/namespaces" && name == "finalize") ||
      (pods && (name == "ephemeralcontainers" || name == "resize")) ||
      (name == "approval" && collection == "certificates.k8s.io/certificatesigningrequests");
  if (!own_shape) return false;
  if (method == "GET") return rest_get(call), true;
  if (method == "PUT") return rest_update(call), true;
  if (method == "PATCH") return rest_patch(call), true;
  return false;
}

}  // namespace kueue::apiserver
