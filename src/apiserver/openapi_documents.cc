#include "apiserver/openapi_documents.h"

#include <vector>

#include "api/registry.h"
#include "apiserver/core.h"
#include "apiserver/encoding.h"
#include "json/json.h"
#include "schema/openapi.h"
#include "wire/status.h"

namespace kueue::apiserver {

namespace {

std::string path_of(const Catalog::Group& group, const Catalog::Version& version) {
  return group.name.empty() ? "api/" + version.name : "apis/" + group.name + "/" + version.name;
}

// Changes with the definitions behind a version, and with this program.
std::string hash_of(const Catalog::Version& version) {
  std::string text = KUEUE_VERSION;
  for (const Served* served : version.resources)
    text.append("|")
        .append(served->resource->qualified())
        .append(served->resource->crd_uid)
        .append(std::to_string(served->resource->revision));
  std::string hash = sha256_hex(text);
  for (char& c : hash)
    if (c >= 'a' && c <= 'f') c = static_cast<char>(c - 'a' + 'A');
  return hash;
}

void reply_document(Call& call, std::string text, const std::string& tag) {
  wire::Response response;
  const std::string quoted = "\"" + tag + "\"";
  response.headers.set("ETag", quoted);
  response.headers.set("Vary", "Accept-Encoding, Accept");
  response.headers.set("Content-Type", "application/json");
  if (!call.request.query_value("hash").empty())
    response.headers.set("Cache-Control", "public, immutable");
  if (call.request.headers.get("If-None-Match") == quoted)
    response.status = 304;
  else
    response.body = std::move(text);
  reply(call, std::move(response));
}

}  // namespace

std::string OpenApiDocuments::document(const Catalog& catalog, std::string_view path) {
  for (const Catalog::Group& group : catalog.groups())
    for (const Catalog::Version& version : group.versions) {
      if (path_of(group, version) != path) continue;
      std::vector<const schema::ResourceInfo*> infos;
      for (const Served* served : version.resources) infos.push_back(served->info);
      return json::write(
          schema::openapi_document(group.name, version.name, infos, &api::find_type));
    }
  return {};
}

void OpenApiDocuments::serve(Call& call) {
  const Catalog& catalog = *call.catalog;
  std::string_view path = call.request.path;
  path.remove_prefix(std::string_view("/openapi/v3").size());
  while (path.starts_with("/")) path.remove_prefix(1);
  if (path.empty()) {
    std::vector<schema::OpenApiIndexEntry> entries;
    for (const Catalog::Group& group : catalog.groups())
      for (const Catalog::Version& version : group.versions)
        entries.push_back({.path = path_of(group, version), .hash = hash_of(version)});
    const std::string text = json::write(schema::openapi_index(entries));
    return reply_document(call, text, sha256_hex(text).substr(0, 32));
  }
  std::string text;
  {
    std::lock_guard lock(mutex_);
    if (tag_ != catalog.tag()) {
      documents_.clear();
      tag_ = catalog.tag();
    }
    auto it = documents_.find(path);
    if (it == documents_.end()) it = documents_.emplace(path, document(catalog, path)).first;
    text = it->second;
  }
  if (text.empty())
    return reply_error(
        call, make_error(ErrorCode::kNotFound, "the server could not find the requested resource"));
  const std::string tag = sha256_hex(text).substr(0, 32);
  reply_document(call, std::move(text), tag);
}

}  // namespace kueue::apiserver
