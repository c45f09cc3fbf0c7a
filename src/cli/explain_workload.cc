// kueue explain workload NAME: what the manager says about one Workload, as text or as it came.
#include "base/age.h"
#include "cli/actions.h"
#include "cli/table.h"
#include "json/json.h"
#include "json/lists.h"

namespace kueue::cli {
namespace {

std::string ago(std::string_view time) {
  const auto parsed = parse_time(time);
  return parsed.ok() ? human_duration(system_clock().now() - *parsed) : "<unknown>";
}

std::string in(std::string_view time) {
  const auto parsed = parse_time(time);
  if (!parsed.ok()) return std::string(time);
  const Duration left = *parsed - system_clock().now();
  return std::string(time) + (left.ns > 0 ? " (in " + human_duration(left) + ")" : " (now)");
}

std::string joined(const json::Array& texts, std::string_view between) {
  std::string out;
  for (const json::Value& text : texts)
    out += (out.empty() ? "" : std::string(between)) + std::string(text.string_or(""));
  return out;
}

void add_line(std::string_view title, const std::string& text, std::string& out) {
  std::string line = std::string(title) + ":";
  line.resize(std::max<size_t>(line.size() + 1, 12), ' ');
  out += line + text + "\n";
}

void add_head(const json::Value& e, bool colours, std::string& out) {
  const auto text = [&](std::string_view member) { return std::string(e.get_string({member})); };
  add_line("Workload",
           std::string(e.get_string({"metadata", "namespace"})) + "/" +
               std::string(e.get_string({"metadata", "name"})),
           out);
  const std::string state = text("state");
  add_line("State",
           (state == "Admitted" || state == "Finished" ? green(state, colours)
                                                       : yellow(state, colours)) +
               ": " + text("summary"),
           out);
  std::string queue = text("localQueue");
  if (!text("clusterQueue").empty()) queue += " -> ClusterQueue " + text("clusterQueue");
  if (!queue.empty())
    add_line("Queue", queue + ", priority " + std::to_string(e.get_int({"priority"})), out);
  if (e.find("position") != nullptr) {
    std::string place = std::to_string(e.get_int({"position", "clusterQueue"}) + 1) + " of " +
                        std::to_string(e.get_int({"position", "waiting"})) + ", " +
                        text("standing");
    const json::Array& before = json::list_at(*e.find("position"), {"rightBefore"});
    if (!before.empty()) place += "; right before it: " + joined(before, ", ");
    add_line("Position", place, out);
  }
  if (const std::string_view at = e.get_string({"start", "at"}); !at.empty()) {
    add_line("Starts",
             in(at) + ": " + std::string(e.get_string({"start", "basis"})) + ", if " +
                 std::string(e.get_string({"start", "assumes"})),
             out);
  } else if (const auto why = e.get_string({"start", "unknown"}); !why.empty()) {
    add_line("Starts", "unknown: " + std::string(why), out);
  }
}

void add_flavor(const json::Value& set, const json::Value& flavor, std::string& out) {
  const auto text = [](const json::Value& from, std::string_view member) {
    return std::string(from.get_string({member}));
  };
  const std::string failed = text(flavor, "firstFailure");
  out += "  " + text(set, "podSet") + ", flavor " + text(flavor, "flavor") + ": " +
         (failed.empty() ? "fits" : failed) + "\n";
  for (const json::Value& quota : json::list_at(flavor, {"quota"})) {
    out += "    " + text(quota, "resource") + ": wants " + text(quota, "requested") + ", " +
           text(quota, "available") + " free of at most " + text(quota, "capacity");
    std::string holders;
    for (const json::Value& holder : json::list_at(quota, {"holders"})) {
      holders += (holders.empty() ? "; held by " : ", ") + text(holder, "clusterQueue") + " " +
                 text(holder, "used");
      if (text(holder, "borrowed") != "0")
        holders += " (" + text(holder, "borrowed") + " borrowed)";
    }
    out += holders + "\n";
  }
  for (const json::Value& victim : json::list_at(flavor, {"victims"}))
    out += "    may preempt " + text(victim, "workload") + " (" + text(victim, "reason") + ")\n";
  if (const std::string why = text(flavor, "whyNoPreemption"); !why.empty())
    out += "    no preemption: " + why + "\n";
  for (const json::Value& domain : json::list_at(flavor, {"domains"}))
    out += "    room for " + std::to_string(domain.get_int({"pods"})) + " pods in " +
           joined(json::list_at(domain, {"values"}), " ") + "\n";
}

void add_history(const json::Value& e, std::string& out) {
  if (json::list_at(e, {"history"}).empty()) return;
  out += "\nHistory";
  if (const int64_t dropped = e.get_int({"historyDropped"}); dropped > 0)
    out += " (" + std::to_string(dropped) + " older ones are no longer kept)";
  out += ":\n";
  std::vector<std::vector<std::string>> rows = {{"  Age", "What", "Message"}};
  for (const json::Value& entry : json::list_at(e, {"history"})) {
    const int64_t count = entry.get_int({"count"}, 1);
    std::string age = "  " + ago(entry.get_string({"time"}));
    if (count > 1)
      age = "  " + ago(entry.get_string({"lastTime"})) + " (x" + std::to_string(count) + " over " +
            ago(entry.get_string({"time"})) + ")";
    std::string message(entry.get_string({"message"}));
    if (const auto other = entry.get_string({"workload"}); !other.empty()) {
      const bool victim = entry.get_string({"what"}) == "Preempted";
      message = (victim ? "for " : "") + std::string(other) + ": " + message;
    }
    rows.push_back({age, std::string(entry.get_string({"what"})), message});
  }
  std::vector<size_t> widths;
  out += format_rows(rows, &widths);
}

std::string text_of(const json::Value& e, bool colours) {
  std::string out;
  add_head(e, colours, out);
  for (const json::Value& check : json::list_at(e, {"admissionChecks"})) {
    std::string text =
        std::string(check.get_string({"name"})) + " is " + std::string(check.get_string({"state"}));
    for (const char* member : {"message", "problem"})
      if (const auto more = check.get_string({member}); !more.empty())
        text += ": " + std::string(more);
    add_line("Check", text, out);
  }
  for (const json::Value& victim : json::list_at(e, {"preempting"}))
    add_line("Preempting",
             std::string(victim.get_string({"workload"})) + ", told to go " +
                 ago(victim.get_string({"since"})) + " ago" +
                 (victim.get_bool({"givenUp"}) ? ", given up on" : ""),
             out);
  if (!json::list_at(e, {"podSets"}).empty()) out += "\nFlavors, in the order they are tried:\n";
  for (const json::Value& set : json::list_at(e, {"podSets"}))
    for (const json::Value& flavor : json::list_at(set, {"flavors"})) add_flavor(set, flavor, out);
  if (!json::list_at(e, {"changes"}).empty()) out += "\nWould help:\n";
  for (const json::Value& change : json::list_at(e, {"changes"}))
    out += "  - " + std::string(change.string_or("")) + "\n";
  add_history(e, out);
  return out;
}

std::string workload_path(const std::string& ns, const std::string& name) {
  std::string path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/" + ns + "/workloads";
  return name.empty() ? path : path + "/" + name;
}

// The newest Workload that a job of this kind and name owns.
Result<std::string> workload_of(const Context& context, const ResourceType& type,
                                const std::string& name) {
  KUEUE_ASSIGN(const json::Value list,
               context.cluster.request("GET", workload_path(namespace_of(context), "")));
  const json::Value* newest = nullptr;
  for (const json::Value& one : json::list_at(list, {"items"})) {
    bool owned = false;
    if (const json::Value* meta = one.find("metadata"))
      for (const json::Value& owner : json::list_at(*meta, {"ownerReferences"}))
        owned |= owner.get_string({"kind"}) == type.kind && owner.get_string({"name"}) == name;
    if (!owned) continue;
    if (newest == nullptr || newest->get_string({"metadata", "creationTimestamp"}) <=
                                 one.get_string({"metadata", "creationTimestamp"}))
      newest = &one;
  }
  if (newest == nullptr)
    return make_error(ErrorCode::kNotFound, "there is no Workload of " + type.object_name(name) +
                                                " in namespace " + namespace_of(context));
  return std::string(newest->get_string({"metadata", "name"}));
}

Result<json::Value> explanation(const Context& context, const std::string& type_word,
                                std::string name) {
  KUEUE_ASSIGN(const ResourceType type, context.cluster.find_type(type_word));
  if (type.kind != "Workload") {
    KUEUE_ASSIGN(name, workload_of(context, type, name));
  }
  const std::string ns = namespace_of(context);
  auto found =
      context.cluster.request("GET", "/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/" + ns +
                                         "/workloads/" + name + "/explanation");
  if (found.ok() ||
      (found.error().code != ErrorCode::kNotFound && found.error().code != ErrorCode::kUnavailable))
    return found;
  // No such Workload, or nobody who explains it?
  KUEUE_ASSIGN([[maybe_unused]] const json::Value object,
               context.cluster.request("GET", workload_path(ns, name)));
  return make_error(ErrorCode::kUnavailable,
                    "nobody explains it here: that takes a running manager of kueue-cpp with its "
                    "visibility API (feature gate VisibilityOnDemand) behind the API server; "
                    "kueue describe workload shows what the object says");
}

}  // namespace

bool explains_object(const Arguments& arguments) {
  return arguments.positional().size() > 1 ||
         arguments.positional()[0].find('/') != std::string::npos;
}

int run_explain_object(const Context& context) {
  const std::vector<std::string>& words = context.arguments.positional();
  const size_t slash = words[0].find('/');
  if (slash != std::string::npos && words.size() > 1)
    return usage_error(context.terminal, "explain takes TYPE/NAME or TYPE NAME, not both");
  for (const char* flag : {"recursive", "api-version"})
    if (context.arguments.given(flag))
      return usage_error(context.terminal, "--" + std::string(flag) +
                                               " is about types: kueue explain TYPE[.FIELD..]");
  const std::string type = words[0].substr(0, slash);
  const std::string name = slash == std::string::npos ? words[1] : words[0].substr(slash + 1);
  if (type.empty() || name.empty() || name.find('/') != std::string::npos)
    return usage_error(context.terminal, "\"" + words[0] + "\" is not TYPE/NAME");
  const auto found = explanation(context, type, name);
  if (!found.ok()) return fail(context.terminal, found.error());
  const std::string format = context.arguments.text("output");
  if (format == "json") {
    context.terminal.out(json::write_pretty(*found) + "\n");
  } else if (format == "yaml") {
    context.terminal.out(json::write_yaml(*found));
  } else {
    context.terminal.out(text_of(*found, context.terminal.colours()));
  }
  return kOk;
}

}  // namespace kueue::cli
