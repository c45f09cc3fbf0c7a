// What commands read: documents behind -f, and the resources named on the command line.
#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>

#include "cli/actions.h"
#include "cli/kubeconfig.h"
#include "json/json.h"

namespace kueue::cli {
namespace {

bool is_manifest(const std::string& name) {
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

bool is_folder(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Manifests of a folder, sorted by name; with `depth` above 0 also those of folders in it.
Result<void> add_manifests(const std::string& folder, int depth, std::vector<std::string>* out) {
  DIR* opened = opendir(folder.c_str());
  if (opened == nullptr) return make_error(ErrorCode::kUnavailable, folder + ": cannot be read");
  std::vector<std::string> names;
  while (const dirent* entry = readdir(opened))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  closedir(opened);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    if (is_folder(path)) {
      if (depth > 0) KUEUE_TRY(add_manifests(path, depth - 1, out));
    } else if (is_manifest(name)) {
      out->push_back(path);
    }
  }
  return {};
}

Result<std::vector<std::string>> files_of(const std::string& path, bool recursive) {
  constexpr int kDeepest = 32;  // folders may lead in circles
  if (path == "-" || !is_folder(path)) return std::vector{path};
  std::vector<std::string> files;
  KUEUE_TRY(add_manifests(path, recursive ? kDeepest : 0, &files));
  if (files.empty()) {
    return make_error(ErrorCode::kNotFound,
                      path + ": no *.yaml, *.yml or *.json in this folder" +
                          (recursive ? "" : "; --recursive looks into those below it"));
  }
  return files;
}

// A List is its items.
void take_apart(json::Value value, const std::string& where, std::vector<Document>* out) {
  const std::string_view kind = value.get_string({"kind"});
  json::Value* items = value.find("items");
  if (!kind.ends_with("List") || items == nullptr || !items->is_array()) {
    out->push_back({std::move(value), where});
    return;
  }
  size_t index = 0;
  for (json::Value& item : items->as_array()) {
    take_apart(std::move(item), where + ", items[" + std::to_string(index++) + "]", out);
  }
}

}  // namespace

Result<std::vector<Document>> read_documents(const std::vector<std::string>& paths,
                                             Terminal& terminal, bool recursive) {
  std::vector<Document> result;
  for (const std::string& path : paths) {
    KUEUE_ASSIGN(const std::vector<std::string> files, files_of(path, recursive));
    for (const std::string& file : files) {
      std::string text;
      if (file == "-") {
        text = terminal.read_input();
      } else {
        KUEUE_ASSIGN(text, read_file(file));
      }
      auto documents = json::parse_yaml_all(text);
      if (!documents.ok()) {
        Error error = std::move(documents).error();
        error.message = (file == "-" ? "standard input" : file) + ": " + error.message;
        return error;
      }
      size_t number = 0;
      for (json::Value& value : *documents) {
        std::string where = file == "-" ? "standard input" : file;
        if (documents->size() > 1) where += ", document " + std::to_string(++number);
        if (!value.is_object()) {
          return make_error(ErrorCode::kInvalid, where + ": is no object but a plain value");
        }
        take_apart(std::move(value), where, &result);
      }
    }
  }
  return result;
}

Result<std::vector<Target>> read_targets(Cluster& cluster, const std::vector<std::string>& words) {
  std::vector<Target> result;
  const bool slashes = words[0].find('/') != std::string::npos;
  if (slashes) {
    for (const std::string& word : words) {
      const size_t slash = word.find('/');
      if (slash == std::string::npos || slash + 1 == word.size()) {
        return make_error(
            ErrorCode::kInvalid,
            "\"" + word + "\" is not of the form TYPE/NAME, as the other arguments are");
      }
      KUEUE_ASSIGN(ResourceType type, cluster.find_type(word.substr(0, slash)));
      result.push_back({std::move(type), word.substr(slash + 1)});
    }
    return result;
  }
  KUEUE_ASSIGN(const std::vector<ResourceType> types, cluster.find_types(words[0]));
  if (words.size() == 1) {
    for (const ResourceType& type : types) result.push_back({type, ""});
    return result;
  }
  for (const ResourceType& type : types) {
    for (size_t i = 1; i < words.size(); ++i) {
      if (words[i].find('/') != std::string::npos) {
        return make_error(ErrorCode::kInvalid,
                          "there is no need to name a type before \"" + words[i] + "\"");
      }
      result.push_back({type, words[i]});
    }
  }
  return result;
}

std::string namespace_of(const Context& context) {
  const std::string given = context.arguments.text("namespace");
  return given.empty() ? context.cluster.default_namespace() : given;
}

int fail(Terminal& terminal, const Error& error) {
  terminal.err(error_text(error));
  return kFailed;
}

int usage_error(Terminal& terminal, const std::string& text) {
  terminal.err("error: " + text + "\n");
  return kUsage;
}

}  // namespace kueue::cli
