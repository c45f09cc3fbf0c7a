#include "sim/people.h"

#include <algorithm>

#include "json/json.h"
#include "sim/look.h"
#include "sim/places.h"
#include "wire/path.h"

namespace kueue::sim {
namespace {

constexpr const char* kHold = "example.com/hold";

std::vector<std::string> parts(const std::string& text, char by) {
  std::vector<std::string> list;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(by, begin), text.size());
    list.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return list;
}

json::Value object_of(std::string_view plural, const std::string& namespace_,
                      const std::string& name) {
  const kube::Resource resource = resource_of(plural);
  json::Value object =
      json::Value::object({{"apiVersion", resource.api_version()}, {"kind", resource.kind}});
  object.at_path({"metadata", "name"}) = name;
  if (!namespace_.empty()) object.at_path({"metadata", "namespace"}) = namespace_;
  return object;
}

// "f0:4:2:1,f1:3" = nominal, borrowing limit, lending limit.
json::Value groups_of(const std::string& text) {
  json::Value flavors = json::Value::array();
  for (const std::string& part : parts(text, ',')) {
    const auto numbers = parts(part, ':');
    if (numbers.size() < 2) continue;
    json::Value resource = json::Value::object({{"name", "cpu"}, {"nominalQuota", numbers[1]}});
    if (numbers.size() > 2 && !numbers[2].empty()) resource["borrowingLimit"] = numbers[2];
    if (numbers.size() > 3 && !numbers[3].empty()) resource["lendingLimit"] = numbers[3];
    flavors.as_array().push_back(json::Value::object(
        {{"name", numbers[0]}, {"resources", json::Value::array({std::move(resource)})}}));
  }
  return json::Value::array({json::Value::object(
      {{"coveredResources", json::Value::array({"cpu"})}, {"flavors", std::move(flavors)}})});
}

}  // namespace

void People::furnish() {
  for (const char* name : {"a", "b", "kueue-system"})
    put("namespaces", object_of("namespaces", "", name));
  for (const char* name : {"k0", "k1"}) {
    json::Value check = object_of("admissionchecks", "", name);
    check.at_path({"spec", "controllerName"}) = "example.com/checks";
    put("admissionchecks", std::move(check));
    merge("admissionchecks/status", "", name,
          *json::parse(R"({"status":{"conditions":[{"type":"Active","status":"True",
            "reason":"Active","message":"ok","lastTransitionTime":"2023-11-14T22:13:20Z"}]}})"));
  }
}

// Creates, or takes over the spec of what is there.
void People::put(const char* plural, json::Value object) {
  const kube::Resource resource = resource_of(plural);
  const std::string namespace_ = namespace_of(object);
  const json::Value* there = cluster_.find(plural, namespace_, name_of(object));
  if (there == nullptr) {
    (void)client().create(resource, namespace_, object).ok();
    return;
  }
  json::Value changed = *there;
  for (const char* part : {"spec", "value"})
    if (json::Value* now = object.find(part)) changed[part] = std::move(*now);
  (void)client().update(resource, changed).ok();
}

void People::remove(const char* plural, const std::string& namespace_, const std::string& name,
                    const std::string& propagation) {
  kube::DeleteOptions options;
  options.propagation = propagation;
  (void)client().remove(resource_of(plural), {namespace_, name}, options).ok();
}

void People::merge(const char* plural, const std::string& namespace_, const std::string& name,
                   const json::Value& patch) {
  const auto [kind, subresource] = [&] {
    const std::string text = plural;
    const size_t slash = text.find('/');
    return slash == std::string::npos ? std::pair(text, std::string())
                                      : std::pair(text.substr(0, slash), text.substr(slash + 1));
  }();
  kube::WriteOptions options;
  options.subresource = subresource;
  (void)client()
      .patch(resource_of(kind), {namespace_, name}, kube::PatchType::kMerge, patch, options)
      .ok();
}

void People::add_queue(const Step& step) {
  json::Value object = object_of("clusterqueues", "", step.name);
  json::Value& spec = object["spec"];
  spec = json::Value::object();
  spec["namespaceSelector"] = json::Value::object();
  if (step.get("namespaces") == "marked")
    spec.at_path({"namespaceSelector", "matchLabels", "marked"}) = "yes";
  if (!step.get("cohort").empty()) spec["cohortName"] = step.get("cohort");
  spec["resourceGroups"] = groups_of(step.get("quota"));
  if (!step.get("strategy").empty()) spec["queueingStrategy"] = step.get("strategy");
  if (!step.get("stop").empty()) spec["stopPolicy"] = step.get("stop");
  json::Value& preemption = spec["preemption"];
  preemption = json::Value::object({{"withinClusterQueue", step.get("within", "Never")},
                                    {"reclaimWithinCohort", step.get("reclaim", "Never")}});
  if (!step.get("borrow-within").empty())
    preemption.at_path({"borrowWithinCohort", "policy"}) = step.get("borrow-within");
  if (!step.get("borrow-first").empty())
    spec.at_path({"flavorFungibility", "whenCanBorrow"}) = step.get("borrow-first");
  if (step.get("by-usage") == "1")
    spec.at_path({"admissionScope", "admissionMode"}) = "UsageBasedAdmissionFairSharing";
  if (!step.get("checks").empty()) {
    json::Value list = json::Value::array();
    for (const std::string& name : parts(step.get("checks"), ','))
      list.as_array().push_back(json::Value::object({{"name", name}}));
    spec.at_path({"admissionChecksStrategy", "admissionChecks"}) = std::move(list);
  }
  put("clusterqueues", std::move(object));
}

