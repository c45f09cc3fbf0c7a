// kueue apply, create and install: documents to objects.
#include <poll.h>

#include "api/crd_manifest.h"
#include "cli/actions.h"
#include "json/json.h"

namespace kueue::cli {
namespace {

constexpr const char* kManager = "kueue-cli";

// Where a document goes; errors name the document and the field.
struct Place {
  ResourceType type;
  std::string namespace_;
  std::string name;
};

Error in_document(const Document& document, Error error) {
  error.message = document.where + ": " + error.message;
  return error;
}

// A kind that is unknown may have been defined a moment ago by an earlier document.
Result<ResourceType> type_of(Cluster& cluster, const std::string& api_version,
                             const std::string& kind, bool crd_applied) {
  auto type = cluster.find_kind(api_version, kind, false);
  for (int attempt = 0; !type.ok() && type.error().code == ErrorCode::kNotFound; ++attempt) {
    const int attempts = crd_applied ? 50 : 1;
    if (attempt >= attempts) break;
    if (attempt > 0) poll(nullptr, 0, 200);
    type = cluster.find_kind(api_version, kind, true);
  }
  return type;
}

Result<Place> place_of(const Context& context, const json::Value& value, bool crd_applied) {
  const auto missing = [](const char* field) {
    return make_error(ErrorCode::kInvalid, std::string(field) + ": is missing");
  };
  for (const char* field : {"apiVersion", "kind"}) {
    const json::Value* member = value.find(field);
    if (member == nullptr || (member->is_string() && member->as_string().empty()))
      return missing(field);
    if (!member->is_string()) {
      return make_error(ErrorCode::kInvalid, std::string(field) + ": must be a string");
    }
  }
  Place place;
  KUEUE_ASSIGN(place.type, type_of(context.cluster, std::string(value.get_string({"apiVersion"})),
                                   std::string(value.get_string({"kind"})), crd_applied));
  const json::Value* metadata = value.find("metadata");
  if (metadata == nullptr || !metadata->is_object()) return missing("metadata");
  place.name = value.get_string({"metadata", "name"});
  const std::string own(value.get_string({"metadata", "namespace"}));
  if (!place.type.namespaced) return place;
  const std::string given = context.arguments.text("namespace");
  if (!given.empty() && !own.empty() && own != given) {
    return make_error(ErrorCode::kInvalid, "metadata.namespace: \"" + own +
                                               "\" does not match the namespace \"" + given +
                                               "\" given by --namespace");
  }
  place.namespace_ = !own.empty() ? own : namespace_of(context);
  return place;
}

Query write_query(const Context& context) {
  Query query = {{"fieldManager", context.arguments.text("field-manager")},
                 {"fieldValidation", "Strict"}};
  if (query[0].second.empty()) query[0].second = kManager;
  if (context.arguments.text("dry-run") == "server") query.emplace_back("dryRun", "All");
  return query;
}

void report(const Context& context, const Place& place, const json::Value& object,
            std::string_view what) {
  const std::string format = context.arguments.text("output");
  const std::string name(object.get_string({"metadata", "name"}));
  if (format == "json") {
    context.terminal.out(json::write_pretty(object) + "\n");
  } else if (format == "yaml") {
    context.terminal.out("---\n" + json::write_yaml(object));
  } else if (format == "name") {
    context.terminal.out(place.type.object_name(name) + "\n");
  } else {
    std::string text = std::string(what);
    if (context.arguments.text("dry-run") == "server") text += " (server dry run)";
    context.terminal.out(place.type.object_name(name) + " " + text + "\n");
  }
}

Result<void> apply_one(const Context& context, const Document& document, bool crd_applied) {
  KUEUE_ASSIGN(const Place place, place_of(context, document.value, crd_applied));
  if (place.name.empty()) {
    return make_error(
        ErrorCode::kInvalid,
        document.value.get_string({"metadata", "generateName"}).empty()
            ? "metadata.name: is missing"
            : "metadata.name: is missing; objects with generateName are made by 'kueue create'");
  }
  const std::string path = Cluster::path(place.type, place.namespace_, place.name);
  // To tell "configured" from "unchanged".
  std::string before;
  if (auto old = context.cluster.request("GET", path); old.ok()) {
    before = old->get_string({"metadata", "resourceVersion"});
  }
  Query query = write_query(context);
  if (context.arguments.is_set("force-conflicts")) query.emplace_back("force", "true");
  int code = 0;
  auto answer =
      context.cluster.request("PATCH", path, query, "application/json", json::write(document.value),
                              "application/apply-patch+yaml", &code);
  if (!answer.ok()) {
    Error error = std::move(answer).error();
    if (error.code == ErrorCode::kConflict) {
      error.message += "\nTo take these fields over, use --force-conflicts.";
    }
    return error;
  }
  const bool same = answer->get_string({"metadata", "resourceVersion"}) == before;
  report(context, place, *answer, code == 201 ? "created" : same ? "unchanged" : "configured");
  return {};
}

Result<void> create_one(const Context& context, const Document& document, bool crd_applied) {
  KUEUE_ASSIGN(const Place place, place_of(context, document.value, crd_applied));
  KUEUE_ASSIGN(const json::Value answer,
               context.cluster.request("POST", Cluster::path(place.type, place.namespace_, ""),
                                       write_query(context), "application/json",
                                       json::write(document.value), "application/json"));
  report(context, place, answer, "created");
  return {};
}

// All documents are tried; the exit code says whether each went well.
int each_document(const Context& context, const std::vector<Document>& documents,
                  Result<void> (*action)(const Context&, const Document&, bool)) {
  int code = kOk;
  bool crd_applied = false;
  for (const Document& document : documents) {
    const Result<void> result = action(context, document, crd_applied);
    if (!result.ok()) {
      code = fail(context.terminal, in_document(document, result.error()));
    } else if (document.value.get_string({"kind"}) == "CustomResourceDefinition") {
      crd_applied = true;
    }
  }
  return code;
}

Result<std::vector<Document>> documents_of(const Context& context) {
  auto documents = read_documents(context.arguments.list("filename"), context.terminal,
                                  context.arguments.is_set("recursive"));
  if (documents.ok() && documents->empty()) {
    return make_error(ErrorCode::kInvalid, "no objects passed to " + std::string("the command"));
  }
  return documents;
}

int run_documents(const Context& context,
                  Result<void> (*action)(const Context&, const Document&, bool)) {
  if (!context.arguments.given("filename")) {
    return usage_error(context.terminal, "must specify -f FILE (or -f - for standard input)");
  }
  const auto documents = documents_of(context);
  if (!documents.ok()) return fail(context.terminal, documents.error());
  return each_document(context, *documents, action);
}

}  // namespace

int run_apply(const Context& context) { return run_documents(context, apply_one); }

int run_create(const Context& context) { return run_documents(context, create_one); }

int run_crds(const Arguments& arguments, Terminal& terminal) {
  json::Array crds;
  for (json::Value& crd :
       api::crd_manifests({.descriptions = !arguments.is_set("no-descriptions")})) {
    crds.push_back(std::move(crd));
  }
  const std::string format = arguments.text("output");
  if (format == "json") {
    terminal.out(json::write_pretty(json::Value::object(
                     {{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(crds)}})) +
                 "\n");
    return kOk;
  }
  for (const json::Value& crd : crds) {
    if (format == "name") {
      terminal.out("customresourcedefinition.apiextensions.k8s.io/" +
                   std::string(crd.get_string({"metadata", "name"})) + "\n");
    } else {
      terminal.out("---\n" + json::write_yaml(crd));
    }
  }
  return kOk;
}

}  // namespace kueue::cli
