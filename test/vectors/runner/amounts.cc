// Judges of cases about amounts, quantities and resource lists, LimitRanges and priorities.
#include <cmath>

#include "bridge/quantities.h"
#include "bridge/requests.h"
#include "controllers/metrics/record.h"
#include "controllers/metrics/registry.h"
#include "engine/fairshare/ledger.h"
#include "engine/topology/counts.h"
#include "engine/topology/tree.h"
#include "engine/world.h"
#include "json/json.h"
#include "judge.h"
#include "schema/codec.h"
#include "told.h"
#include "webhooks/checks.h"
#include "webhooks/hook.h"
#include "webhooks/test_lookup.h"

namespace kueue::vectors {
namespace {

json::Value json_of(double value) {
  return std::isinf(value) ? json::Value(value > 0 ? "+Inf" : "-Inf") : json::Value(value);
}
api::Quantity quantity(const json::Value& value) {
  Result<api::Quantity> parsed = api::Quantity::from_json(value);
  return parsed.ok() ? *parsed : api::Quantity();
}

// --- amounts, call by call
json::Value amount_call(std::string_view call, const json::Value& step) {
  const Amount self = amount_of(at(step, {"receiver"}));
  const Amount other = amount_of(at(step, {"args", call.ends_with("Int64") ? "v" : "b"}));
  const std::string name(step.get_string({"args", "name"}));
  auto compared = [&] { return self < other ? -1 : (other < self ? 1 : 0); };
  if (call == "NewAmount") return amount_json(Amount(step.get_int({"args", "v"})));
  if (call == "Amount.Int64") return self.value();
  if (call == "Amount.isUnlimited") return self.is_unlimited();
  if (call == "Amount.Add" || call == "Amount.AddInt64") return amount_json(self + other);
  if (call == "Amount.Sub" || call == "Amount.SubInt64") return amount_json(self - other);
  if (call == "Amount.Cmp" || call == "Amount.CmpInt64") return int64_t{compared()};
  if (call == "AmountFromQuantity")
    return amount_json(bridge::quota_amount(name, quantity(at(step, {"args", "q"}))));
  if (call == "ResourceValue")
    return bridge::internal_amount(name, quantity(at(step, {"args", "q"})));
  if (call == "Amount.AsApproximateFloat64") return json_of(controllers::metric_value(name, self));
  if (call == "ResourceFormatter.ResourceQuantity")
    return bridge::quantity_of(name, step.get_int({"args", "v"})).to_string();
  return nullptr;
}

Differences amounts(const json::Value& test) {
  Differences out;
  for (const json::Value& step : steps_of(test)) {
    std::string_view call = step.get_string({"call"});
    call.remove_prefix(call.find('.') + 1);
    differ(out, std::string(call), at(step, {"expect", "result"}), amount_call(call, step));
  }
  return out;
}

// How often a pod fits on a node, and what there is too little of when it does not.
Differences fits(const json::Value& test) {
  engine::State state{engine::Settings{}};
  engine::Node node;
  node.name = "n";
  node.labels = {{engine::kHostLabel, "n"}};
  for (const auto& [name, amount] : members(argument(test, "capacity")))
    node.allocatable.emplace_back(name, amount.int_or(0));
  node.allocatable.emplace_back("pods", INT32_MAX);
  std::sort(node.allocatable.begin(), node.allocatable.end());
  engine::Flavor flavor;
  flavor.name = "f";
  flavor.topology = "t";
  state.apply(engine::TopologyChanged{{"t", {engine::kHostLabel}}});
  state.apply(engine::FlavorChanged{flavor});
  state.apply(engine::NodeChanged{node});
  engine::World& world = state.world();
  engine::ResourceAmounts asked;
  for (const auto& [name, amount] : members(at(test, {"input", "receiver"})))
    asked.emplace_back(name, amount.int_or(0));
  engine::PodTemplate pod;
  engine::PlaceRequest request;
  request.per_pod = world.names.list(asked);
  request.pod = &pod;
  engine::PlaceShape shape;
  shape.workers = &request;
  engine::settle_topology(world);
  engine::TopologyTree& tree = *engine::topology_tree(world, world.names.flavor("f"));
  Differences out;
  const engine::TreeCounts& counts = engine::count_domains(world, tree, shape, {}, {});
  const int64_t pods = counts[static_cast<size_t>(tree.leaves[0].node)].pods;
  differ(out, "count", at(test, {"expect", "result"}), pods);
  const std::string limiting(test.get_string({"expect", "result1"}));
  if (pods != 0 || limiting.empty()) return out;
  json::Array reasons;
  for (const auto& [reason, nodes] : engine::count_exclusions(world, tree, shape, {}, {}).by_reason)
    reasons.emplace_back(reason);
  differ(out, "limit", json::Array{"resource \"" + limiting + "\""}, std::move(reasons));
  return out;
}

// A slice with fewer pods keeps the first places of the one before it.
Differences truncated(const json::Value& test) {
  engine::State state{engine::Settings{}};
  auto previous = std::make_shared<engine::TopologyAssignment>();
  for (const json::Value& level : items(at(test, {"input", "args", "ta", "levels"})))
    previous->levels.emplace_back(level.string_or(""));
  for (const json::Value& given : items(at(test, {"input", "args", "ta", "domains"}))) {
    engine::TopologyDomain domain;
    engine::Node node;
    for (const json::Value& value : items(at(given, {"values"}))) {
      domain.values.emplace_back(value.string_or(""));
      node.labels.emplace_back(previous->levels[domain.values.size() - 1], domain.values.back());
      node.name += domain.values.back() + ".";
    }
    domain.count = static_cast<int32_t>(given.get_int({"count"}));
    previous->domains.push_back(std::move(domain));
    std::sort(node.labels.begin(), node.labels.end());
    node.allocatable = {{"pods", 1000}};
    state.apply(engine::NodeChanged{node});
  }
  engine::Flavor flavor;
  flavor.name = "f";
  flavor.topology = "t";
  state.apply(engine::TopologyChanged{{"t", previous->levels}});
  state.apply(engine::FlavorChanged{flavor});
  engine::World& world = state.world();
  engine::settle_topology(world);
  engine::PodTemplate pod;
  engine::PlaceRequest request;
  request.name = "main";
  request.flavor = world.names.flavor("f");
  request.count = static_cast<int32_t>(test.get_int({"input", "args", "newCount"}));
  request.pod = &pod;
  request.topology.unconstrained = true;
  request.previous = previous;
  request.extend_previous = true;
  json::Array domains;
  for (const engine::Placement& placement : engine::find_places(world, {request}, {})) {
    if (placement.assignment == nullptr) return {placement.failure};
    for (const engine::TopologyDomain& domain : placement.assignment->domains) {
      json::Array values;
      for (const std::string& value : domain.values) values.emplace_back(value);
      domains.push_back(json::Value::object(
          {{"count", int64_t{domain.count}}, {"values", json::Value(std::move(values))}}));
    }
  }
  return compared(at(test, {"expect", "result", "domains"}), json::Value(std::move(domains)));
}

// --- lists of resources
bridge::ResourceMap resources(const json::Value& given) {
  bridge::ResourceMap out;
  if (given.is_object())
    for (const auto& [name, value] : given.as_object()) out[name] = quantity(value);
  return out;
}
json::Value json_of(const bridge::ResourceMap& resources) {
  json::Value out = json::Value::object();
  for (const auto& [name, value] : resources) out[name] = value.to_string();
  return out;
}

api::core::Container container(const bridge::ResourceMap& requests) {
  api::core::Container c;
  c.resources = api::core::ResourceRequirements();
  for (const auto& [name, value] : requests) c.resources->requests[name] = value;
  return c;
}

// The sum: two containers. The greater: a container and one that ran before.
bridge::ResourceMap joined(const bridge::ResourceMap& a, const bridge::ResourceMap& b, bool sum) {
  api::core::PodSpec spec;
  spec.containers.push_back(container(a));
  (sum ? spec.containers : spec.init_containers).push_back(container(b));
  return bridge::pod_requests(spec);
}

// LimitRanges keep the smaller max and the first default.
bridge::LimitSummary::Item folded(const bridge::ResourceMap& a, const bridge::ResourceMap& b) {
  api::core::LimitRange first, second;
  for (auto [range, list] : {std::pair{&first, &a}, std::pair{&second, &b}}) {
    api::core::LimitRangeItem& item = range->spec.limits.emplace_back();
    item.type = "Container";
    for (const auto& [name, value] : *list) {
      item.max[name] = value;
      item.default_[name] = value;
    }
  }
  return bridge::summarize({&first, &second}).by_type["Container"];
}

Differences merged(const json::Value& test) {
  const bridge::ResourceMap a = resources(at(test, {"input", "raw", "a"}));
  const bridge::ResourceMap b = resources(at(test, {"input", "raw", "b"}));
  const bridge::LimitSummary::Item limits = folded(a, b);
  const json::Value& want = at(test, {"expect", "raw", "want"});
  Differences out;
  auto check = [&](const char* how, const bridge::ResourceMap& ours) {
    differ(out, how, pruned(at(want, {how, "result"})), pruned(json_of(ours)));
  };
  check("sum", joined(a, b, true));
  check("max", joined(a, b, false));
  check("min", limits.max);
  check("merge", limits.default_limit);
  for (std::string& d : out)
    if (d.find("expected null") != std::string::npos && d.find("actual   {}") != std::string::npos)
      d.clear();
  std::erase(out, "");
  return out;
}

Differences keeps_max(const json::Value& test) {
  return compared_result(
      test, json_of(joined(resources(argument(test, "a")), resources(argument(test, "b")), false)));
}

Differences times_float(const json::Value& test) {
  Differences out;
  for (const json::Value& step : steps_of(test)) {
    json::Value ours = json::Value::object();
    if (const json::Value& q = at(step, {"args", "q"}); q.is_object())
      for (const auto& [name, value] : q.as_object())
        ours[name] = bridge::quantity_of_nanos(engine::scale(bridge::nanos_of(quantity(value)),
                                                             number(at(step, {"args", "f"}))))
                         .to_string();
    json::Value theirs = json::Value::object();  // in one writing
    if (const json::Value& r = at(step, {"expect", "result"}); r.is_object())
      for (const auto& [name, value] : r.as_object()) theirs[name] = quantity(value).to_string();
    differ(out, "product", theirs, ours);
  }
  return out;
}

Differences as_float(const json::Value& test) {
  const json::Value& q = argument(test, "q");
  const json::Value& wanted = at(test, {"expect", "result"});
  const double ours = q.is_null() ? 0 : quantity(q).as_double();
  if (wanted.is_number() && std::abs(wanted.as_double() - ours) <= 1e-9 * std::abs(ours)) return {};
  return compared_result(test, ours);
}

// --- LimitRanges
Differences summary(const json::Value& test) {
  std::vector<api::core::LimitRange> ranges;
  for (const json::Value& item : items(argument(test, "ranges")))
    if (auto range = schema::decode<api::core::LimitRange>(item); range.ok())
      ranges.push_back(std::move(*range));
  std::vector<const api::core::LimitRange*> pointers;
  for (const api::core::LimitRange& range : ranges) pointers.push_back(&range);
  json::Value ours = json::Value::object();
  for (const auto& [type, item] : bridge::summarize(pointers).by_type)
    ours[type] = json::Value::object({{"max", json_of(item.max)},
                                      {"min", json_of(item.min)},
                                      {"default", json_of(item.default_limit)},
                                      {"defaultRequest", json_of(item.default_request)}});
  json::Value theirs = at(test, {"expect", "result"});
  // Nobody reads this one.
  for (auto& [type, item] : theirs.as_object()) item.erase_path({"maxLimitRequestRatio"});
  return compared(theirs, ours);
}

std::string error_text(const json::Value& error) {
  return std::string(error.get_string({"field"})) +
         ": Invalid value: " + json::write(at(error, {"badValue"})) + ": " +
         std::string(error.get_string({"detail"}));
}

Differences within_limits(const json::Value& test) {
  auto spec = schema::decode<api::core::PodSpec>(argument(test, "ps"));
  if (!spec.ok()) return {"the pod does not decode"};
  bridge::LimitSummary limits;
  for (const auto& [type, item] : members(at(test, {"input", "receiver"})))
    limits.by_type[type] = {resources(at(item, {"min"})), resources(at(item, {"max"})),
                            resources(at(item, {"default"})),
                            resources(at(item, {"defaultRequest"}))};
  json::Array ours, theirs;
  for (const std::string& e : bridge::limit_range_errors(*spec, limits, 0)) ours.emplace_back(e);
  for (const json::Value& e : items(at(test, {"expect", "errors"})))
    theirs.emplace_back(error_text(e));
  return compared(std::move(theirs), std::move(ours));
}

Differences within_own_limits(const json::Value& test) {
  auto workload = schema::decode<api::v1beta2::Workload>(at(test, {"input", "args", "wi", "obj"}));
  if (!workload.ok()) return {"the workload does not decode"};
  json::Array ours, theirs;
  for (size_t i = 0; i < workload->spec.pod_sets.size(); ++i)
    for (const std::string& e :
         bridge::limit_errors(workload->spec.pod_sets[i].template_.open()->spec, i))
      ours.emplace_back(e);
  for (const json::Value& e : items(at(test, {"expect", "errors"})))
    theirs.emplace_back(error_text(e));
  return compared(std::move(theirs), std::move(ours));
}

// --- priorities
// The engine takes an unreadable boost for none; the webhook refuses it.
Differences boosted(const json::Value& test) {
  auto w = Told(test).workload(argument(test, "w"));
  if (!w) return {"the workload does not decode"};
  const bool boost_only = test.get_string({"input", "call"}).ends_with("PriorityBoost");
  Differences out = compared_result(test, boost_only ? w->boost : w->effective_priority());
  webhooks::Settings settings;
  settings.gates = gates_of(test);
  webhooks::TestLookup lookup(test);
  schema::FieldErrors errors;
  std::vector<std::string> warnings;
  webhooks::workload_hook().validate(
      {webhooks::Operation::kCreate, argument(test, "w"), nullptr, "", "ns", settings, lookup},
      errors, warnings);
  bool refused = false;
  for (const ErrorCause& cause : errors.causes())
    refused = refused || cause.field.find("priority-boost") != std::string::npos;
  const std::string_view text =
      webhooks::annotation_of(argument(test, "w"), "kueue.x-k8s.io/priority-boost");
  // Of an empty text the webhook alone has an opinion.
  if (!text.empty() && refused == at(test, {"expect", "error"}).is_null())
    out.push_back(refused ? "the webhook refuses it" : "the webhook takes it");
  return out;
}

}  // namespace

void add_amount_judges(Judges& judges) {
  for (const char* subject :
       {"amount-arithmetic", "amount-as-approximate-float64", "amount-from-quantity",
        "resource-quantity-round-trips", "resource-value-clamps-outside-int64"})
    judges.add("function resources/" + std::string(subject), amounts);
  judges.add("function resources.MapRequests.CountIn", fits);
  judges.add("function resources.MapRequests.CountInWithLimitingResource", fits);
  judges.add("function tas.TruncateAssignment", truncated);
  judges.add("function util-resource/merge", merged);
  judges.add("function resource.MergeResourceListKeepMax", keeps_max);
  judges.add("function resource.MulByFloat", times_float);
  judges.add("function util-resource/mul-by-float-decays-to-zero", times_float);
  judges.add("function resource.QuantityToFloat", as_float);
  judges.add("function limitrange.Summarize", summary);
  judges.add("function limitrange.Summary.ValidatePodSpec", within_limits);
  judges.add("function workload.ValidateResources", within_own_limits);
  judges.add("function priority.ParseEffectivePriority", boosted);
  judges.add("function priority.PriorityBoost", boosted);
}

}  // namespace kueue::vectors
