// Told: an engine that is told of API objects one by one, for judges of table cases. One thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/to_engine.h"
#include "engine/engine.h"
#include "json/value.h"

namespace kueue::vectors {

class Told {
 public:
  // Gates and clock of the case; LimitRanges and RuntimeClasses of its objects count for Workloads.
  explicit Told(const json::Value& test, const engine::Settings& settings = {},
                const bridge::RequestRules& rules = {});

  // An object of a kind that the engine knows; others do not matter.
  void tell(const json::Value& object);
  // As it was told; null when it never was. `name` with its namespace where the kind has one.
  json::Value object(std::string_view kind, std::string_view name) const;
  // The bridge's view of a Workload; null when it does not decode.
  std::shared_ptr<const engine::Workload> workload(const json::Value& object) const;

  // A pod of a Workload as it would be created.
  api::core::PodSpec adjusted(const api::core::PodSpec& spec) const;

  engine::State& state() { return *state_; }
  const FeatureGates& gates() const { return gates_; }

 private:
  bridge::Surroundings surroundings() const;

  FeatureGates gates_;
  bridge::RequestRules rules_;
  bridge::TemplatePool pool_;
  std::vector<api::core::LimitRange> ranges_;
  std::map<std::string, std::vector<std::pair<std::string, api::Quantity>>> overheads_;
  std::map<std::string, bridge::DeviceRequests> devices_;  // by pod set, of every Workload
  std::unique_ptr<engine::State> state_;
  std::map<std::string, json::Value> objects_;
};

}  // namespace kueue::vectors