void People::add_cohort(const Step& step) {
  json::Value object = object_of("cohorts", "", step.name);
  json::Value& spec = object["spec"];
  spec = json::Value::object();
  if (!step.get("parent").empty()) spec["parentName"] = step.get("parent");
  if (!step.get("quota").empty()) spec["resourceGroups"] = groups_of(step.get("quota"));
  put("cohorts", std::move(object));
}

void People::add_flavor(const Step& step) {
  json::Value object = object_of("resourceflavors", "", step.name);
  json::Value& spec = object["spec"];
  spec = json::Value::object();
  if (!step.get("label").empty()) spec.at_path({"nodeLabels", "pool"}) = step.get("label");
  if (step.get("taint") == "1")
    spec["nodeTaints"] = json::Value::array(
        {json::Value::object({{"key", "busy"}, {"value", "yes"}, {"effect", "NoSchedule"}})});
  if (!step.get("topology").empty()) spec["topologyName"] = step.get("topology");
  put("resourceflavors", std::move(object));
}

void People::add_topology(const Step& step) {
  json::Value object = object_of("topologies", "", step.name);
  json::Value list = json::Value::array();
  for (const std::string& level : parts(step.get("levels"), ','))
    list.as_array().push_back(json::Value::object({{"nodeLabel", label_of_level(level)}}));
  object.at_path({"spec", "levels"}) = std::move(list);
  put("topologies", std::move(object));
}

// A node is made, or gets other labels and amounts, or (node-state) another state.
void People::add_node(const Step& step) {
  const json::Value* there = cluster_.find("nodes", "", step.name);
  if (step.verb == "node-state" && there == nullptr) return;
  if (there == nullptr) put("nodes", object_of("nodes", "", step.name));
  there = cluster_.find("nodes", "", step.name);
  if (there == nullptr) return;
  if (step.verb == "node") {
    json::Value changed = *there;
    json::Value& labels = changed.at_path({"metadata", "labels"});
    labels = json::Value::object({{"kubernetes.io/hostname", step.name}});
    if (!step.get("pool").empty()) labels["pool"] = step.get("pool");
    for (const char* level : {"block", "rack"})
      if (!step.get(level).empty()) labels[label_of_level(level)] = step.get(level);
    (void)client().update(resource_of("nodes"), changed).ok();
    json::Value status;
    status.at_path({"status", "allocatable"}) =
        json::Value::object({{"cpu", step.get("cpu", "4")}, {"pods", step.get("pods", "110")}});
    merge("nodes/status", "", step.name, status);
  }
  if (!step.get("ready").empty()) {
    json::Value status;
    status.at_path({"status", "conditions"}) = json::Value::array(
        {json::Value::object({{"type", "Ready"},
                              {"status", step.get("ready") == "1" ? "True" : "Unknown"},
                              {"reason", "Told"},
                              {"message", ""}})});
    merge("nodes/status", "", step.name, status);
  }
  json::Value spec;
  if (!step.get("cordoned").empty())
    spec.at_path({"spec", "unschedulable"}) = step.get("cordoned") == "1";
  if (!step.get("taint").empty()) {
    spec.at_path({"spec", "taints"}) = json::Value::array();
    if (step.get("taint") == "1")
      spec.at_path({"spec", "taints"}) = json::Value::array(
          {json::Value::object({{"key", "broken"}, {"value", "yes"}, {"effect", "NoSchedule"}})});
  }
  if (!spec.is_null()) merge("nodes", "", step.name, spec);
}

