#include "standins/nodes.h"

#include <charconv>
#include <string>

#include "api/quantity.h"

namespace kueue::standins {

namespace {

constexpr int kMaxNodes = 10'000;
constexpr int kPodsPerNode = 110;

Error bad(std::string_view part, const std::string& rule) {
  return make_error(ErrorCode::kInvalid, "--nodes: \"" + std::string(part) + "\": " + rule);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

struct Group {
  int count = 0;
  json::Value resources = json::Value::object();
};

Result<void> add_resource(Group& group, std::string_view part) {
  std::string_view name = "memory", amount = part;
  if (size_t equals = part.find('='); equals != std::string_view::npos) {
    name = part.substr(0, equals);
    amount = part.substr(equals + 1);
  } else if (part.ends_with("cpu")) {
    name = "cpu";
    amount = part.substr(0, part.size() - 3);
  }
  Result<api::Quantity> quantity = api::Quantity::parse(amount);
  if (name.empty() || !quantity.ok() || quantity->sign() <= 0)
    return bad(part,
               "must be a number of CPUs (8cpu), an amount of memory (32Gi) or NAME=QUANTITY");
  if (group.resources.find(name) != nullptr) return bad(part, "is there twice");
  group.resources[name] = quantity->to_string();
  return {};
}

Result<Group> parse_group(std::string_view text) {
  Group group;
  size_t times = text.find('x');
  std::string_view count = text.substr(0, times);
  auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), group.count);
  if (times == std::string_view::npos || error != std::errc() ||
      end != count.data() + count.size() || group.count < 1 || group.count > kMaxNodes)
    return bad(text, "must start with a number of nodes from 1 to 10000, as in 4x8cpu,32Gi");
  for (std::string_view part : split(text.substr(times + 1), ',')) {
    if (part.empty()) return bad(text, "must name resources, as in 4x8cpu,32Gi");
    KUEUE_TRY(add_resource(group, part));
  }
  if (group.resources.find("cpu") == nullptr || group.resources.find("memory") == nullptr)
    return bad(text, "must have CPUs and memory, as in 4x8cpu,32Gi");
  if (group.resources.find("pods") == nullptr)
    group.resources["pods"] = std::to_string(kPodsPerNode);
  return group;
}

json::Value condition(std::string_view type, std::string_view status, std::string_view reason,
                      std::string_view message, Instant now) {
  std::string time = format_time(now);
  return json::Value::object({{"type", type},
                              {"status", status},
                              {"lastHeartbeatTime", time},
                              {"lastTransitionTime", time},
                              {"reason", reason},
                              {"message", message}});
}

json::Value make_node(const std::string& name, const json::Value& resources, Instant now) {
  json::Value node = json::Value::object({{"apiVersion", "v1"}, {"kind", "Node"}});
  node.at_path({"metadata", "name"}) = name;
  node.at_path({"metadata", "labels"}) = json::Value::object({{"beta.kubernetes.io/arch", "amd64"},
                                                              {"beta.kubernetes.io/os", "linux"},
                                                              {"kubernetes.io/arch", "amd64"},
                                                              {"kubernetes.io/hostname", name},
                                                              {"kubernetes.io/os", "linux"}});
  node["spec"] = json::Value::object();
  json::Value& status = node["status"];
  status["capacity"] = resources;
  status["allocatable"] = resources;
  status["conditions"] = json::Value::array(
      {condition("MemoryPressure", "False", "KubeletHasSufficientMemory",
                 "kubelet has sufficient memory available", now),
       condition("DiskPressure", "False", "KubeletHasNoDiskPressure",
                 "kubelet has no disk pressure", now),
       condition("PIDPressure", "False", "KubeletHasSufficientPID",
                 "kubelet has sufficient PID available", now),
       condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", now)});
  status["nodeInfo"] = json::Value::object({{"architecture", "amd64"},
                                            {"bootID", ""},
                                            {"containerRuntimeVersion", "standin://1"},
                                            {"kernelVersion", ""},
                                            {"kubeProxyVersion", ""},
                                            {"kubeletVersion", "v1.36.3"},
                                            {"machineID", ""},
                                            {"operatingSystem", "linux"},
                                            {"osImage", "stand-in"},
                                            {"systemUUID", ""}});
  return node;
}

}  // namespace

Result<std::vector<json::Value>> parse_nodes(std::string_view text, Instant now) {
  std::vector<json::Value> result;
  if (text.empty() || text == "none") return result;
  for (std::string_view part : split(text, '+')) {
    KUEUE_ASSIGN(Group group, parse_group(part));
    for (int i = 0; i < group.count; ++i) {
      if (result.size() == static_cast<size_t>(kMaxNodes)) return bad(text, "at most 10000 nodes");
      result.push_back(
          make_node("node-" + std::to_string(result.size() + 1), group.resources, now));
    }
  }
  return result;
}

}  // namespace kueue::standins
