#include "controllers/pod_templates.h"

#include <openssl/sha.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "json/json.h"
#include "schema/codec.h"

namespace kueue::controllers {

namespace {
// More than a page of a list holds: its templates are read once more when the page has been
// decoded.
constexpr size_t kKeptOpen = 512;
}  // namespace

PodTemplates::PodTemplates() : folds_(kKeptOpen) {}

Result<void> PodTemplates::decode(json::Value& document, api::v1beta2::Workload& workload) {
  struct Part {
    std::string text;  // "" = the pod set has no template
    Digest digest;
    Template known;
    bool is_known = false;
  };
  std::vector<Part> parts;
  if (json::Value* pod_sets = document.find_path({"spec", "podSets"});
      pod_sets != nullptr && pod_sets->is_array()) {
    for (json::Value& pod_set : pod_sets->as_array()) {
      Part& part = parts.emplace_back();
      const json::Value* pod = pod_set.is_object() ? pod_set.find("template") : nullptr;
      if (pod == nullptr) continue;
      part.text = json::write(*pod);
      SHA256(reinterpret_cast<const unsigned char*>(part.text.data()), part.text.size(),
             part.digest.data());
      part.is_known = find(part.digest, part.known);
      if (part.is_known) pod_set.as_object().erase("template");
    }
  }
  KUEUE_TRY(
      schema::decode_value(schema::value_binding<api::v1beta2::Workload>, document, &workload));
  for (size_t i = 0; i < std::min(parts.size(), workload.spec.pod_sets.size()); ++i) {
    if (parts[i].text.empty()) continue;
    Template& pod = workload.spec.pod_sets[i].template_;
    pod = parts[i].is_known ? std::move(parts[i].known)
                            : share(parts[i].digest, parts[i].text, std::move(pod));
  }
  return {};
}

bool PodTemplates::find(const Digest& digest, Template& found) const {
  std::lock_guard lock(mutex_);
  const auto it = known_.find(digest);
  if (it == known_.end()) return false;
  found = it->second;
  return true;
}

PodTemplates::Template PodTemplates::share(const Digest& digest, const std::string& text,
                                           Template made) {
  Template folded(folds_.fold(text, std::move(made.edit())));
  std::lock_guard lock(mutex_);
  const auto [it, fresh] = known_.emplace(digest, std::move(folded));
  Template result = it->second;
  if (fresh && known_.size() > sweep_at_) {
    // Only we hold what is sole, and whoever wants it waits for the lock.
    std::erase_if(known_, [](const auto& entry) { return entry.second.sole(); });
    sweep_at_ = std::max<size_t>(256, known_.size() * 2);
  }
  return result;
}

size_t PodTemplates::size() const {
  std::lock_guard lock(mutex_);
  return known_.size();
}

}  // namespace kueue::controllers
