// The manifests that put the manager on a cluster: what `kueue install` prints, what deploy/ and
// the Helm chart hold. Object names, labels and ports are Kueue's, so that an installation of Kueue
// can be replaced in place. Pure; thread safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace kueue::install {

struct Options {
  std::string namespace_ = "kueue-system";
  std::string image = "kueue-cpp:latest";
  bool descriptions = true;  // of fields in CRDs
};

// Parts in the order in which they are to be applied: the namespace first, webhooks last, because
// they refuse objects until the manager answers.
struct Part {
  std::string_view name;
  std::string_view text;  // what it holds, for help
};
std::span<const Part> parts();

// The objects of one part, or of all for "". kBadRequest for a name that is no part (the text
// lists them); the namespace is taken as it is: the Helm chart has a template there.
Result<std::vector<json::Value>> objects(const Options& options, std::string_view part = {});

// A YAML stream.
std::string to_yaml(const std::vector<json::Value>& objects);

// kustomization.yaml over one file per part.
std::string kustomization();

}  // namespace kueue::install
