#include "sim/places.h"

#include <algorithm>
#include <set>

#include "api/topology_assignment.h"
#include "schema/codec.h"

namespace kueue::sim {
namespace {

constexpr const char* kHost = "kubernetes.io/hostname";

std::map<std::string, std::string> texts_in(const json::Value* object) {
  std::map<std::string, std::string> out;
  if (object == nullptr || !object->is_object()) return out;
  for (const auto& [key, value] : object->as_object()) out[key] = value.string_or("");
  return out;
}

// Of the one pod set that Jobs have.
const json::Value& pod_set(const json::Value& workload) {
  return workload.find_path({"spec", "podSets"})->as_array()[0];
}

const json::Value& request_of(const json::Value& workload) {
  static const json::Value kNone = json::Value::object();
  const json::Value* request = pod_set(workload).find("topologyRequest");
  return request == nullptr ? kNone : *request;
}

bool asks(const json::Value& request) {
  return request.find("required") != nullptr || request.find("preferred") != nullptr ||
         request.get_bool({"unconstrained"}, false) ||
         request.find("podSetSliceRequiredTopology") != nullptr;
}

int64_t cpu_of(const json::Value& workload) {
  const json::Value& container =
      pod_set(workload).find_path({"template", "spec", "containers"})->as_array()[0];
  return amount(container.find_path({"resources", "requests", "cpu"}), "cpu");
}

const json::Value* assignment_of(const json::Value& workload) {
  const json::Value* sets = workload.find_path({"status", "admission", "podSetAssignments"});
  return sets == nullptr || !sets->is_array() || sets->as_array().empty() ? nullptr
                                                                          : &sets->as_array()[0];
}

bool by_host(const std::vector<std::string>& levels) {
  return !levels.empty() && levels.back() == kHost;
}

std::string text_of(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ",") + value;
  return text;
}

// Index of a level, -1 when there is no such.
int64_t level_at(const std::vector<std::string>& levels, std::string_view name) {
  const auto found = std::find(levels.begin(), levels.end(), name);
  return found == levels.end() ? -1 : found - levels.begin();
}

std::vector<std::string> above(const std::vector<std::string>& values, int64_t level) {
  return {values.begin(), values.begin() + level + 1};
}

}  // namespace

std::string label_of_level(std::string_view level) {
  return level == "host" ? kHost : "example.com/" + std::string(level);
}

void Places::changed(const Change& change) {
  if (change.before == nullptr || (change.plural != "nodes" && change.plural != "topologies" &&
                                   change.plural != "resourceflavors"))
    return;
  were_[{change.plural, name_of(*change.before)}].push_back(*change.before);
}

void Places::known() {
  were_.clear();
  held_.clear();
  for (const auto& [key, workload] : cluster_.all("workloads"))
    if (counts(workload)) held_.insert(uid_of(workload));
}

Places::Machine Places::machine_of(const json::Value& node) {
  Machine out;
  out.name = name_of(node);
  out.labels = texts_in(node.find_path({"metadata", "labels"}));
  out.cpu = amount(node.find_path({"status", "allocatable", "cpu"}), "cpu");
  out.pods = amount(node.find_path({"status", "allocatable", "pods"}), "pods");
  out.usable = is_true(node, "Ready") && !node.get_bool({"spec", "unschedulable"}, false);
  const json::Value* taints = node.find_path({"spec", "taints"});
  out.tainted = taints != nullptr && taints->is_array() && !taints->as_array().empty();
  return out;
}

std::vector<Places::Machine> Places::machines(bool only_now) const {
  std::vector<Machine> list;
  for (const auto& [key, node] : cluster_.all("nodes")) list.push_back(machine_of(node));
  if (only_now) return list;
  for (const auto& [key, nodes] : were_)
    if (key.first == "nodes")
      for (const json::Value& node : nodes) list.push_back(machine_of(node));
  return list;
}

std::vector<Places::Kind> Places::kinds_of(const std::string& flavor, bool only_now) const {
  const auto versions = [&](const char* plural, const std::string& name) {
    std::vector<const json::Value*> list;
    if (const json::Value* now = cluster_.find(plural, "", name)) list.push_back(now);
    const auto were = were_.find({plural, name});
    if (!only_now && were != were_.end())
      for (const json::Value& one : were->second) list.push_back(&one);
    return list;
  };
  std::vector<Kind> kinds;
  for (const json::Value* spec : versions("resourceflavors", flavor)) {
    const std::string name(spec->get_string({"spec", "topologyName"}));
    Kind kind{flavor, texts_in(spec->find_path({"spec", "nodeLabels"})), {}};
    if (name.empty()) {
      kinds.push_back(kind);
      continue;
    }
    for (const json::Value* topology : versions("topologies", name)) {
      kind.levels.clear();
      for (const json::Value& level : topology->find_path({"spec", "levels"})->as_array())
        kind.levels.emplace_back(level.get_string({"nodeLabel"}));
      kinds.push_back(kind);
    }
  }
  return kinds;
}

