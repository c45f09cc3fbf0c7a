// kueue describe: an object in readable form with its events. A Workload begins with where it
// stands and why it waits; other kinds show their fields.
#include <algorithm>

#include "base/age.h"
#include "cli/actions.h"
#include "cli/table.h"
#include "json/json.h"

namespace kueue::cli {
namespace {

// "creationTimestamp" -> "Creation Timestamp". What is no field name stays as it is: keys of labels
// and resources.
std::string title(std::string_view name) {
  if (name == "uid") return "UID";
  const bool field = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
  if (!field) return std::string(name);
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool upper = c >= 'A' && c <= 'Z';
    const bool previous_lower = i > 0 && name[i - 1] >= 'a' && name[i - 1] <= 'z';
    if (upper && previous_lower) out += ' ';
    out += i == 0 && c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  }
  return out;
}

std::string scalar(const json::Value& value) {
  if (value.is_string()) return value.as_string();
  return json::write(value);
}

bool is_scalar(const json::Value& value) { return !value.is_object() && !value.is_array(); }

void print_tree(const json::Value& value, size_t indent, std::string* out);

// `width` is that of the longest label beside this one, so that values stand below each other.
void print_member(const std::string& key, const json::Value& value, size_t indent, size_t width,
                  std::string* out) {
  const std::string pad(indent, ' ');
  if (is_scalar(value)) {
    *out += pad + key + ":" + std::string(width - display_width(key) + 2, ' ') + scalar(value);
    *out += "\n";
  } else {
    *out += pad + key + ":\n";
    print_tree(value, indent + 2, out);
  }
}

void print_tree(const json::Value& value, size_t indent, std::string* out) {
  if (value.is_object()) {
    std::vector<const json::Object::Member*> members;
    size_t width = 0;
    for (const auto& member : value.as_object()) {
      members.push_back(&member);
      if (is_scalar(member.second)) width = std::max(width, display_width(title(member.first)));
    }
    std::sort(members.begin(), members.end(), [](auto* a, auto* b) { return a->first < b->first; });
    for (const auto* member : members)
      print_member(title(member->first), member->second, indent, width, out);
    return;
  }
  if (!value.is_array()) {
    *out += std::string(indent, ' ') + scalar(value) + "\n";
    return;
  }
  for (const json::Value& item : value.as_array()) print_tree(item, indent, out);
}

void print_map(const char* name, const json::Value* map, std::string* out) {
  const std::string label = std::string(name) + ":";
  if (map == nullptr || !map->is_object() || map->as_object().empty()) {
    *out += label + std::string(14 - std::min<size_t>(13, label.size()), ' ') + "<none>\n";
    return;
  }
  std::vector<std::string> lines;
  for (const auto& [key, value] : map->as_object()) {
    std::string text = scalar(value);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    lines.push_back(key + "=" + text);
  }
  std::sort(lines.begin(), lines.end());
  bool first = true;
  for (const std::string& line : lines) {
    *out += (first ? label + std::string(14 - std::min<size_t>(13, label.size()), ' ')
                   : std::string(14, ' ')) +
            line + "\n";
    first = false;
  }
}

void print_line(const char* name, std::string_view value, std::string* out) {
  const std::string label = std::string(name) + ":";
  *out +=
      label + std::string(14 - std::min<size_t>(13, label.size()), ' ') + std::string(value) + "\n";
}

const json::Value* condition(const json::Value& object, std::string_view type) {
  const json::Value* list = object.find_path({"status", "conditions"});
  if (list == nullptr || !list->is_array()) return nullptr;
  for (const json::Value& one : list->as_array()) {
    if (one.get_string({"type"}) == type) return &one;
  }
  return nullptr;
}

bool is_true(const json::Value* one) {
  return one != nullptr && one->get_string({"status"}) == "True";
}

std::string quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

// What a workload without any decision waits for, from the queues it is in.
std::string undecided(const Context& context, const ResourceType& type,
                      const json::Value& workload) {
  const std::string queue(workload.get_string({"spec", "queueName"}));
  const std::string ns(workload.get_string({"metadata", "namespace"}));
  if (queue.empty()) return "no queue: spec.queueName is empty";
  ResourceType queues = type;
  queues.plural = "localqueues";
  const auto local = context.cluster.request("GET", Cluster::path(queues, ns, queue));
  if (!local.ok()) {
    if (local.error().code != ErrorCode::kNotFound) return "no decision yet";
    return "LocalQueue " + quoted(queue) + " does not exist in namespace " + quoted(ns);
  }
  const std::string_view held = local->get_string({"spec", "stopPolicy"}, "None");
  if (held != "None")
    return "LocalQueue " + quoted(queue) + " is stopped: spec.stopPolicy is " + std::string(held);
  const std::string name(local->get_string({"spec", "clusterQueue"}));
  queues.plural = "clusterqueues";
  queues.namespaced = false;
  const auto cluster_queue = context.cluster.request("GET", Cluster::path(queues, "", name));
  if (!cluster_queue.ok()) {
    if (cluster_queue.error().code != ErrorCode::kNotFound) return "no decision yet";
    return "ClusterQueue " + quoted(name) + " of LocalQueue " + quoted(queue) + " does not exist";
  }
  const json::Value* active = condition(*cluster_queue, "Active");
  if (active == nullptr)
    return "no decision yet; ClusterQueue " + quoted(name) +
           " has no status: does the manager run?";
  if (!is_true(active)) {
    return "ClusterQueue " + quoted(name) +
           " is inactive: " + std::string(active->get_string({"message"}));
  }
  const bool strict = cluster_queue->get_string({"spec", "queueingStrategy"}) == "StrictFIFO";
  return "not its turn yet in ClusterQueue " + quoted(name) + " (" +
         std::to_string(cluster_queue->get_int({"status", "pendingWorkloads"})) + " pending" +
         (strict ? "; StrictFIFO: none passes the first" : "; those before it wait for quota") +
         ")";
}

// One sentence: where the workload stands and, when it waits, what for.
std::string standing(const Context& context, const ResourceType& type,
                     const json::Value& workload) {
  const bool colours = context.terminal.colours();
  const auto message = [](const json::Value* c) { return std::string(c->get_string({"message"})); };
  const json::Value* reserved = condition(workload, "QuotaReserved");
  const json::Value* admitted = condition(workload, "Admitted");
  const json::Value* evicted = condition(workload, "Evicted");
  if (const auto* finished = condition(workload, "Finished"); is_true(finished)) {
    return green("Finished", colours) + ": " + message(finished);
  }
  if (!workload.get_bool({"spec", "active"}, true)) {
    std::string text = red("Deactivated", colours) + ": spec.active is false";
    if (is_true(evicted)) text += "; " + message(evicted);
    return text;
  }
  if (is_true(admitted)) {
    return green("Admitted", colours) + " by ClusterQueue " +
           std::string(workload.get_string({"status", "admission", "clusterQueue"}, "?"));
  }
  if (is_true(reserved)) {
    std::string text =
        yellow("Quota reserved", colours) + " in ClusterQueue " +
        std::string(workload.get_string({"status", "admission", "clusterQueue"}, "?"));
    const json::Value* checks = workload.find_path({"status", "admissionChecks"});
    if (checks != nullptr && checks->is_array()) {
      for (const json::Value& check : checks->as_array()) {
        if (check.get_string({"state"}) == "Ready") continue;
        text += "; waits for admission check " + std::string(check.get_string({"name"})) + " (" +
                std::string(check.get_string({"state"})) + ") " +
                std::string(check.get_string({"message"}));
      }
    }
    return text;
  }
  std::string text = yellow("Waits", colours);
  if (reserved != nullptr) {
    text += " (" + std::string(reserved->get_string({"reason"})) + "): " + message(reserved);
  } else {
    text += ": " + undecided(context, type, workload);
  }
  if (is_true(evicted)) text += "\n              last evicted: " + message(evicted);
  const std::string_view requeue = workload.get_string({"status", "requeueState", "requeueAt"});
  if (!requeue.empty()) text += "\n              tried again at " + std::string(requeue);
  return text;
}

std::string age_of(std::string_view time) {
  const auto parsed = parse_time(time);
  return parsed.ok() ? human_duration(system_clock().now() - *parsed) : "<unknown>";
}

void print_conditions(const json::Value& object, std::string* out) {
  const json::Value* list = object.find_path({"status", "conditions"});
  if (list == nullptr || !list->is_array() || list->as_array().empty()) return;
  std::vector<std::vector<std::string>> rows = {{"  Type", "Status", "Reason", "Age", "Message"}};
  for (const json::Value& one : list->as_array()) {
    rows.push_back(
        {"  " + std::string(one.get_string({"type"})), std::string(one.get_string({"status"})),
         std::string(one.get_string({"reason"})), age_of(one.get_string({"lastTransitionTime"})),
         std::string(one.get_string({"message"}))});
  }
  std::vector<size_t> widths;
  *out += "Conditions:\n" + format_rows(rows, &widths);
}

void print_pod_sets(const json::Value& workload, std::string* out) {
  const json::Value* sets = workload.find_path({"spec", "podSets"});
  if (sets == nullptr || !sets->is_array()) return;
  std::vector<std::vector<std::string>> rows = {
      {"  Name", "Pods", "Requests of a pod", "Flavors", "Usage"}};
  for (const json::Value& set : sets->as_array()) {
    const std::string name(set.get_string({"name"}));
    std::string requests;
    if (const auto* containers = set.find_path({"template", "spec", "containers"});
        containers != nullptr && containers->is_array()) {
      for (const json::Value& container : containers->as_array()) {
        const json::Value* wanted = container.find_path({"resources", "requests"});
        if (wanted == nullptr || !wanted->is_object()) continue;
        for (const auto& [key, value] : wanted->as_object()) {
          requests += (requests.empty() ? "" : ", ") + key + "=" + scalar(value);
        }
      }
    }
    std::string pods = std::to_string(set.get_int({"count"}));
    std::string flavors;
    std::string usage;
    const json::Value* assigned = workload.find_path({"status", "admission", "podSetAssignments"});
    if (assigned != nullptr && assigned->is_array()) {
      for (const json::Value& one : assigned->as_array()) {
        if (one.get_string({"name"}) != name) continue;
        const auto join = [](const json::Value* map) {
          std::string text;
          if (map == nullptr || !map->is_object()) return text;
          for (const auto& [key, value] : map->as_object()) {
            text += (text.empty() ? "" : ", ") + key + "=" + scalar(value);
          }
          return text;
        };
        // Partial admission: fewer pods than asked for.
        if (const int64_t count = one.get_int({"count"}, set.get_int({"count"}));
            count != set.get_int({"count"}))
          pods = std::to_string(count) + " of " + pods;
        flavors = join(one.find("flavors"));
        usage = join(one.find("resourceUsage"));
      }
    }
    rows.push_back({"  " + name, pods, requests, flavors, usage});
  }
  std::vector<size_t> widths;
  *out += "Pod sets:\n" + format_rows(rows, &widths);
}

std::string describe_workload(const Context& context, const ResourceType& type,
                              const json::Value& workload) {
  std::string out;
  print_line("Standing", standing(context, type, workload), &out);
  print_line("Queue", workload.get_string({"spec", "queueName"}, "<none>"), &out);
  std::string priority = std::to_string(workload.get_int({"spec", "priority"}));
  const std::string_view priority_class = workload.get_string({"spec", "priorityClassRef", "name"});
  if (!priority_class.empty()) priority += " (" + std::string(priority_class) + ")";
  print_line("Priority", priority, &out);
  const json::Value* owners = workload.find_path({"metadata", "ownerReferences"});
  if (owners != nullptr && owners->is_array()) {
    for (const json::Value& owner : owners->as_array()) {
      print_line(
          "Owner",
          std::string(owner.get_string({"kind"})) + "/" + std::string(owner.get_string({"name"})),
          &out);
    }
  }
  print_pod_sets(workload, &out);
  print_conditions(workload, &out);
  return out;
}

std::string describe_other(const json::Value& object) {
  std::string out;
  print_line("API Version", object.get_string({"apiVersion"}), &out);
  print_line("Kind", object.get_string({"kind"}), &out);
  json::Value metadata = json::Value::object();
  if (const json::Value* from = object.find("metadata"); from != nullptr && from->is_object()) {
    for (const auto& [key, value] : from->as_object()) {
      const bool shown_elsewhere = key == "name" || key == "namespace" || key == "labels" ||
                                   key == "annotations" || key == "managedFields";
      if (!shown_elsewhere) metadata[key] = value;
    }
  }
  print_member("Metadata", metadata, 0, 0, &out);
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.as_object()) {
    if (key != "apiVersion" && key != "kind" && key != "metadata") keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  for (const std::string& key : keys) {
    const std::string name = title(key);
    print_member(name, *object.find(key), 0, display_width(name), &out);
  }
  return out;
}

std::string events_of(const Context& context, const json::Value& object) {
  const std::string ns(object.get_string({"metadata", "namespace"}));
  const std::string uid(object.get_string({"metadata", "uid"}));
  ResourceType events;
  events.version = "v1";
  events.kind = "Event";
  events.plural = "events";
  std::string selector =
      "involvedObject.name=" + std::string(object.get_string({"metadata", "name"})) +
      ",involvedObject.kind=" + std::string(object.get_string({"kind"}));
  if (!uid.empty()) selector += ",involvedObject.uid=" + uid;
  const auto list = context.cluster.request(
      "GET", Cluster::path(events, ns.empty() ? "default" : ns, ""), {{"fieldSelector", selector}});
  const json::Value* items = list.ok() ? list->find("items") : nullptr;
  if (items == nullptr || !items->is_array() || items->as_array().empty())
    return "Events:       <none>\n";
  const auto time_of = [](const json::Value& event) {
    for (const char* field : {"lastTimestamp", "eventTime", "firstTimestamp"}) {
      const std::string_view time = event.get_string({field});
      if (!time.empty()) return std::string(time);
    }
    return std::string(event.get_string({"metadata", "creationTimestamp"}));
  };
  std::vector<const json::Value*> sorted;
  for (const json::Value& event : items->as_array()) sorted.push_back(&event);
  std::sort(sorted.begin(), sorted.end(), [&](auto* a, auto* b) {
    return std::pair(time_of(*a), a) < std::pair(time_of(*b), b);
  });
  std::vector<std::vector<std::string>> rows = {{"  Type", "Reason", "Age", "From", "Message"}};
  for (const json::Value* event : sorted) {
    std::string from(event->get_string({"source", "component"}));
    if (from.empty()) from = event->get_string({"reportingComponent"});
    std::string time = age_of(time_of(*event));
    if (const int64_t count = event->get_int({"count"}); count > 1)
      time += " (x" + std::to_string(count) + ")";
    rows.push_back({"  " + std::string(event->get_string({"type"})),
                    std::string(event->get_string({"reason"})), time, from,
                    std::string(event->get_string({"message"}))});
  }
  std::vector<size_t> widths;
  return "Events:\n" + format_rows(rows, &widths);
}

}  // namespace

