// PodTemplates: the pod templates of Workloads, one value for all that are equal, folded while
// nobody reads them (folds.h). Most pending Workloads repeat the template of others, and a decoded
// template is many times larger than the rest of its Workload. Thread safe.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>

#include "api/kueue.h"
#include "base/result.h"
#include "controllers/folds.h"
#include "json/value.h"

namespace kueue::controllers {

class PodTemplates {
 public:
  PodTemplates();
  // Fills a fresh `workload`, as the codec of its table does, and lets it share templates. The
  // document loses the templates that are known already; they need not be decoded again.
  Result<void> decode(json::Value& document, api::v1beta2::Workload& workload);
  // Templates held, those that no Workload uses any more included until the next sweep.
  size_t size() const;

 private:
  using Template = Shared<api::core::PodTemplateSpec>;
  using Digest = std::array<unsigned char, 32>;  // SHA-256 of the JSON text
  bool find(const Digest& digest, Template& found) const;
  Template share(const Digest& digest, const std::string& text, Template made);

  Folds<api::core::PodTemplateSpec> folds_;
  mutable std::mutex mutex_;
  std::map<Digest, Template> known_;
  size_t sweep_at_ = 256;
};

}  // namespace kueue::controllers
