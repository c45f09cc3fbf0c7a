// /openapi/v3: the index of group-versions and one document for each. Documents are made when they
// are first asked for and kept as long as the catalog stays the same. Thread safe.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "apiserver/call.h"

namespace kueue::apiserver {

class OpenApiDocuments {
 public:
  // Answers any path below /openapi/v3.
  void serve(Call& call);

 private:
  std::string document(const Catalog& catalog, std::string_view path);
  std::mutex mutex_;
  std::string tag_;
  std::map<std::string, std::string, std::less<>> documents_;  // by "api/v1", "apis/batch/v1"
};

}  // namespace kueue::apiserver
