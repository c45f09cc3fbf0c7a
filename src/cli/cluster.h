// Cluster: an API server as the commands see it - requests with readable errors, and which resource
// types there are. Not thread safe; one command uses it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "wire/http.h"

namespace kueue::cli {

struct ResourceType {
  std::string group;
  std::string version;
  std::string kind;
  std::string plural;
  std::string singular;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  std::vector<std::string> verbs;
  bool namespaced = true;
  bool preferred = true;  // the group's first version that has it

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  // "jobs.batch", "pods".
  std::string full_name() const { return group.empty() ? plural : plural + "." + group; }
  // "job.batch/x", "pod/x": how kubectl names an object.
  std::string object_name(std::string_view name) const;
  bool can(std::string_view verb) const;
};

using Query = std::vector<std::pair<std::string, std::string>>;

class Cluster {
 public:
  Cluster(std::shared_ptr<wire::Transport> transport, std::string default_namespace);

  const std::string& default_namespace() const { return default_namespace_; }
  wire::Transport& transport() { return *transport_; }

  // The JSON body of a successful answer, otherwise the server's error. `code` receives the status
  // code.
  Result<json::Value> request(std::string_view method, const std::string& path,
                              const Query& query = {},
                              const std::string& accept = "application/json",
                              const std::string& body = "", const std::string& content_type = "",
                              int* code = nullptr);
  // The body as text.
  Result<std::string> request_text(const std::string& path);

  // By what a user types: plural, singular, short name or kind, also "jobs.batch" and
  // "jobs.v1.batch"; "wl" is a Workload. kNotFound with the nearest name.
  Result<ResourceType> find_type(const std::string& word);
  // Every type of a category ("all"), or the one type, for a comma-separated word.
  Result<std::vector<ResourceType>> find_types(const std::string& words);
  // kNotFound when the server has no such kind. `refresh` asks the server again.
  Result<ResourceType> find_kind(const std::string& api_version, const std::string& kind,
                                 bool refresh);
  Result<const std::vector<ResourceType>*> types();

  // Collection ("" name) or object.
  static std::string path(const ResourceType& type, const std::string& namespace_,
                          const std::string& name, const std::string& subresource = "");

 private:
  Result<void> discover();
  Result<void> discover_group_versions();
  Result<void> add_group_version(const std::string& group, const std::string& version, bool first);
  void add_aggregated(const json::Value& list);

  std::shared_ptr<wire::Transport> transport_;
  std::string default_namespace_;
  std::optional<std::vector<ResourceType>> types_;
};

// "Error from server (NotFound): pods "x" not found" for answers of the server, "error: ..." for
// all else. One line per cause. Ends with a line break.
std::string error_text(const Error& error);

}  // namespace kueue::cli
