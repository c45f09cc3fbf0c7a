#include "bridge/requests.h"

#include <algorithm>
#include <functional>

#include "engine/model/nanos.h"

namespace kueue::bridge {
namespace {

using api::Quantity;
using api::core::Container;
using api::core::PodSpec;

void add_all(ResourceMap& into, const ResourceMap& more) {
  for (const auto& [name, quantity] : more) into[name].add(quantity);
}

void raise_to(ResourceMap& into, const ResourceMap& floor) {
  for (const auto& [name, quantity] : floor) {
    auto [it, inserted] = into.try_emplace(name, quantity);
    if (!inserted && it->second < quantity) it->second = quantity;
  }
}

ResourceMap requests_of(const Container& c) {
  return c.resources ? c.resources->requests : ResourceMap();
}

void fill_missing(schema::Map<Quantity>& into, const ResourceMap& from) {
  for (const auto& [name, quantity] : from) into.try_emplace(name, quantity);
}

void adjust_resources(Boxed<api::core::ResourceRequirements>& box,
                      const LimitSummary::Item* limits) {
  bool defaults =
      limits != nullptr && (!limits->default_limit.empty() || !limits->default_request.empty());
  if (!box && !defaults) return;
  if (!box) box = api::core::ResourceRequirements();
  api::core::ResourceRequirements& r = *box;
  // A limit that the pod itself names becomes its request before any default does, as the API
  // server has it.
  fill_missing(r.requests, r.limits);
  if (limits != nullptr) {
    fill_missing(r.limits, limits->default_limit);
    fill_missing(r.requests, limits->default_request);
  }
  fill_missing(r.requests, r.limits);
}

bool pod_level_resource(const std::string& name) {
  return name == "cpu" || name == "memory" || name.starts_with("hugepages-");
}

std::string list_text(const std::vector<std::string>& names) {
  std::string out = "[";
  for (size_t i = 0; i < names.size(); ++i) out += (i == 0 ? "\"" : ",\"") + names[i] + "\"";
  return out + "]";
}

std::string field_error(const std::string& field, const std::vector<std::string>& names,
                        const char* text) {
  return field + ": Invalid value: " + list_text(names) + ": " + text;
}

// Resources of `a` that are greater than in `b`, where b has them.
std::vector<std::string> greater(const ResourceMap& a, const ResourceMap& b) {
  std::vector<std::string> out;
  for (const auto& [name, quantity] : a) {
    auto it = b.find(name);
    if (it != b.end() && it->second < quantity) out.push_back(name);
  }
  return out;
}

using Visit = std::function<void(const std::string& field, const api::core::ResourceRequirements&)>;

void visit_containers(const PodSpec& spec, const std::string& path, const Visit& visit) {
  for (size_t i = 0; i < spec.init_containers.size(); ++i)
    if (spec.init_containers[i].resources)
      visit(path + ".initContainers[" + std::to_string(i) + "]",
            *spec.init_containers[i].resources);
  for (size_t i = 0; i < spec.containers.size(); ++i)
    if (spec.containers[i].resources)
      visit(path + ".containers[" + std::to_string(i) + "]", *spec.containers[i].resources);
}

std::string spec_path(size_t index) {
  return "spec.podSets[" + std::to_string(index) + "].template.spec";
}

void merge(ResourceMap& into, const ResourceMap& from, bool keep_smaller) {
  for (const auto& [name, quantity] : from) {
    auto [it, inserted] = into.try_emplace(name, quantity);
    if (!inserted && (keep_smaller ? quantity < it->second : it->second < quantity))
      it->second = quantity;
  }
}

// value * factor, rounded up to thousandths; saturating.
Quantity times(const Quantity& value, const Quantity& factor) {
  engine::Nanos product = static_cast<engine::Nanos>(value.milli_value()) * factor.scaled_value(-9);
  constexpr engine::Nanos kBillion = 1'000'000'000;
  engine::Nanos milli = product / kBillion + (product > 0 && product % kBillion != 0 ? 1 : 0);
  constexpr engine::Nanos kMax = INT64_MAX;
  return Quantity::of_milli(static_cast<int64_t>(std::clamp<engine::Nanos>(milli, -kMax, kMax)));
}

}  // namespace

LimitSummary summarize(const std::vector<const api::core::LimitRange*>& ranges) {
  LimitSummary out;
  for (const api::core::LimitRange* range : ranges) {
    for (const api::core::LimitRangeItem& item : range->spec.limits) {
      LimitSummary::Item& s = out.by_type[item.type];
      merge(s.max, item.max, true);
      merge(s.min, item.min, false);
      fill_missing(s.default_limit, item.default_);
      fill_missing(s.default_request, item.default_request);
    }
  }
  return out;
}

PodSpec adjusted(const PodSpec& spec, const LimitSummary& limits, const Surroundings& around) {
  PodSpec out = spec;
  if (out.overhead.empty() && !out.runtime_class_name.empty() && around.overhead_of)
    for (const auto& [name, quantity] : around.overhead_of(out.runtime_class_name))
      out.overhead[name] = quantity;
  auto container = limits.by_type.find("Container");
  const LimitSummary::Item* defaults =
      container == limits.by_type.end() ? nullptr : &container->second;
  for (Container& c : out.init_containers) adjust_resources(c.resources, defaults);
  for (Container& c : out.containers) adjust_resources(c.resources, defaults);
  if (out.resources) {
    auto pod = limits.by_type.find("Pod");
    adjust_resources(out.resources, pod == limits.by_type.end() ? nullptr : &pod->second);
  }
  return out;
}

ResourceMap pod_requests(const PodSpec& spec) {
  ResourceMap total, sidecars, init;
  for (const Container& c : spec.containers) add_all(total, requests_of(c));
  for (const Container& c : spec.init_containers) {
    ResourceMap here = requests_of(c);
    if (c.restart_policy == "Always") {
      add_all(sidecars, here);
      raise_to(init, sidecars);
    } else {
      add_all(here, sidecars);
      raise_to(init, here);
    }
  }
  add_all(total, sidecars);
  raise_to(total, init);
  if (spec.resources)
    for (const auto& [name, quantity] : spec.resources->requests)
      if (pod_level_resource(name)) total[name] = quantity;
  add_all(total, spec.overhead);
  return total;
}

ResourceMap quota_view(const ResourceMap& requests, const RequestRules& rules) {
  ResourceMap kept;
  for (const auto& [name, quantity] : requests) {
    bool excluded =
        std::any_of(rules.exclude_prefixes.begin(), rules.exclude_prefixes.end(),
                    [&](const std::string& prefix) { return name.starts_with(prefix); });
    if (!excluded) kept[name] = quantity;
  }
  if (rules.transformations.empty()) return kept;
  ResourceMap out;
  for (const auto& [name, quantity] : kept) {
    auto rule = std::find_if(rules.transformations.begin(), rules.transformations.end(),
                             [&](const Transformation& t) { return t.input == name; });
    if (rule == rules.transformations.end()) {
      out[name].add(quantity);
      continue;
    }
    Quantity base = quantity;
    if (!rule->multiply_by.empty())
      if (auto by = kept.find(rule->multiply_by); by != kept.end())
        base = times(quantity, by->second);
    for (const TransformOutput& output : rule->outputs) {
      Result<Quantity> factor = Quantity::parse(output.factor);
      if (!factor.ok()) continue;  // the Configuration was validated
      Quantity made = times(base, *factor);
      if (made.sign() > 0)
        out[output.resource].add(made);
      else
        out.try_emplace(output.resource);
    }
    if (rule->retain) out[name].add(quantity);
  }
  return out;
}

void add_devices(ResourceMap& requests, const DeviceRequests& devices) {
  for (const std::string& name : devices.replaced) requests.erase(name);
  for (const auto& [name, quantity] : devices.amounts) requests[name].add(quantity);
}

std::vector<std::string> limit_errors(const PodSpec& spec, size_t index) {
  std::vector<std::string> out;
  auto check = [&](const std::string& field, const api::core::ResourceRequirements& r) {
    if (auto names = greater(r.requests, r.limits); !names.empty())
      out.push_back(field_error(field, names, "requests must not exceed its limits"));
  };
  visit_containers(spec, spec_path(index), check);
  if (spec.resources) check(spec_path(index) + ".resources", *spec.resources);
  return out;
}

std::vector<std::string> limit_range_errors(const PodSpec& spec, const LimitSummary& limits,
                                            size_t index) {
  std::vector<std::string> out;
  auto check = [&](const std::string& field, const ResourceMap& requests,
                   const LimitSummary::Item& item) {
    if (auto names = greater(requests, item.max); !names.empty())
      out.push_back(field_error(field, names, "requests must not be above the limitRange max"));
    if (auto names = greater(item.min, requests); !names.empty())
      out.push_back(field_error(field, names, "requests must not be below the limitRange min"));
  };
  if (auto it = limits.by_type.find("Container"); it != limits.by_type.end())
    visit_containers(spec, spec_path(index),
                     [&](const std::string& field, const api::core::ResourceRequirements& r) {
                       ResourceMap upper = r.requests;
                       raise_to(upper, r.limits);
                       check(field, upper, it->second);
                     });
  if (auto it = limits.by_type.find("Pod"); it != limits.by_type.end())
    check(spec_path(index), pod_requests(spec), it->second);
  return out;
}

}  // namespace kueue::bridge
