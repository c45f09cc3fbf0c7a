// Vectors of kind tasPlacement: topology domains for given requests.
#include <algorithm>

#include "base/check.h"
#include "bridge/quantities.h"
#include "engine/topology/place.h"
#include "engine/topology/usage.h"
#include "json/json.h"
#include "replay.h"
#include "schema/codec.h"

namespace kueue::vectors {
namespace {

engine::ResourceList resources_of(engine::World& world, const json::Value* value) {
  engine::ResourceList out;
  if (value == nullptr) return out;
  for (const auto& [name, amount] : value->as_object())
    if (name != "pods") world.names.add(out, world.names.resource(name), Amount(amount.as_int()));
  return out;
}

std::vector<std::string> strings_of(const json::Value& list) {
  std::vector<std::string> out;
  for (const json::Value& item : list.as_array()) out.push_back(item.as_string());
  return out;
}

void load_usage(engine::World& world, const json::Value& input, engine::FlavorId own,
                engine::FlavorId other) {
  // As reservations have it: seen by every flavor.
  engine::Reservation own_pods, other_pods;
  std::vector<engine::PlacedPods>& placed = own_pods.placed;
  if (const json::Value* list = input.find("ownUsage"))
    for (const json::Value& u : list->as_array())
      placed.push_back({own, strings_of(*u.find("values")),
                        resources_of(world, u.find("singlePodRequests")),
                        static_cast<int32_t>(u.get_int({"count"}))});
  if (const json::Value* usage = input.find("otherFlavorsUsage"))
    for (const auto& [id, resources] : usage->as_object())
      other_pods.placed.push_back({other, {id}, resources_of(world, &resources), 1});
  engine::add_placed(world, own_pods);
  engine::add_placed(world, other_pods);
}

engine::PlaceRequest request_of(engine::World& world, const json::Value& r, size_t index,
                                const std::shared_ptr<const engine::Workload>& shell,
                                const std::shared_ptr<const engine::Workload>& replaced) {
  const engine::PodSet& ps = shell->pod_sets[index];
  engine::PlaceRequest out;
  out.index = index;
  out.name = ps.name;
  out.flavor = world.names.flavor("flavor");
  out.count = static_cast<int32_t>(r.get_int({"count"}));
  out.per_pod = resources_of(world, r.find("singlePodRequests"));
  out.pod = ps.pod.get();
  if (ps.topology) out.topology = *ps.topology;
  out.implied = r.get_bool({"implied"});
  out.group = std::string(r.get_string({"podSetGroupName"}));
  if (const json::Value* previous = r.find("previousAssignment")) {
    Result<api::v1beta2::TopologyAssignment> packed =
        schema::decode<api::v1beta2::TopologyAssignment>(*previous);
    KUEUE_CHECK(packed.ok(), "a vector holds an assignment that does not decode");
    engine::TopologyAssignment assignment = decode_topology(*packed);
    out.previous = std::make_shared<const engine::TopologyAssignment>(assignment);
    out.extend_previous = true;
  }
  if (replaced == nullptr || !replaced->admission || replaced->unhealthy_nodes.empty()) return out;
  for (const engine::PodSetAssignment& a : replaced->admission->pod_sets)
    if (a.name == ps.name) out.previous = a.topology;
  out.replaced_node = replaced->unhealthy_nodes.front();
  out.keep_previous =
      replaced->pod_owned && world.gate(Gate::kSkipReassignmentForPodOwnedWorkloads);
  return out;
}

json::Value placement_json(const engine::Placement& p) {
  if (!p.failure.empty()) return json::Value::object({{"failure", p.failure}});
  json::Array levels, domains;
  for (const std::string& level : p.assignment->levels) levels.emplace_back(level);
  for (const engine::TopologyDomain& d : p.assignment->domains) {
    json::Array values;
    for (const std::string& v : d.values) values.emplace_back(v);
    domains.push_back(json::Value::object({{"values", values}, {"count", d.count}}));
  }
  return json::Value::object({{"levels", levels}, {"domains", domains}});
}

}  // namespace

Differences replay_placement(const json::Value& vector) {
  FeatureGates gates = gates_of(vector);
  RequestRules rules;
  engine::State state(settings_of(vector, gates, rules));
  engine::World& world = state.world();
  const json::Value& input = *vector.find("input");
  engine::Topology topology{std::string(input.get_string({"topology"})),
                            strings_of(*input.find("levels"))};
  engine::Flavor flavor{"flavor", {}, {}, {}, topology.name};
  if (const json::Value* labels = input.find("nodeLabels"))
    for (const auto& [key, value] : labels->as_object())
      flavor.node_labels.emplace_back(key, value.as_string());
  state.apply(engine::TopologyChanged{topology});
  state.apply(engine::FlavorChanged{flavor});
  state.apply(engine::FlavorChanged{{"other", {}, {}, {}, topology.name}});
  world.names.resource("pods");
  for (const json::Value& object : vector.find("objects")->as_array())
    if (auto event = event_of(object)) state.apply(*event);
  engine::settle_topology(world);
  load_usage(world, input, world.names.flavor("flavor"), world.names.flavor("other"));
  // The pod sets as a Workload, so that templates are read as always.
  json::Array pod_sets;
  for (const json::Value& r : input.find("requests")->as_array()) {
    json::Value ps = *r.find("podSet");
    ps["count"] = *r.find("count");
    pod_sets.push_back(std::move(ps));
  }
  json::Value shell = json::Value::object({{"spec", json::Value::object({{"podSets", pod_sets}})}});
  Surroundings around;
  around.gates = &gates;
  auto converted = [&](const json::Value& object) {
    Result<api::v1beta2::Workload> w = schema::decode<api::v1beta2::Workload>(object);
    KUEUE_CHECK(w.ok(), "a vector holds a Workload that does not decode");
    return to_engine(*w, around);
  };
  std::shared_ptr<const engine::Workload> shape = converted(shell), replaced;
  if (const json::Value* w = input.find("workload")) replaced = converted(*w);
  std::vector<engine::PlaceRequest> requests;
  const json::Array& list = input.find("requests")->as_array();
  for (size_t i = 0; i < list.size(); ++i)
    requests.push_back(request_of(world, list[i], i, shape, replaced));
  json::Value actual = json::Value::object();
  for (const engine::Placement& p : engine::find_places(world, requests, {}))
    actual[p.name] = placement_json(p);
  const json::Value* expected = vector.find_path({"result", "podSets"});
  json::Value wanted = expected == nullptr ? json::Value::object() : *expected;
  if (wanted == actual) return {};
  return {"step 0 placement:\n    expected " + json::write_sorted(wanted) + "\n    actual   " +
          json::write_sorted(actual)};
}

}  // namespace kueue::vectors