std::optional<Places::Values> Places::stand(const Machine& machine, const Kind& kind) {
  if (!machine.usable || (machine.tainted && by_host(kind.levels))) return std::nullopt;
  for (const auto& [key, value] : kind.labels)
    if (const auto found = machine.labels.find(key);
        found == machine.labels.end() || found->second != value)
      return std::nullopt;
  Values values;
  for (const std::string& level : kind.levels) {
    const auto found = machine.labels.find(level);
    if (found == machine.labels.end()) return std::nullopt;
    values.push_back(found->second);
  }
  return values;
}

std::vector<Places::Place> Places::places_of(const json::Value& assignment) {
  std::vector<Place> list;
  api::v1beta2::TopologyAssignment packed;
  const json::Value* given = assignment.find("topologyAssignment");
  if (given == nullptr) return list;
  using Packed = api::v1beta2::TopologyAssignment;
  if (!schema::decode_value(schema::value_binding<Packed>, *given, &packed).ok()) return list;
  const auto domains = api::unpack_topology(packed);
  if (!domains.ok()) return list;
  for (const api::TopologyDomain& domain : *domains) list.push_back({domain.values, domain.count});
  return list;
}

// Hosts are the same whatever the flavor; other domains are the flavor's own.
std::pair<int64_t, int64_t> Places::used(const Kind& kind, const Values& place,
                                         bool only_known) const {
  const bool host = by_host(kind.levels);
  std::pair<int64_t, int64_t> sum;
  for (const auto& [key, workload] : cluster_.all("workloads")) {
    if (!counts(workload)) continue;
    if (cluster_.find("clusterqueues", "",
                      std::string(workload.get_string({"status", "admission", "clusterQueue"}))) ==
        nullptr)
      continue;
    const json::Value* assigned = assignment_of(workload);
    if (assigned == nullptr || assigned->find("topologyAssignment") == nullptr) continue;
    const json::Value& levels = *assigned->find_path({"topologyAssignment", "levels"});
    const bool same = host ? levels.as_array().back().string_or("") == kHost
                           : assigned->get_string({"flavors", "cpu"}) == kind.flavor &&
                                 levels.as_array().size() == place.size();
    if (!same) continue;
    if (only_known && assigned->get_string({"flavors", "cpu"}) != kind.flavor &&
        !held_.contains(uid_of(workload)))
      continue;
    for (const Place& one : places_of(*assigned)) {
      if (host ? one.values.back() != place.back() : one.values != place) continue;
      sum.first += one.count;
      sum.second += one.count * cpu_of(workload);
    }
  }
  return sum;
}

std::string Places::judge(const json::Value& workload) const {
  const json::Value* assigned = assignment_of(workload);
  if (assigned == nullptr || assigned->get_int({"count"}) == 0) return "";
  const bool placed = assigned->find("topologyAssignment") != nullptr;
  if (!placed) return asks(request_of(workload)) ? "nobody was told where its pods go" : "";
  int64_t sum = 0;
  for (const Place& place : places_of(*assigned)) sum += place.count;
  // What is beyond the last whole slice gets none, as in Kueue.
  const int64_t size = request_of(workload).get_int({"podSetSliceSize"}, 1);
  const int64_t wanted = assigned->get_int({"count"}) / size * size;
  if (sum != wanted) return "its places are not for all of its pods";
  if (wanted == 0) return "";
  std::string first;
  for (const Kind& kind : kinds_of(std::string(assigned->get_string({"flavors", "cpu"})), false)) {
    if (kind.levels.empty()) continue;
    const std::string wrong = judge_in(kind, workload, *assigned);
    if (wrong.empty()) return "";
    if (first.empty()) first = wrong;
  }
  return first.empty() ? "its flavor never had a topology" : first;
}

std::string Places::judge_in(const Kind& kind, const json::Value& workload,
                             const json::Value& assigned) const {
  const bool host = by_host(kind.levels);
  Values told;
  for (const json::Value& level : assigned.find_path({"topologyAssignment", "levels"})->as_array())
    told.emplace_back(level.string_or(""));
  if (told != (host ? Values{kHost} : kind.levels)) return "its places are of other levels";
  const std::vector<Place> places = places_of(assigned);
  const std::vector<Machine> all = machines(false);
  std::vector<std::vector<const Machine*>> there;
  for (const Place& place : places) {
    there.emplace_back();
    for (const Machine& machine : all)
      if (const auto values = stand(machine, kind))
        if (host ? values->back() == place.values.back() : *values == place.values)
          there.back().push_back(&machine);
    if (const std::string wrong = judge_place(kind, place, there.back()); !wrong.empty())
      return wrong;
  }
  return judge_levels(kind, request_of(workload), places, there);
}

