// Settings of an engine instance: the parts of the manager configuration that decisions depend on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/feature_gates.h"
#include "base/time.h"

namespace kueue::engine {

enum class FairPreemptionStrategy : uint8_t { kLessThanOrEqualToFinalShare, kLessThanInitialShare };

struct FairSharing {
  // One or two; empty = both, in this order: LessThanOrEqualToFinalShare, LessThanInitialShare.
  std::vector<FairPreemptionStrategy> strategies;
};

struct AdmissionFairSharing {
  Duration half_life;  // zero = no memory
  Duration sampling_interval = Duration::seconds(300);
  std::vector<std::pair<std::string, double>> resource_weights;  // not listed = 1
};

struct Settings {
  FeatureGates gates;
  std::optional<FairSharing> fair_sharing;                     // absent = off
  std::optional<AdmissionFairSharing> admission_fair_sharing;  // absent = off
  bool ignore_undeclared = false;    // quotaCheckStrategy IgnoreUndeclared
  bool requeue_by_creation = false;  // requeuingStrategy.timestamp Creation
  bool block_admission = false;      // waitForPodsReady.blockAdmission
  // Requests to retry inadmissible workloads are collected for this long.
  Duration retry_batch = Duration::seconds(1);
  // The same after foreign pods ended or shrank.
  Duration pod_retry_batch = Duration::seconds(10);
};

}  // namespace kueue::engine