void People::add_job(const Step& step) {
  const auto [namespace_, name] = step.key();
  json::Value object = object_of("jobs", namespace_, name);
  json::Value& metadata = object["metadata"];
  json::Value& labels = metadata["labels"];
  labels = json::Value::object({{"kueue.x-k8s.io/queue-name", step.get("queue")}});
  if (!step.get("class").empty()) labels["kueue.x-k8s.io/priority-class"] = step.get("class");
  if (!step.get("limit").empty())
    labels["kueue.x-k8s.io/max-exec-time-seconds"] = step.get("limit");
  json::Value& annotations = metadata["annotations"];
  annotations = json::Value::object();
  for (const char* key : {"runs", "ready", "ends", "fails"})
    if (!step.get(key).empty()) annotations[std::string("sim/") + key] = step.get(key);
  if (!step.get("min").empty()) annotations["kueue.x-k8s.io/job-min-parallelism"] = step.get("min");
  const int64_t pods = step.number_of("pods", 1);
  json::Value& spec = object["spec"];
  spec = *json::parse(R"({"template":{"spec":{"restartPolicy":"Never","containers":[
      {"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}}})");
  spec["suspend"] = step.get("unsuspended") != "1";
  spec["parallelism"] = pods;
  spec["completions"] = pods;
  spec.find_path({"template", "spec", "containers"})
      ->as_array()[0]
      .at_path({"resources", "requests", "cpu"}) = step.get("cpu", "1");
  const auto ask = [&](const char* annotation, const std::string& value) {
    spec.at_path({"template", "metadata", "annotations",
                  std::string("kueue.x-k8s.io/podset-") + annotation}) = value;
  };
  for (const char* how : {"required", "preferred", "slice-required"})
    if (const std::string level = step.get(how); !level.empty())
      ask((std::string(how) + "-topology").c_str(), label_of_level(level));
  if (step.get("unconstrained") == "1") ask("unconstrained-topology", "true");
  if (!step.get("slice-size").empty()) ask("slice-size", step.get("slice-size"));
  (void)client().create(resource_of("jobs"), namespace_, object).ok();
}

void People::change_job(const Step& step) {
  const auto [namespace_, name] = step.key();
  const json::Value* job = cluster_.find("jobs", namespace_, name);
  if (job == nullptr) return;
  json::Value patch;
  if (step.verb == "suspend") {
    patch.at_path({"spec", "suspend"}) = step.get("on") == "1";
  } else if (step.verb == "move") {
    patch.at_path({"metadata", "labels", "kueue.x-k8s.io/queue-name"}) = step.get("queue");
  } else if (step.verb == "classify") {
    patch.at_path({"metadata", "labels", "kueue.x-k8s.io/priority-class"}) = step.get("class");
  } else {
    // The webhook, which this cluster does not have, wants more than the least.
    const int64_t pods = step.number_of("pods", 1);
    const std::string least(
        job->get_string({"metadata", "annotations", "kueue.x-k8s.io/job-min-parallelism"}));
    if (!least.empty() && pods <= std::strtoll(least.c_str(), nullptr, 10)) return;
    patch.at_path({"spec", "parallelism"}) = pods;
  }
  merge("jobs", namespace_, name, patch);
}

void People::change_workload(const Step& step) {
  const auto [namespace_, name] = step.key();
  const json::Value* job = cluster_.find("jobs", namespace_, name);
  const json::Value* workload = job == nullptr ? nullptr : workload_of(cluster_, *job);
  if (workload == nullptr) return;
  const std::string workload_name = name_of(*workload);
  if (step.verb == "active") {
    json::Value patch;
    patch.at_path({"spec", "active"}) = step.get("on") == "1";
    merge("workloads", namespace_, workload_name, patch);
  } else if (step.verb == "delete-workload") {
    remove("workloads", namespace_, workload_name);
  } else {
    const json::Value copy = *workload;
    scribble(copy, step.get("what"));
  }
}

// Somebody else writes the status of a Workload.
void People::scribble(const json::Value& workload, const std::string& what) {
  json::Value object = workload;
  const std::string now = format_time(cluster_.scheduler().now());
  const auto set = [&](const char* type, const char* status, const char* why) {
    json::Value& all = object.at_path({"status", "conditions"});
    if (!all.is_array()) all = json::Value::array();
    std::erase_if(all.as_array(),
                  [&](const json::Value& c) { return c.get_string({"type"}) == type; });
    all.as_array().push_back(json::Value::object({{"type", type},
                                                  {"status", status},
                                                  {"reason", why},
                                                  {"message", "somebody wrote this"},
                                                  {"lastTransitionTime", now}}));
  };
  if (what == "evicted") {
    set("Evicted", "True", "Preempted");
  } else if (what == "unreserve") {
    object.erase_path({"status", "admission"});
    set("QuotaReserved", "False", "Pending");
    set("Admitted", "False", "NoReservation");
  } else if (what == "no-conditions") {
    object.erase_path({"status", "conditions"});
    object.erase_path({"status", "admission"});
  } else if (what == "admitted") {
    set("Admitted", "True", "Admitted");
  } else if (what == "checks") {
    object.erase_path({"status", "admissionChecks"});
  } else {
    set("ForeignCondition", "True", "Foreign");
  }
  kube::WriteOptions options;
  options.subresource = "status";
  (void)cluster_.client_of("stranger").update(resource_of("workloads"), object, options).ok();
}

void People::hold(const Step& step) {
  const auto [namespace_, name] = step.key();
  const json::Value* job = cluster_.find("jobs", namespace_, name);
  const std::string plural = step.get("of", "jobs");
  const json::Value* object =
      job != nullptr && plural == "workloads" ? workload_of(cluster_, *job) : job;
  if (object == nullptr) return;
  json::Value changed = *object;
  json::Value& list = changed.at_path({"metadata", "finalizers"});
  if (!list.is_array()) list = json::Value::array();
  std::erase_if(list.as_array(), [](const json::Value& f) { return f.string_or("") == kHold; });
  if (step.get("on") == "1") list.as_array().push_back(kHold);
  (void)client().update(resource_of(plural), changed).ok();
}

void People::let_go() {
  for (const char* plural : {"jobs", "workloads"}) {
    const auto all = cluster_.all(plural);
    for (const auto& [key, object] : all) {
      const json::Value* list = object.find_path({"metadata", "finalizers"});
      if (list == nullptr) continue;
      json::Value changed = object;
      const auto gone =
          std::erase_if(changed.at_path({"metadata", "finalizers"}).as_array(),
                        [](const json::Value& f) { return f.string_or("") == kHold; });
      if (gone > 0) (void)client().update(resource_of(plural), changed).ok();
    }
  }
}

void People::touch(const wire::Request& request) {
  const auto path = wire::parse_resource_path(request.path);
  if (!path || path->name.empty() || !cluster_.looks_at(path->resource)) return;
  json::Value patch;
  patch.at_path({"metadata", "labels", "touched"}) = std::to_string(++touches_);
  merge(path->resource.c_str(), path->namespace_, path->name, patch);
}

bool People::act(const Step& step) {
  const std::string& verb = step.verb;
  const auto [namespace_, name] = step.key();
  if (verb == "queue") {
    add_queue(step);
  } else if (verb == "cohort") {
    add_cohort(step);
  } else if (verb == "flavor") {
    add_flavor(step);
  } else if (verb == "topology") {
    add_topology(step);
  } else if (verb == "node" || verb == "node-state") {
    add_node(step);
  } else if (verb == "local") {
    json::Value object = object_of("localqueues", namespace_, name);
    object.at_path({"spec", "clusterQueue"}) = step.get("queue");
    const json::Value* there = cluster_.find("localqueues", namespace_, name);
    // Where a queue points to never changes.
    if (there != nullptr)
      object.at_path({"spec", "clusterQueue"}) = there->get_string({"spec", "clusterQueue"});
    object.at_path({"spec", "stopPolicy"}) = step.get("stop", "None");
    if (!step.get("weight").empty())
      object.at_path({"spec", "fairSharing", "weight"}) = step.get("weight");
    put("localqueues", std::move(object));
  } else if (verb == "class") {
    json::Value object = object_of("workloadpriorityclasses", "", step.name);
    object["value"] = step.number_of("value", 0);
    put("workloadpriorityclasses", std::move(object));
  } else if (verb == "check") {
    machines_.set_answer(step.name, step.get("answer", "Ready"));
    if (cluster_.find("admissionchecks", "", step.name) == nullptr) furnish();
  } else if (verb == "stop-queue") {
    json::Value patch;
    patch.at_path({"spec", "stopPolicy"}) = step.get("policy", "None");
    merge("clusterqueues", "", step.name, patch);
  } else if (verb == "label-namespace") {
    json::Value patch;
    patch.at_path({"metadata", "labels", "marked"}) =
        step.get("on") == "1" ? json::Value("yes") : json::Value(nullptr);
    merge("namespaces", "", step.name, patch);
  } else if (verb == "delete") {
    remove(namespace_.c_str(), "", name);
  } else if (verb == "delete-local") {
    remove("localqueues", namespace_, name);
  } else if (verb == "job") {
    add_job(step);
  } else if (verb == "delete-job") {
    remove("jobs", namespace_, name, step.get("propagation", "Background"));
  } else if (verb == "suspend" || verb == "move" || verb == "classify" || verb == "resize") {
    change_job(step);
  } else if (verb == "active" || verb == "delete-workload" || verb == "scribble") {
    change_workload(step);
  } else if (verb == "hold") {
    hold(step);
  } else if (verb == "unready") {
    machines_.lose_pods(namespace_, name);
  } else if (verb == "end") {
    machines_.end(namespace_, name, step.get("fails") == "1");
  } else if (verb == "partly") {
    machines_.end_some(namespace_, name);
  } else {
    return false;
  }
  return true;
}

}  // namespace kueue::sim
