// Judges of cases about the visibility API: its handler over an engine that was told of the
// objects.
#include "controllers/pending_page.h"
#include "json/json.h"
#include "judge.h"
#include "told.h"
#include "visibility/handler.h"

namespace kueue::vectors {
namespace {

class ToldSource final : public visibility::Source {
 public:
  explicit ToldSource(Told& told) : told_(told) {}
  std::optional<std::vector<visibility::Pending>> of_cluster_queue(std::string_view name,
                                                                   size_t offset,
                                                                   size_t limit) override {
    if (told_.object("ClusterQueue", name).is_null()) return std::nullopt;
    return page(std::string(name), nullptr, offset, limit);
  }
  std::optional<std::vector<visibility::Pending>> of_local_queue(std::string_view ns,
                                                                 std::string_view name,
                                                                 size_t offset,
                                                                 size_t limit) override {
    const engine::Key key{std::string(ns), std::string(name)};
    const json::Value queue = told_.object("LocalQueue", key.text());
    if (queue.is_null()) return std::nullopt;
    return page(std::string(queue.get_string({"spec", "clusterQueue"})), &key, offset, limit);
  }

  std::optional<json::Value> explanation(std::string_view, std::string_view) override {
    return std::nullopt;
  }

 private:
  std::vector<visibility::Pending> page(const std::string& queue, const engine::Key* local,
                                        size_t offset, size_t limit) {
    std::vector<visibility::Pending> out;
    for (const engine::PendingWorkload& one :
         controllers::pending_page(told_.state(), queue, local, offset, limit))
      out.push_back({.namespace_ = one.key.namespace_,
                     .name = one.key.name,
                     .created = one.created,
                     .owners = {},
                     .priority = static_cast<int32_t>(one.priority),
                     .local_queue = one.local_queue,
                     .position_in_cluster_queue = one.position_in_cluster_queue,
                     .position_in_local_queue = one.position_in_local_queue});
    return out;
  }
  Told& told_;
};

struct NoClock final : Clock {
  Instant now() const override { return {}; }
};

// One list request, as somebody who may see everything.
wire::Response get(Told& told, const json::Value& step, std::string_view ns) {
  ToldSource source(told);
  NoClock clock;
  visibility::Access access(nullptr, clock);
  visibility::Handler handler(source, access, ":8082");
  wire::Request request;
  const std::string name(step.get_string({"args", "name"}));
  request.path = "/apis/visibility.kueue.x-k8s.io/v1beta2/" +
                 (ns.empty() ? "clusterqueues/" + name
                             : "namespaces/" + std::string(ns) + "/localqueues/" + name) +
                 "/pendingworkloads";
  for (const char* option : {"limit", "offset"})
    if (const json::Value& value = at(step, {"args", "opts", option}); value.is_int())
      request.query.emplace_back(option, std::to_string(value.as_int()));
  request.identity = {.user = "admin", .groups = {"system:masters"}, .extra = {}};
  return handler.answer(request);
}

Differences lists(const json::Value& test) {
  Told told(test);
  Differences out;
  for (const json::Value& step : steps_of(test)) {
    if (!step.get_string({"call"}).ends_with("REST.Get")) {
      for (const auto& [name, object] : members(at(step, {"args"}))) told.tell(object);
      continue;
    }
    const wire::Response answer =
        get(told, step, test.get_string({"input", "raw", "req", "nsName"}));
    const json::Value& error = at(step, {"expect", "error"});
    auto body = json::parse(answer.body);
    if (!error.is_null()) {
      differ(out, "status", at(error, {"code"}), int64_t{answer.status});
      if (body.ok()) differ(out, "message", at(error, {"text"}), at(*body, {"message"}));
    } else if (!body.ok()) {
      out.push_back("the answer is no JSON");
    } else {
      json::Value ours = *body, theirs = at(step, {"expect", "result"});
      for (json::Value* list : {&ours, &theirs})
        for (const char* member : {"apiVersion", "kind"}) list->erase_path({member});
      differ(out, "list", pruned(theirs), pruned(ours));
    }
  }
  return out;
}

// The priority of the object, without boosts.
Differences priority(const json::Value& test) {
  Told told(test);
  json::Value workload = at(test, {"input", "raw", "wl"});
  workload["spec"]["queueName"] = "lq";
  auto named = [](const char* kind, const char* name, json::Value spec) {
    return json::Value::object({{"kind", kind},
                                {"metadata", json::Value::object({{"name", name}})},
                                {"spec", std::move(spec)}});
  };
  told.tell(named("ClusterQueue", "cq", json::Value::object()));
  json::Value local = named("LocalQueue", "lq", json::Value::object({{"clusterQueue", "cq"}}));
  local["metadata"]["namespace"] = workload.get_string({"metadata", "namespace"});
  told.tell(local);
  told.tell(workload);
  json::Value step = json::Value::object();
  step["args"] = json::Value::object({{"name", "cq"}});
  auto body = json::parse(get(told, step, "").body);
  const json::Array& list = body.ok() ? items(at(*body, {"items"})) : items(json::Value());
  if (list.size() != 1) return {"not one workload"};
  return compared(at(test, {"expect", "raw", "wantPriority"}), at(list[0], {"priority"}));
}

}  // namespace

void add_pending_judges(Judges& judges) {
  judges.add("function visibility-storage", lists);
  judges.add("function visibility-storage/new-pending-workload-priority", priority);
}

}  // namespace kueue::vectors
