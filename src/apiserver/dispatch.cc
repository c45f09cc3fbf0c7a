// Routing: authentication, the paths that are no resources, and from a resource path to its verb.
#include "apiserver/api_services.h"
#include "apiserver/core.h"
#include "apiserver/discovery.h"
#include "apiserver/json_scan.h"
#include "apiserver/openapi_documents.h"
#include "apiserver/rest.h"
#include "apiserver/traits.h"
#include "json/json.h"
#include "wire/status.h"

namespace kueue::apiserver {

namespace {

bool is_true(std::string_view text) { return text == "true" || text == "1"; }

std::string_view verb_of(const Call& call) {
  const std::string& method = call.request.method;
  if (method == "GET" || method == "HEAD") {
    if (is_true(call.request.query_value("watch")) || call.path.watch_prefix) return "watch";
    return call.path.name.empty() ? "list" : "get";
  }
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return call.path.name.empty() ? "deletecollection" : "delete";
  return "";
}

// True when the request may go on; the identity is filled in.
bool authenticate(Call& call) {
  wire::Identity& identity = call.request.identity;
  if (identity.user.empty()) {
    const std::string_view header = call.request.headers.get("Authorization");
    if (!header.empty()) {
      constexpr std::string_view kBearer = "bearer ";
      bool bearer = header.size() > kBearer.size();
      for (size_t i = 0; bearer && i < kBearer.size(); ++i)
        bearer = (header[i] | 0x20) == kBearer[i];
      if (bearer) {
        std::string_view token = header.substr(kBearer.size());
        while (!token.empty() && token.front() == ' ') token.remove_prefix(1);
        identity = call.core->identity_of_token(token);
      }
      if (identity.user.empty()) {
        reply_error(call, make_error(ErrorCode::kUnauthorized, "Unauthorized"));
        return false;
      }
    }
  }
  // Bad credentials are no reason to be somebody else.
  if (identity.refused && identity.user.empty()) {
    reply_error(call, make_error(ErrorCode::kUnauthorized, "Unauthorized"));
    return false;
  }
  if (identity.user.empty()) {
    identity.user = "system:anonymous";
    identity.groups = {"system:unauthenticated"};
    return true;
  }
  for (const std::string& group : identity.groups)
    if (group == "system:authenticated") return true;
  identity.groups.emplace_back("system:authenticated");
  return true;
}

bool open_to_all(std::string_view path) {
  for (std::string_view p : {"/version", "/healthz", "/livez", "/readyz"})
    if (path == p || (path.starts_with(p) && path[p.size()] == '/')) return true;
  return false;
}

Error anonymous_forbidden(const Call& call, bool resource) {
  std::string text;
  if (!resource) {
    std::string verb = call.request.method;
    for (char& c : verb) c = static_cast<char>(c | 0x20);
    text = "forbidden: User \"system:anonymous\" cannot " + verb + " path \"" + call.request.path +
           "\"";
    return make_error(ErrorCode::kForbidden, text);
  }
  const auto& p = call.path;
  text = p.resource + (p.group.empty() ? "" : "." + p.group) +
         (p.name.empty() ? "" : " \"" + p.name + "\"") +
         " is forbidden: User \"system:anonymous\" cannot " + std::string(verb_of(call)) +
         " resource \"" + p.resource + (p.subresource.empty() ? "" : "/" + p.subresource) +
         "\" in API group \"" + p.group + "\"";
  text +=
      p.namespace_.empty() ? " at the cluster scope" : " in the namespace \"" + p.namespace_ + "\"";
  Error error = make_error(ErrorCode::kForbidden, text);
  error.group = p.group;
  error.kind = p.resource;
  error.name = p.name;
  return error;
}

void reply_text(Call& call, std::string text, int status = 200,
                std::string type = "text/plain; charset=utf-8") {
  wire::Response response;
  response.status = status;
  response.headers.set("Content-Type", std::move(type));
  response.headers.set("X-Content-Type-Options", "nosniff");
  response.body = std::move(text);
  reply(call, std::move(response));
}

void health(Call& call, std::string_view path) {
  if (path.find('/', 1) != std::string_view::npos) return reply_text(call, "ok");
  if (!call.request.has_query("verbose")) return reply_text(call, "ok");
  const std::string name(path.substr(1));
  reply_text(call, "[+]ping ok\n[+]log ok\n[+]store ok\n" + name + " check passed\n");
}

void version(Call& call) {
  const std::string& git = call.core->options.git_version;
  const size_t dot = git.find('.');
  const size_t second = git.find('.', dot + 1);
  const std::string minor = git.substr(dot + 1, second - dot - 1);
  std::string less = minor;
  if (!less.empty()) less = std::to_string(std::strtol(minor.c_str(), nullptr, 10) - 1);
  reply_value(call, json::Value::object({{"major", git.substr(1, dot - 1)},
                                         {"minor", minor},
                                         {"emulationMajor", git.substr(1, dot - 1)},
                                         {"emulationMinor", minor},
                                         {"minCompatibilityMajor", git.substr(1, dot - 1)},
                                         {"minCompatibilityMinor", less},
                                         {"gitVersion", git},
                                         {"gitCommit", std::string(40, '0')},
                                         {"gitTreeState", "clean"},
                                         {"buildDate", "1970-01-01T00:00:00Z"},
                                         {"goVersion", "none"},
                                         {"compiler", "clang"},
#if defined(__aarch64__)
                                         {"platform", "linux/arm64"}
#else
                                         {"platform", "linux/amd64"}
#endif
                    }));
}

void metrics(Call& call) {
  Core& core = *call.core;
  std::string text;
  const auto metric = [&](const char* name, const char* type, const char* help, uint64_t value) {
    text.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
    text.append(name).append(" ").append(type).append("\n");
    text.append(name).append(" ").append(std::to_string(value)).append("\n");
  };
  metric("apiserver_requests_total", "counter", "Requests that were handled.",
         core.counters.requests);
  metric("apiserver_watchers", "gauge", "Open watches.", core.hub.subscribers());
  metric("apiserver_revision", "counter", "Revision of the newest write.", core.store->revision());
  text +=
      "# HELP apiserver_storage_objects Number of stored objects, by resource.\n"
      "# TYPE apiserver_storage_objects gauge\n";
  for (const auto& resource : core.catalog()->resources())
    text += "apiserver_storage_objects{resource=\"" + resource->qualified() + "\"} " +
            std::to_string(core.store->count(resource->collection)) + "\n";
  reply_text(call, std::move(text), 200, "text/plain; version=0.0.4; charset=utf-8");
}

// An empty document of the old format: kubectl asks for it where it does not find a kind in v3, and
// fails without it.
void openapi_v2(Call& call) {
  const std::string_view accept = call.request.headers.get("Accept");
  if (accept.find("protobuf") == std::string_view::npos)
    return reply_value(
        call, json::Value::object(
                  {{"swagger", "2.0"},
                   {"info", json::Value::object({{"title", "Kubernetes"}, {"version", "v1.36"}})},
                   {"paths", json::Value::object()},
                   {"definitions", json::Value::object()}}));
  // swagger = 1, info = 2 {title = 1, version = 2}, paths = 8, definitions = 9.
  std::string body =
      "\x0a\x03"
      "2.0"
      "\x12\x13\x0a\x0a"
      "Kubernetes"
      "\x12\x05"
      "v1.36";
  body += std::string("\x42\x00\x4a\x00", 4);
  wire::Response response;
  response.headers.set("Content-Type",
                       "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
  response.body = std::move(body);
  reply(call, std::move(response));
}

void unknown(Call& call) {
  // As in Kubernetes: a group without a version of that name, or of custom resources, is no path at
  // all.
  const auto* group = call.catalog->group(call.path.group);
  if (group == nullptr || group->versions.front().resources.front()->resource->custom())
    return reply_text(call, "404 page not found\n", 404);
  reply_error(call,
              make_error(ErrorCode::kNotFound, "the server could not find the requested resource"));
}

void not_allowed(Call& call) {
  reply_error(call, make_error(ErrorCode::kMethodNotAllowed,
                               "the server does not allow this method on the requested resource"));
}

bool without_resource(Call& call) {
  const std::string& path = call.request.path;
  if (path == "/version" || path == "/version/") return version(call), true;
  for (std::string_view p : {"/healthz", "/livez", "/readyz"})
    if (path == p || (path.starts_with(p) && path[p.size()] == '/'))
      return health(call, path), true;
  if (path == "/metrics") return metrics(call), true;
  if (path == "/openapi/v2") return openapi_v2(call), true;
  if (path == "/openapi/v3" || path.starts_with("/openapi/v3/"))
    return call.core->openapi->serve(call), true;
  const bool discovery =
      path == "/api" || path == "/apis" || path.starts_with("/api/") || path.starts_with("/apis/");
  if (discovery && call.request.method != "GET" && call.request.method != "HEAD")
    return not_allowed(call), true;
  if (serve_discovery(call)) return true;
  // Unknown versions of known groups are told in another form than unknown paths.
  std::string_view group = call.request.path;
  if (group.starts_with("/api/")) {
    call.path.group = "";
  } else if (group.starts_with("/apis/")) {
    group.remove_prefix(6);
    call.path.group = group.substr(0, group.find('/'));
  } else {
    return false;
  }
  return unknown(call), true;
}

void route(const CallPtr& call, std::string_view verb) {
  const Traits& traits = *call->resource().traits;
  const std::string& subresource = call->path.subresource;
  if (traits.review) {
    if (verb != "create" || !call->path.name.empty()) return not_allowed(*call);
    return rest_review(call);
  }
  if (!subresource.empty() && subresource != "status") {
    if (rest_subresource(call)) return;
    if (call->resource().custom()) return reply_error(*call, call->not_found(call->path.name));
    unknown(*call);
    return;
  }
  if (subresource == "status") {
    if (!call->served->info->has_status) return unknown(*call);
    if (verb == "get") return rest_get(call);
    if (verb == "update") return rest_update(call);
    if (verb == "patch") return rest_patch(call);
    return not_allowed(*call);
  }
  if (verb == "get") return rest_get(call);
  if (verb == "list") return rest_list(call);
  if (verb == "watch") return rest_watch(call);
  const bool named = !call->path.name.empty();
  if (verb == "create" && !named) {
    if (call->resource().namespaced && call->path.namespace_.empty()) return not_allowed(*call);
    return rest_create(call);
  }
  if (verb == "update" && named) return rest_update(call);
  if (verb == "patch" && named) return rest_patch(call);
  if (verb == "delete") return rest_delete(call);
  if (verb == "deletecollection" && !traits.no_delete_collection)
    return rest_delete_collection(call);
  not_allowed(*call);
}

}  // namespace

void Core::handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) {
  counters.requests.fetch_add(1, std::memory_order_relaxed);
  auto call = std::make_shared<Call>();
  call->core = this;
  call->request = std::move(request);
  call->sink = std::move(sink);
  if (stopping_)
    return reply_error(*call, make_error(ErrorCode::kUnavailable, "the server is shutting down"));
  call->catalog = catalog();
  if (!authenticate(*call)) return;
  const bool anonymous = call->request.identity.user == "system:anonymous";
  const bool reads = call->request.method == "GET" || call->request.method == "HEAD";
  if (anonymous && !(reads && open_to_all(call->request.path))) {
    auto parsed = wire::parse_resource_path(call->request.path);
    if (parsed) call->path = *parsed;
    return reply_error(*call, anonymous_forbidden(*call, parsed.has_value()));
  }
  const std::string_view pretty = call->request.query_value("pretty");
  if (pass_on(call)) return;
  auto parsed = wire::parse_resource_path(call->request.path);
  if (!parsed) {
    auto output = negotiate(call->request.headers.get("Accept"), false, true);
    // Health, metrics and OpenAPI have types of their own: they do not care.
    if (output.ok()) call->output = *output;
    call->output.pretty = is_true(pretty);
    // Servers behind APIServices are asked for their part of the discovery: that may take a while.
    if (call->output.form == Output::Form::kDiscovery && !api_services(*this).empty())
      return workers.run([call] {
        if (!without_resource(*call)) reply_text(*call, "404 page not found\n", 404);
      });
    if (!without_resource(*call)) reply_text(*call, "404 page not found\n", 404);
    return;
  }
  call->path = std::move(*parsed);
  call->served = call->catalog->find(call->path.group, call->path.version, call->path.resource);
  const bool scope_fits =
      call->served == nullptr || call->resource().namespaced || call->path.namespace_.empty();
  if (call->served == nullptr || !scope_fits) return unknown(*call);
  if (call->resource().namespaced && call->path.namespace_.empty() && !call->path.name.empty())
    return unknown(*call);
  if (!call->served->warning.empty()) call->warn(call->served->warning);
  auto output = negotiate(call->request.headers.get("Accept"), true, false);
  if (!output.ok()) return reply_error(*call, output.error());
  call->output = *output;
  call->output.pretty = is_true(pretty);
  route(call, verb_of(*call));
}

}  // namespace kueue::apiserver
