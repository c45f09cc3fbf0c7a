#include "engine/explain/flavors_considered.h"

#include <algorithm>

namespace kueue::engine {
namespace {

std::string attempt_text(const FlavorAttempt& a) {
  std::string out = a.flavor + "(";
  if (a.mode == PreemptMode::kNoFit || a.mode == PreemptMode::kFit)
    out += preempt_mode_text(a.mode);
  else
    out += std::string("preemptionMode=") + preempt_mode_text(a.mode);
  if (a.borrow > 0) out += ";borrow=" + std::to_string(a.borrow);
  std::vector<std::string> texts;
  for (const Reason& reason : a.reasons) texts.push_back(render(reason));
  std::sort(texts.begin(), texts.end());
  for (const std::string& text : texts) out += ";" + text;
  return out + ")";
}

// Not looked at: the workload may not use it, or was nominated for another one.
bool ruled_out(const FlavorAttempt& a) {
  return !a.reasons.empty() && (a.reasons.front().kind == ReasonKind::kNotAllowed ||
                                a.reasons.front().kind == ReasonKind::kPinned);
}

}  // namespace

std::string flavors_considered(const Workload& workload, const Assignment& assignment) {
  std::string out;
  for (const PodSetResult& ps : assignment.pod_sets) {
    std::string line;
    std::vector<const FlavorAttempt*> attempts;
    for (const FlavorAttempt& a : ps.attempts) attempts.push_back(&a);
    // A flavor stands in one resource group only; attempts of equal name keep their order in
    // memory.
    std::sort(attempts.begin(), attempts.end(), [](const FlavorAttempt* a, const FlavorAttempt* b) {
      return a->flavor != b->flavor ? a->flavor < b->flavor : a < b;
    });
    for (const FlavorAttempt* attempt : attempts) {
      const FlavorAttempt& a = *attempt;
      if (ruled_out(a)) continue;
      if (a.mode == PreemptMode::kFit && a.borrow == 0 && a.reasons.empty()) continue;
      line += (line.empty() ? "" : ", ") + attempt_text(a);
    }
    if (line.empty()) continue;
    out += (out.empty() ? "" : " | ") + workload.pod_sets[ps.index].name + ": " + line;
  }
  return out;
}

}  // namespace kueue::engine
