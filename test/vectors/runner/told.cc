#include "told.h"

#include "bridge/requests.h"
#include "judge.h"
#include "replay.h"
#include "schema/codec.h"

namespace kueue::vectors {
namespace {

std::string reference(std::string_view kind, std::string_view ns, std::string_view name) {
  return std::string(kind) + "/" + (ns.empty() ? "" : std::string(ns) + "/") + std::string(name);
}

// What resource claims came to, as the case has it.
std::map<std::string, bridge::DeviceRequests> devices_of(const json::Value& test) {
  std::map<std::string, bridge::DeviceRequests> out;
  if (const json::Value& sets = at(test, {"input", "raw", "draResources"}); sets.is_object())
    for (const auto& [name, amounts] : sets.as_object())
      for (const auto& [resource, quantity] : amounts.as_object())
        out[name].amounts.emplace_back(resource, *api::Quantity::from_json(quantity));
  if (const json::Value& sets = at(test, {"input", "raw", "replacedExtendedResources"});
      sets.is_object())
    for (const auto& [name, resources] : sets.as_object())
      for (const json::Value& resource : items(resources))
        out[name].replaced.emplace_back(resource.as_string());
  return out;
}

}  // namespace

Told::Told(const json::Value& test, const engine::Settings& settings,
           const bridge::RequestRules& rules)
    : gates_(gates_of(test)), rules_(rules), devices_(devices_of(test)) {
  engine::Settings own = settings;
  own.gates = gates_;
  own.retry_batch = Duration::seconds(3'000'000'000);  // only on request
  state_ = std::make_unique<engine::State>(own);
  if (auto now = parse_time(test.get_string({"clock"})); now.ok())
    state_->apply(engine::TimePassed{*now});
  for (const json::Value& object : items(at(test, {"input", "objects"}))) {
    if (object.get_string({"kind"}) == "LimitRange") {
      auto range = schema::decode<api::core::LimitRange>(object);
      if (range.ok()) ranges_.push_back(std::move(*range));
    } else if (object.get_string({"kind"}) == "RuntimeClass") {
      auto& overhead = overheads_[std::string(object.get_string({"metadata", "name"}))];
      if (const json::Value& fixed = at(object, {"overhead", "podFixed"}); fixed.is_object())
        for (const auto& [name, quantity] : fixed.as_object())
          overhead.emplace_back(name, *api::Quantity::from_json(quantity));
    }
  }
}

void Told::tell(const json::Value& object) {
  objects_[reference(object.get_string({"kind"}), object.get_string({"metadata", "namespace"}),
                     object.get_string({"metadata", "name"}))] = object;
  if (object.get_string({"kind"}) == "Workload") {
    if (auto w = workload(object)) state_->apply(engine::WorkloadChanged{w});
  } else if (auto event = event_of(object)) {
    state_->apply(*event);
  }
}

json::Value Told::object(std::string_view kind, std::string_view name) const {
  auto found = objects_.find(reference(kind, "", name));
  return found == objects_.end() ? json::Value() : found->second;
}

bridge::Surroundings Told::surroundings() const {
  bridge::Surroundings around;
  around.gates = &gates_;
  around.rules = &rules_;
  if (!devices_.empty()) around.devices = &devices_;
  for (const api::core::LimitRange& range : ranges_) around.limit_ranges.push_back(&range);
  around.overhead_of = [this](const std::string& name) {
    auto found = overheads_.find(name);
    return found == overheads_.end() ? std::vector<std::pair<std::string, api::Quantity>>()
                                     : found->second;
  };
  return around;
}

std::shared_ptr<const engine::Workload> Told::workload(const json::Value& object) const {
  auto w = schema::decode<api::v1beta2::Workload>(object);
  return w.ok() ? bridge::to_engine(*w, surroundings()) : nullptr;
}

api::core::PodSpec Told::adjusted(const api::core::PodSpec& spec) const {
  const bridge::Surroundings around = surroundings();
  return bridge::adjusted(spec, bridge::summarize(around.limit_ranges), around);
}

}  // namespace kueue::vectors