int run_describe(const Context& context) {
  auto targets = read_targets(context.cluster, context.arguments.positional());
  if (!targets.ok()) return fail(context.terminal, targets.error());
  int code = kOk;
  bool first = true;
  for (const Target& target : *targets) {
    const bool everywhere = context.arguments.is_set("all-namespaces");
    const std::string ns = target.type.namespaced && !everywhere ? namespace_of(context) : "";
    Query query;
    if (target.name.empty() && context.arguments.given("selector")) {
      query.emplace_back("labelSelector", context.arguments.text("selector"));
    }
    auto answer =
        context.cluster.request("GET", Cluster::path(target.type, ns, target.name), query);
    if (!answer.ok()) {
      code = fail(context.terminal, answer.error());
      continue;
    }
    json::Array objects;
    const json::Value* items = target.name.empty() ? answer->find("items") : nullptr;
    if (items != nullptr && items->is_array()) {
      objects = items->as_array();
    } else {
      objects.push_back(*std::move(answer));
    }
    for (json::Value& object : objects) {
      object["apiVersion"] = target.type.api_version();
      object["kind"] = target.type.kind;
      std::string out = first ? "" : "\n\n";
      first = false;
      print_line("Name", object.get_string({"metadata", "name"}), &out);
      if (target.type.namespaced)
        print_line("Namespace", object.get_string({"metadata", "namespace"}), &out);
      print_map("Labels", object.find_path({"metadata", "labels"}), &out);
      // What kubectl apply remembers is the object once more.
      if (json::Value* annotations = object.find_path({"metadata", "annotations"});
          annotations != nullptr && annotations->is_object())
        annotations->as_object().erase("kubectl.kubernetes.io/last-applied-configuration");
      print_map("Annotations", object.find_path({"metadata", "annotations"}), &out);
      const bool workload = target.type.group == "kueue.x-k8s.io" && target.type.kind == "Workload";
      out += workload ? describe_workload(context, target.type, object) : describe_other(object);
      out += events_of(context, object);
      context.terminal.out(out);
    }
  }
  if (first && code == kOk) context.terminal.err("No resources found\n");
  return code;
}

}  // namespace kueue::cli
