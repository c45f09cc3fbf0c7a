// kueue delete.
#include <poll.h>

#include "cli/actions.h"
#include "json/json.h"

namespace kueue::cli {
namespace {

struct Victim {
  ResourceType type;
  std::string namespace_;
  std::string name;
  std::string uid;
};

std::string options_body(const Context& context) {
  json::Value options = json::Value::object({{"apiVersion", "v1"}, {"kind", "DeleteOptions"}});
  const std::string cascade = context.arguments.text("cascade");
  options["propagationPolicy"] = cascade == "orphan"       ? "Orphan"
                                 : cascade == "foreground" ? "Foreground"
                                                           : "Background";
  int64_t grace =
      context.arguments.given("grace-period") ? context.arguments.number("grace-period") : -1;
  if (context.arguments.is_set("now")) grace = 1;
  if (context.arguments.is_set("force")) grace = 0;
  if (grace >= 0) options["gracePeriodSeconds"] = grace;
  if (context.arguments.text("dry-run") == "server")
    options["dryRun"] = json::Value::array({"All"});
  return json::write(options);
}

// Names of a collection, by -l or --all.
Result<std::vector<Victim>> list_victims(const Context& context, const ResourceType& type) {
  const bool everywhere = context.arguments.is_set("all-namespaces");
  const std::string ns = type.namespaced && !everywhere ? namespace_of(context) : "";
  Query query;
  if (context.arguments.given("selector")) {
    query.emplace_back("labelSelector", context.arguments.text("selector"));
  }
  KUEUE_ASSIGN(const json::Value list,
               context.cluster.request("GET", Cluster::path(type, ns, ""), query));
  std::vector<Victim> result;
  const json::Value* items = list.find("items");
  if (items == nullptr || !items->is_array()) return result;
  for (const json::Value& item : items->as_array()) {
    result.push_back({type, std::string(item.get_string({"metadata", "namespace"})),
                      std::string(item.get_string({"metadata", "name"})), ""});
  }
  return result;
}

Result<std::vector<Victim>> victims_of(const Context& context) {
  std::vector<Victim> result;
  if (context.arguments.given("filename")) {
    KUEUE_ASSIGN(const auto documents,
                 read_documents(context.arguments.list("filename"), context.terminal,
                                context.arguments.is_set("recursive")));
    for (const Document& document : documents) {
      const std::string name(document.value.get_string({"metadata", "name"}));
      auto type =
          context.cluster.find_kind(std::string(document.value.get_string({"apiVersion"})),
                                    std::string(document.value.get_string({"kind"})), false);
      if (!type.ok() || name.empty()) {
        Error error =
            type.ok() ? make_error(ErrorCode::kInvalid, "metadata.name: is missing") : type.error();
        error.message = document.where + ": " + error.message;
        return error;
      }
      std::string ns(document.value.get_string({"metadata", "namespace"}));
      if (ns.empty()) ns = namespace_of(context);
      result.push_back({*type, type->namespaced ? ns : "", name, ""});
    }
    return result;
  }
  KUEUE_ASSIGN(const auto targets, read_targets(context.cluster, context.arguments.positional()));
  const bool many = context.arguments.is_set("all") || context.arguments.given("selector");
  for (const Target& target : targets) {
    if (!target.name.empty()) {
      result.push_back(
          {target.type, target.type.namespaced ? namespace_of(context) : "", target.name, ""});
      continue;
    }
    if (!many) {
      return make_error(
          ErrorCode::kBadRequest,
          "resource(s) were provided, but no name was specified; name them, or use --all or -l");
    }
    KUEUE_ASSIGN(auto found, list_victims(context, target.type));
    for (Victim& one : found) result.push_back(std::move(one));
  }
  return result;
}

// Until the object is gone or another one has its name.
Result<void> wait_gone(const Context& context, const Victim& victim, int64_t deadline_polls) {
  const std::string path = Cluster::path(victim.type, victim.namespace_, victim.name);
  for (int64_t i = 0; !context.terminal.stopped(); ++i) {
    auto answer = context.cluster.request("GET", path);
    if (!answer.ok()) {
      if (answer.error().code == ErrorCode::kNotFound) return {};
      return std::move(answer).error();
    }
    if (!victim.uid.empty() && answer->get_string({"metadata", "uid"}) != victim.uid) return {};
    if (deadline_polls > 0 && i >= deadline_polls) {
      return make_error(ErrorCode::kTimeout,
                        "timed out waiting for " + victim.type.object_name(victim.name) +
                            " to go; its finalizers: " +
                            json::write(answer->at_path({"metadata", "finalizers"})));
    }
    poll(nullptr, 0, i < 20 ? 25 : 250);
  }
  return {};
}

}  // namespace

int run_delete(const Context& context) {
  if (!context.arguments.given("filename") && context.arguments.positional().empty()) {
    return usage_error(context.terminal,
                       "name what to delete: -f FILE, TYPE NAME or TYPE -l SELECTOR");
  }
  auto victims = victims_of(context);
  if (!victims.ok()) {
    if (victims.error().code == ErrorCode::kBadRequest)
      return usage_error(context.terminal, victims.error().message);
    return fail(context.terminal, victims.error());
  }
  int code = kOk;
  if (victims->empty()) context.terminal.out("No resources found\n");
  const bool dry_run = context.arguments.text("dry-run") == "server";
  std::vector<Victim> deleted;
  for (Victim& victim : *victims) {
    auto answer = context.cluster.request(
        "DELETE", Cluster::path(victim.type, victim.namespace_, victim.name), {},
        "application/json", options_body(context), "application/json");
    if (!answer.ok()) {
      const bool ignored = answer.error().code == ErrorCode::kNotFound &&
                           context.arguments.is_set("ignore-not-found");
      if (!ignored) code = fail(context.terminal, answer.error());
      continue;
    }
    victim.uid = answer->get_string({"metadata", "uid"});
    if (victim.uid.empty()) victim.uid = answer->get_string({"details", "uid"});
    if (context.arguments.text("output") == "name") {
      context.terminal.out(victim.type.object_name(victim.name) + "\n");
    } else {
      std::string text = victim.type.object_name(victim.name);
      const size_t slash = text.find('/');
      text = text.substr(0, slash) + " \"" + victim.name + "\" deleted";
      if (!victim.namespace_.empty()) text += " from " + victim.namespace_ + " namespace";
      if (dry_run) text += " (server dry run)";
      context.terminal.out(text + "\n");
    }
    deleted.push_back(victim);
  }
  if (dry_run || context.arguments.text("wait") == "false") return code;
  const int64_t seconds = context.arguments.number("timeout-seconds");
  for (const Victim& victim : deleted) {
    const auto result = wait_gone(context, victim, seconds > 0 ? 20 + seconds * 4 : 0);
    if (!result.ok()) code = fail(context.terminal, result.error());
  }
  return code;
}

}  // namespace kueue::cli
