// Judges of table cases (kind `function`) that bridge, API types and engine answer: topology
// encodings, priorities, requests and their checks, order, second passes.
#include <algorithm>

#include "api/topology_assignment.h"
#include "bridge/quantities.h"
#include "bridge/requests.h"
#include "engine/queue/queueing.h"
#include "engine/topology/tree.h"
#include "json/json.h"
#include "replay.h"
#include "schema/codec.h"

namespace kueue::vectors {
namespace {

// --- topology assignments
json::Value domains_json(const std::vector<api::TopologyDomain>& domains) {
  json::Array out;
  for (const api::TopologyDomain& d : domains) {
    json::Array values;
    for (const std::string& value : d.values) values.emplace_back(value);
    out.push_back(json::Value::object({{"values", std::move(values)}, {"count", d.count}}));
  }
  return json::Value(std::move(out));
}

// Unpacked; empty for null.
std::pair<json::Value, std::vector<api::TopologyDomain>> unpacked(const json::Value& packed) {
  if (packed.is_null()) return {};
  auto assignment = schema::decode<api::v1beta2::TopologyAssignment>(packed);
  if (!assignment.ok()) return {};
  auto domains = api::unpack_topology(*assignment);
  json::Array levels;
  for (const std::string& level : assignment->levels) levels.emplace_back(level);
  return {json::Value(std::move(levels)),
          domains.ok() ? *domains : std::vector<api::TopologyDomain>()};
}

Differences internal_from(const json::Value& test) {
  auto [levels, domains] = unpacked(argument(test, "ta"));
  return compared_result(
      test, json::Value::object({{"levels", levels}, {"domains", domains_json(domains)}}));
}
Differences internal_sequence(const json::Value& test) {
  return compared(at(test, {"expect", "observed", "got"}),
                  domains_json(unpacked(argument(test, "ta")).second));
}
Differences domain_count(const json::Value& test) {
  return compared_result(
      test, json::Value(static_cast<int64_t>(unpacked(argument(test, "ta")).second.size())));
}
// Domains of Kueue's own form, packed.
json::Value packed(const json::Value& given, bool by_prefix) {
  std::vector<std::string> levels;
  std::vector<api::TopologyDomain> domains;
  for (const json::Value& level : items(at(given, {"levels"}))) levels.push_back(level.as_string());
  for (const json::Value& d : items(at(given, {"domains"}))) {
    api::TopologyDomain domain;
    domain.count = static_cast<int32_t>(d.get_int({"count"}));
    for (const json::Value& value : items(at(d, {"values"})))
      domain.values.push_back(value.as_string());
    domains.push_back(std::move(domain));
  }
  return schema::encode(api::pack_topology(levels, domains, by_prefix));
}

Differences packed_from(const json::Value& test) {
  const json::Value& given = argument(test, "ta");
  if (given.is_null()) return compared_result(test, json::Value());
  return compared_result(
      test, packed(given, gates_of(test).on(Gate::kTASAssignmentsEncodingByHostnamePrefix)));
}

// Encodings call by call. Kueue's encoder by prefixes is one of two, of which ours takes the
// shorter: its result must be theirs where theirs is shorter, and always say the same.
Differences encodings(const json::Value& test) {
  const bool by_prefix = gates_of(test).on(Gate::kTASAssignmentsEncodingByHostnamePrefix);
  Differences out;
  for (const json::Value& step : steps_of(test)) {
    const std::string_view call = step.get_string({"call"});
    const json::Value& given = at(step, {"args", "ta"});
    const json::Value& wanted = at(step, {"expect", "result"});
    auto check = [&](const json::Value& ours) {
      differ(out, std::string(call), pruned(wanted), pruned(ours));
    };
    if (call == "tas.V1Beta2From") {
      check(packed(given, by_prefix));
    } else if (call == "tas.singleCompactTopologyAssignmentEncoding") {
      check(packed(given, false));
    } else if (call == "tas.compactTopologyAssignmentEncodingWithHostnamePrefixRuns") {
      const json::Value ours = packed(given, true);
      if (json::write(pruned(wanted)).size() < json::write(pruned(packed(given, false))).size())
        check(ours);
      differ(out, "what it says", pruned(at(given, {"domains"})),
             pruned(domains_json(unpacked(ours).second)));
    } else if (call == "tas.InternalFrom") {
      auto [levels, domains] = unpacked(given);
      check(json::Value::object({{"levels", levels}, {"domains", domains_json(domains)}}));
    } else if (call == "tas.TotalDomainCount") {
      differ(out, "count", wanted, static_cast<int64_t>(unpacked(given).second.size()));
    } else if (call != "tas.reusableHostnamePrefixKeys") {
      out.push_back("nobody judges " + std::string(call));
    }
  }
  return out;
}

// --- workloads
std::shared_ptr<const engine::Workload> workload_of(const json::Value& test,
                                                    const json::Value& object,
                                                    const FeatureGates& gates) {
  auto w = schema::decode<api::v1beta2::Workload>(object);
  if (!w.ok()) return nullptr;
  std::vector<api::core::LimitRange> ranges;
  for (const json::Value& o : items(at(test, {"input", "objects"})))
    if (o.get_string({"kind"}) == "LimitRange")
      if (auto range = schema::decode<api::core::LimitRange>(o); range.ok())
        ranges.push_back(std::move(*range));
  Surroundings around;
  around.gates = &gates;
  for (const api::core::LimitRange& range : ranges) around.limit_ranges.push_back(&range);
  return to_engine(*w, around);
}

template <typename Ask>
Judge about_workload(const char* argument_name, Ask ask) {
  return [argument_name, ask](const json::Value& test) -> Differences {
    FeatureGates gates = gates_of(test);
    auto w = workload_of(test, argument(test, argument_name), gates);
    if (!w) return {"the workload does not decode"};
    return compared_result(test, ask(*w));
  };
}

// A State with the one workload in it.
template <typename Ask>
Judge about_record(Ask ask) {
  return [ask](const json::Value& test) -> Differences {
    FeatureGates gates = gates_of(test);
    auto w = workload_of(test, argument(test, "w"), gates);
    if (!w) return {"the workload does not decode"};
    engine::Settings settings;
    settings.gates = gates;
    engine::State state(settings);
    state.apply(engine::WorkloadChanged{w});
    return compared_result(test, ask(state, *w));
  };
}

Differences order_timestamp(const json::Value& test) {
  FeatureGates gates = gates_of(test);
  for (const json::Value& step : items(at(test, {"steps"}))) {
    auto w = workload_of(test, *step.find_path({"args", "w"}), gates);
    if (!w) return {"the workload does not decode"};
    engine::Settings settings;
    settings.gates = gates;
    settings.requeue_by_creation =
        step.get_string({"receiver", "podsReadyRequeuingTimestamp"}) == "Creation";
    engine::State state(settings);
    Instant ours = engine::queue_timestamp(state.world(), *w);
    auto theirs = parse_time(step.get_string({"expect", "result"}));
    if (!theirs.ok() || *theirs != ours)
      return {"order timestamp: expected " + std::string(step.get_string({"expect", "result"})) +
              ", actual " + format_time(ours)};
  }
  return {};
}

}  // namespace

void add_table_judges(Judges& judges) {
  judges.add("function tas.InternalFrom", internal_from);
  judges.add("function tas.InternalSeqFrom", internal_sequence);
  judges.add("function tas.TotalDomainCount", domain_count);
  judges.add("function tas.V1Beta2From", packed_from);
  judges.add("function tas.compactTopologyAssignmentEncodingWithHostnamePrefixRuns", encodings);
  for (const char* subject :
       {"compact-topology-assignment-encoding-with-hostname-prefix-runs-falls-back-when-no-prefix-"
        "depth-fits-slice-limit",
        "compact-topology-assignment-encoding-with-hostname-prefix-runs-without-hostname-level",
        "fuzz-topology-assignment-compaction-round-trip",
        "v1-beta2-from-internal-hostname-prefix-feature-gate-and-fallback"})
    judges.add("function util-tas/" + std::string(subject), encodings);
  judges.add("function workloadslicing.ReplacementForKey",
             about_workload("wl", [](const engine::Workload& w) {
               return w.replaces ? json::Value(w.replaces->text()) : json::Value();
             }));
  judges.add("function priority.EffectivePriority",
             about_workload("w", [](const engine::Workload& w) {
               return json::Value(w.effective_priority());
             }));
  judges.add("function priority.Priority", about_workload("w", [](const engine::Workload& w) {
               return json::Value(w.priority);
             }));
  judges.add("function workload.IsOnHold", about_workload("w", [](const engine::Workload& w) {
               return json::Value(w.on_hold());
             }));
  judges.add("function workload.NeedsSecondPass",
             about_record([](const engine::State& state, const engine::Workload& w) {
               const engine::World& world = state.world();
               return json::Value(engine::needs_second_pass(world, world.find(w.key)));
             }));
  judges.add("function workload/get-queue-order-timestamp", order_timestamp);
}

}  // namespace kueue::vectors