std::string Places::judge_place(const Kind& kind, const Place& place,
                                const std::vector<const Machine*>& there) const {
  if (there.empty()) return "no usable node is at a place of its pods: " + text_of(place.values);
  // The most that each machine offered.
  std::map<std::string, std::pair<int64_t, int64_t>> offered;
  for (const Machine* machine : there) {
    auto& [pods, cpu] = offered[machine->name];
    pods = std::max(pods, machine->pods);
    cpu = std::max(cpu, machine->cpu);
  }
  std::pair<int64_t, int64_t> room;
  for (const auto& [name, offer] : offered) {
    room.first += offer.first;
    room.second += offer.second;
  }
  const auto [pods, cpu] = used(kind, place.values, true);
  if (pods <= room.first && cpu <= room.second) return "";
  return "more is placed than a node has: " + text_of(place.values) + " has " +
         std::to_string(room.second) + "m cpu and " + std::to_string(room.first) +
         " pods, placed are " + std::to_string(cpu) + "m and " + std::to_string(pods);
}

std::string Places::judge_levels(const Kind& kind, const json::Value& request,
                                 const std::vector<Place>& places,
                                 const std::vector<std::vector<const Machine*>>& there) const {
  const auto domains = [&](size_t i, int64_t level) {
    std::set<Values> set;
    for (const Machine* machine : there[i]) set.insert(above(*stand(*machine, kind), level));
    return set;
  };
  if (const std::string_view required = request.get_string({"required"}); !required.empty()) {
    const int64_t level = level_at(kind.levels, required);
    if (level < 0) return "a level is required that its topology does not have";
    std::set<Values> common = domains(0, level);
    for (size_t i = 1; i < places.size(); ++i) {
      const std::set<Values> here = domains(i, level);
      std::erase_if(common, [&](const Values& one) { return !here.contains(one); });
    }
    if (common.empty()) return "its pods are in several domains of the required level";
  }
  const std::string_view sliced = request.get_string({"podSetSliceRequiredTopology"});
  const int64_t size = request.get_int({"podSetSliceSize"}, 1);
  if (sliced.empty()) return "";
  const int64_t level = level_at(kind.levels, sliced);
  if (level < 0) return "slices are of a level that its topology does not have";
  std::map<Values, int64_t> pods;
  for (size_t i = 0; i < places.size(); ++i) {
    const std::set<Values> here = domains(i, level);
    if (here.size() != 1) return "";  // it moved meanwhile: nobody knows
    pods[*here.begin()] += places[i].count;
  }
  for (const auto& [domain, count] : pods)
    if (count % size != 0) return "a slice is spread over several domains";
  return "";
}

bool Places::fits(const json::Value& workload, const json::Value& queue, const std::string& flavor,
                  int64_t pods) const {
  const std::vector<Kind> kinds = kinds_of(flavor, true);
  if (kinds.empty()) return false;
  const Kind& kind = kinds.front();
  const json::Value& request = request_of(workload);
  if (kind.levels.empty()) return !asks(request);
  if (!asks(request)) {
    bool implied = true;
    for (const json::Value& group : queue.find_path({"spec", "resourceGroups"})->as_array())
      for (const json::Value& one : group.find("flavors")->as_array()) {
        const auto theirs = kinds_of(std::string(one.get_string({"name"})), true);
        implied = implied && !theirs.empty() && !theirs.front().levels.empty();
      }
    if (!implied) return false;
  }
  const auto index = [&](const char* key, int64_t fallback) {
    const std::string_view name = request.get_string({key});
    return name.empty() ? fallback : level_at(kind.levels, name);
  };
  const auto lowest = static_cast<int64_t>(kind.levels.size()) - 1;
  const int64_t required = index("required", 0), preferred = index("preferred", 0);
  const int64_t sliced = index("podSetSliceRequiredTopology", lowest);
  const int64_t size = request.get_int({"podSetSliceSize"}, 1);
  if (required < 0 || preferred < 0 || sliced < std::max(required, preferred)) return false;
  if (pods < size) return false;
  std::map<Values, std::pair<int64_t, int64_t>> room;  // of the lowest domains: pods, cpu
  for (const Machine& machine : machines(true))
    if (const auto values = stand(machine, kind)) {
      room[*values].first += machine.pods;
      room[*values].second += machine.cpu;
    }
  std::map<Values, int64_t> in_slices;
  for (const auto& [values, offered] : room) {
    const auto [taken_pods, taken_cpu] = used(kind, values, false);
    const int64_t more =
        std::min(offered.first - taken_pods,
                 (offered.second - taken_cpu) / std::max<int64_t>(1, cpu_of(workload)));
    in_slices[above(values, sliced)] += std::max<int64_t>(0, more);
  }
  std::map<Values, int64_t> slices;
  for (const auto& [values, count] : in_slices) {
    const bool one_domain = !request.get_string({"required"}).empty();
    slices[one_domain ? above(values, required) : Values{}] += count / size;
  }
  return std::any_of(slices.begin(), slices.end(),
                     [&](const auto& domain) { return domain.second >= pods / size; });
}

}  // namespace kueue::sim
