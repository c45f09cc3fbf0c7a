// Vectors of kind preemptionTargets: the victims for a given assignment.
#include <algorithm>
#include <set>

#include "base/check.h"
#include "engine/preempt/preempt.h"
#include "json/json.h"
#include "replay.h"
#include "schema/codec.h"

namespace kueue::vectors {

Differences replay_preemption_targets(const json::Value& vector) {
  FeatureGates gates = gates_of(vector);
  RequestRules rules;
  engine::State state(settings_of(vector, gates, rules));
  Instant now = *parse_time(vector.get_string({"clock"}));
  state.apply(engine::TimePassed{now});
  Surroundings around;
  around.gates = &gates;
  around.rules = &rules;
  auto load_workload = [&](const json::Value& object) {
    Result<api::v1beta2::Workload> w = schema::decode<api::v1beta2::Workload>(object);
    KUEUE_CHECK(w.ok(), "a vector holds a Workload that does not decode");
    state.apply(engine::WorkloadChanged{to_engine(*w, around)});
    return engine::Key{w->metadata.namespace_, w->metadata.name};
  };
  for (const json::Value& object : vector.find("objects")->as_array())
    if (auto event = event_of(object)) state.apply(*event);
  for (const json::Value& object : vector.find("objects")->as_array())
    if (object.get_string({"kind"}) == "Workload") load_workload(object);
  const json::Value& input = *vector.find("input");
  engine::World& world = state.world();
  engine::WorkloadId id = world.find(load_workload(*input.find("incoming")));
  world.forest.settle();
  engine::PreemptRequest request{
      .preemptor = id,
      .queue = world.find_queue(std::string(input.get_string({"clusterQueue"}))),
      .usage = {},
      .needed = {},
      .places_fit = {}};
  const json::Value& assignment = *input.find("assignment");
  auto fr = [&](std::string_view flavor, std::string_view resource) {
    return world.names.fr(world.names.flavor(flavor), world.names.resource(resource));
  };
  if (const json::Value* total = assignment.find("totalRequests"))
    for (const auto& [name, amount] : total->as_object()) {
      size_t slash = name.find('/');
      request.usage.emplace_back(fr(name.substr(0, slash), name.substr(slash + 1)),
                                 Amount(amount.as_int()));
    }
  for (const json::Value& ps : assignment.find("podSets")->as_array())
    if (const json::Value* flavors = ps.find("flavors"))
      for (const auto& [resource, choice] : flavors->as_object())
        if (choice.get_string({"mode"}) == "Preempt")
          request.needed.push_back(fr(choice.get_string({"flavor"}), resource));
  std::set<std::string> ours, theirs;
  {
    engine::Overlay overlay(world);
    for (const engine::Victim& v : engine::find_victims(overlay, request))
      ours.insert(world.object(v.id).key.text() + " " + engine::preempt_reason_text(v.reason));
  }
  if (const json::Value* targets = vector.find_path({"result", "targets"}))
    for (const json::Value& t : targets->as_array())
      theirs.insert(std::string(t.get_string({"workload"})) + " " +
                    std::string(t.get_string({"reason"})));
  if (ours == theirs) return {};
  auto list = [](const std::set<std::string>& s) {
    std::string out;
    for (const std::string& item : s) out += item + "; ";
    return out;
  };
  return {"targets:\n    expected " + list(theirs) + "\n    actual   " + list(ours)};
}

}  // namespace kueue::vectors
