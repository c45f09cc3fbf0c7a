// Judges recorded passes of reconcilers: the objects before, one pass, then objects, events, and
// when to look again. The manager's parts stand over a small API in memory; nothing runs by itself.
#include <set>
#include <sstream>

#include "bench.h"
#include "bridge/quantities.h"
#include "controllers/cluster_queue/cluster_queue.h"
#include "controllers/cohort/cohort.h"
#include "controllers/context.h"
#include "controllers/failure_recovery/failure_recovery.h"
#include "controllers/in_use.h"
#include "controllers/jobs/batch_job/batch_job.h"
#include "controllers/jobs/elastic_ungater.h"
#include "controllers/jobs/reconciler.h"
#include "controllers/local_queue/local_queue.h"
#include "controllers/metrics/workload_tally.h"
#include "controllers/priority_class/priority_class.h"
#include "controllers/scheduler/admission.h"
#include "controllers/stores.h"
#include "controllers/testing/fake_api.h"
#include "controllers/workload/workload.h"
#include "judge.h"
#include "schema/codec.h"

namespace kueue::vectors {
namespace {

using namespace controllers;

std::string plural_of(std::string_view kind) {
  static const std::map<std::string, std::string, std::less<>> kPlurals = {
      {"Namespace", "namespaces"},
      {"Node", "nodes"},
      {"Pod", "pods"},
      {"Job", "jobs"},
      {"Workload", "workloads"},
      {"ResourceFlavor", "resourceflavors"},
      {"ClusterQueue", "clusterqueues"},
      {"LocalQueue", "localqueues"},
      {"Cohort", "cohorts"},
      {"AdmissionCheck", "admissionchecks"},
      {"Topology", "topologies"},
      {"WorkloadPriorityClass", "workloadpriorityclasses"},
      {"PriorityClass", "priorityclasses"},
      {"LimitRange", "limitranges"},
      {"RuntimeClass", "runtimeclasses"},
  };
  auto found = kPlurals.find(kind);
  return found == kPlurals.end() ? "" : found->second;
}

bool is_empty(const json::Value& value) {
  if (value.is_null()) return true;
  if (value.is_array()) return value.as_array().empty();
  if (value.is_object()) return value.as_object().empty();
  return value.is_string() && value.as_string().empty();
}

// Without what the vectors do not compare; a missing, null and empty value are the same.
json::Value comparable(const json::Value& value) {
  if (value.is_array()) {
    json::Array items;
    for (const json::Value& item : value.as_array()) items.push_back(comparable(item));
    return items;
  }
  if (!value.is_object()) return value;
  static const std::set<std::string, std::less<>> kIgnored = {
      "resourceVersion", "creationTimestamp",  "managedFields",      "uid",
      "generation",      "lastTransitionTime", "observedGeneration", "deletionTimestamp"};
  std::map<std::string, json::Value> members;
  for (const auto& [name, member] : value.as_object()) {
    if (kIgnored.contains(name)) continue;
    json::Value inner = comparable(member);
    if (name == "conditions" && inner.is_array())
      std::sort(inner.as_array().begin(), inner.as_array().end(),
                [](const json::Value& a, const json::Value& b) {
                  return a.get_string({"type"}) < b.get_string({"type"});
                });
    if (!is_empty(inner)) members.emplace(name, std::move(inner));
  }
  json::Object object;
  for (auto& [name, member] : members) object.append(name, std::move(member));
  return object;
}

std::string name_of(const json::Value& object) {
  return std::string(object.get_string({"kind"})) + "/" +
         std::string(object.get_string({"metadata", "namespace"})) + "/" +
         std::string(object.get_string({"metadata", "name"}));
}

Options options_of(const json::Value& test) {
  Options options;
  if (const json::Value* gates = test.find("featureGates"))
    for (const auto& [name, value] : gates->as_object())
      static_cast<void>(options.gates.set(name, value.as_bool()));
  options.engine.gates = options.gates;
  options.wait_for_pods_ready.reset();
  const json::Value* given = test.find_path({"input", "options"});
  if (given == nullptr) return options;
  options.manage_jobs_without_queue_name = given->get_bool({"manageJobsWithoutQueueName"});
  if (const json::Value* wait = given->find("waitForPodsReady")) {
    if (wait->is_object()) {
      WaitForPodsReady& to = options.wait_for_pods_ready.emplace();
      auto duration = [&](const char* name) {
        auto parsed = parse_duration(wait->get_string({name}, "0s"));
        return parsed.ok() ? *parsed : Duration();
      };
      to.timeout = duration("timeout");
      to.recovery_timeout.reset();
      if (wait->find("recoveryTimeout") != nullptr)
        to.recovery_timeout = duration("recoveryTimeout");
      to.backoff_base_seconds =
          static_cast<int32_t>(wait->get_int({"requeuingBackoffBaseSeconds"}));
      to.backoff_max_seconds =
          static_cast<int32_t>(duration("requeuingBackoffMaxDuration").as_seconds());
      if (wait->find("requeuingBackoffLimitCount") != nullptr)
        to.backoff_limit_count =
            static_cast<int32_t>(wait->get_int({"requeuingBackoffLimitCount"}));
    } else if (wait->bool_or(false)) {
      options.wait_for_pods_ready.emplace();
    }
  }
  if (given->find("workloadRetentionPolicy") != nullptr) {
    auto kept = parse_duration(
        given->get_string({"workloadRetentionPolicy", "afterDeactivatedByKueue"}, "0s"));
    if (kept.ok()) options.retention_after_deactivated = *kept;
  }
  if (given->find("workloadRetention") != nullptr) {
    auto kept = parse_duration(given->get_string({"workloadRetention", "afterFinished"}, "0s"));
    if (kept.ok()) options.retention_after_finished = *kept;
  }
  if (const json::Value* fair = given->find("admissionFSConfig")) {
    engine::AdmissionFairSharing& afs = options.engine.admission_fair_sharing.emplace();
    auto duration = [&](const char* name) {
      auto parsed = parse_duration(fair->get_string({name}, "0s"));
      return parsed.ok() ? *parsed : Duration();
    };
    afs.half_life = duration("usageHalfLifeTime");
    afs.sampling_interval = duration("usageSamplingInterval");
    if (const json::Value* weights = fair->find("resourceWeights"))
      for (const auto& [name, weight] : weights->as_object())
        afs.resource_weights.emplace_back(name, weight.as_double());
  }
  const std::string selector(given->get_string({"managedJobsNamespaceSelector", "selector"}));
  if (!selector.empty())
    options.managed_jobs_namespace_selector = *wire::LabelSelector::parse(selector);
  if (const json::Value* keys = given->find("labelKeysToCopy"))
    for (const json::Value& key : keys->as_array())
      options.labels_to_copy.emplace_back(key.as_string());
  if (const json::Value* keys = given->find("annotationsToCopy"))
    for (const json::Value& key : keys->as_array())
      options.annotations_to_copy.emplace_back(key.as_string());
  return options;
}

// A batch Job whose pod sets the case names, as of a kind that is code of a test: started and
// stopped without a change to itself.
class ScriptedJob final : public jobs::Job {
 public:
  ScriptedJob(std::unique_ptr<jobs::Job> job, std::vector<v1beta2::PodSet> pod_sets)
      : job_(std::move(job)), pod_sets_(std::move(pod_sets)) {}
  const api::meta::ObjectMeta& metadata() const override { return job_->metadata(); }
  json::Value document() const override { return job_->document(); }
  bool suspended() const override { return job_->suspended(); }
  bool active() const override { return job_->active(); }
  std::optional<jobs::Completion> finished() const override { return job_->finished(); }
  bool pods_ready() const override { return job_->pods_ready(); }
  Result<std::vector<v1beta2::PodSet>> pod_sets() const override { return pod_sets_; }
  Result<json::Value> started(const std::vector<jobs::PodSetInfo>&) const override {
    return document();
  }
  json::Value suspended_document() const override { return document(); }
  jobs::StopStep stop(const std::vector<jobs::PodSetInfo>&) const override { return {}; }
  bool left_from_start(const std::vector<jobs::PodSetInfo>&,
                       const std::vector<jobs::PodSetInfo>&) const override {
    return false;
  }

 private:
  std::unique_ptr<jobs::Job> job_;
  std::vector<v1beta2::PodSet> pod_sets_;
};

class ScriptedKind final : public jobs::JobKind {
 public:
  ScriptedKind(std::unique_ptr<jobs::JobKind> kind, const json::Value& test)
      : kind_(std::move(kind)) {
    const json::Value* given = &at(test, {"input", "raw", "podSets"});
    if (!given->is_array())
      for (const json::Value& object : items(at(test, {"input", "objects"})))
        if (object.get_string({"kind"}) == "Workload") given = &at(object, {"spec", "podSets"});
    for (const json::Value& item : items(*given))
      if (auto set = schema::decode<v1beta2::PodSet>(item); set.ok())
        pod_sets_.push_back(std::move(*set));
  }
  std::string_view framework() const override { return kind_->framework(); }
  std::string_view controller() const override { return kind_->controller(); }
  const kube::Resource& resource() const override { return kind_->resource(); }
  kube::InformerCore& store() override { return kind_->store(); }
  void watch(std::function<void(const kube::ObjectKey&)> changed) override {
    kind_->watch(std::move(changed));
  }
  std::vector<kube::ObjectKey> keys() const override { return kind_->keys(); }
  std::unique_ptr<jobs::Job> get(const kube::ObjectKey& key) const override {
    auto job = kind_->get(key);
    return job == nullptr ? nullptr : std::make_unique<ScriptedJob>(std::move(job), pod_sets_);
  }

 private:
  std::unique_ptr<jobs::JobKind> kind_;
  std::vector<v1beta2::PodSet> pod_sets_;
};

// The manager's parts without anything that runs by itself.
class Bench {
 public:
  explicit Bench(const json::Value& test)
      : test_(test),
        options_(options_of(test)),
        executor_(*parse_time(test.get_string({"clock"}, "2026-01-01T00:00:00Z"))),
        api_(executor_.clock()),
        client_(std::make_shared<kube::Client>(
            std::shared_ptr<wire::Transport>(&api_, [](wire::Transport*) {}), "kueue")),
        stores_(client_, executor_),
        context_{.client = client_,
                 .executor = &executor_,
                 .options = &options_,
                 .metrics = &metrics_,
                 .stores = &stores_,
                 .admission = nullptr,
                 .events = std::make_shared<kube::EventSink>(client_, executor_, "test"),
                 .log = {}},
        admission_(context_),
        tally_(context_),
        kinds_(make_kinds()),
        kind_(kinds_.front().get()) {
    context_.admission = &admission_;
    context_.tally = &tally_;
    admission_.attach();
    api_.fill_in = false;
    if (test.find_path({"input", "raw", "patchErr"}) != nullptr)
      api_.on_write = [](const wire::Request& request) -> Result<void> {
        if (request.method != "PATCH") return {};
        return make_error(ErrorCode::kForbidden, "refused by the test");
      };
    if (const json::Value* objects = test.find_path({"input", "objects"});
        objects != nullptr && objects->is_array())
      for (const json::Value& object : objects->as_array()) put(object);
    // What the caches had been told of before.
    if (const json::Value* setup = test.find_path({"input", "setup"});
        setup != nullptr && setup->is_array())
      for (const json::Value& call : setup->as_array())
        if (const json::Value* args = call.find("args"); args != nullptr && args->is_object())
          for (const auto& [name, argument] : args->as_object())
            if (argument.is_object() && argument.find("kind") != nullptr) put(argument);
    stores_.start();
    kind_->store().start();
    executor_.run_until_idle();
    set_consumed();
  }
  ~Bench() {
    stores_.stop();
    kind_->store().stop();
    context_.events->stop();
  }

  void run() {
    const std::string request(test_.get_string({"input", "request"}));
    const size_t slash = request.find('/');
    result_ = reconcile(test_.get_string({"input", "controller"}),
                        {request.substr(0, slash), request.substr(slash + 1)});
    executor_.run_until_idle();
  }

  Context& context() { return context_; }
  jobs::JobKind& kind() { return *kind_; }

  std::map<std::string, json::Value> objects() const {
    std::map<std::string, json::Value> got;
    for (const auto& plural :
         {"namespaces", "nodes", "pods", "jobs", "workloads", "resourceflavors", "clusterqueues",
          "localqueues", "cohorts", "admissionchecks", "topologies", "workloadpriorityclasses",
          "priorityclasses", "limitranges", "runtimeclasses"})
      for (const json::Value* object : api_.list(plural)) got.emplace(name_of(*object), *object);
    return got;
  }
  Pass pass() const {
    Pass pass{objects(), {}, result_.ok() ? Result<void>() : result_.error()};
    for (const json::Value* event : api_.list("events"))
      pass.events.push_back(std::string(event->get_string({"type"})) + " " +
                            std::string(event->get_string({"reason"})) + ": " +
                            std::string(event->get_string({"note"})));
    return pass;
  }

  Differences differences() const {
    std::map<std::string, json::Value> want = before_;
    const json::Value* expect = test_.find("expect");
    if (const json::Value* changed = expect->find("changed"))
      for (const json::Value& object : changed->as_array()) want[name_of(object)] = object;
    if (const json::Value* deleted = expect->find("deleted"))
      for (const json::Value& name : deleted->as_array()) want.erase(name.as_string());
    const std::map<std::string, json::Value> got = objects();
    Differences out;
    for (const auto& [name, object] : want) {
      auto found = got.find(name);
      if (found == got.end()) {
        out.push_back("missing " + name);
      } else {
        differ(out, name, comparable(object), comparable(found->second));
      }
    }
    for (const auto& [name, object] : got)
      if (!want.contains(name)) out.push_back("unexpected " + name);
    compare_events(*expect, out);
    const json::Value* error = expect->find("error");
    const bool want_error = error != nullptr && !error->is_null();
    if (want_error) return out;
    if (!result_.ok()) {
      out.push_back("error: " + result_.error().message);
      return out;
    }
    const Duration again = result_->requeue_after.value_or(Duration());
    const auto wanted = parse_duration(expect->get_string({"requeueAfter"}, "0s"));
    // After a write the notice of it brings the next look.
    const json::Value* changes = expect->find("changed");
    const bool wrote = changes != nullptr && changes->is_array() && !changes->as_array().empty();
    if (wanted.ok() && *wanted != again && !(wrote && wanted->ns == 0))
      out.push_back("requeueAfter: expected " + std::string(expect->get_string({"requeueAfter"})) +
                    ", actual " + std::to_string(again.as_seconds()) + " s");
    return out;
  }

 private:
  void put(const json::Value& object) {
    const std::string plural = plural_of(object.get_string({"kind"}));
    if (plural.empty() || !before_.emplace(name_of(object), object).second) return;
    json::Value given = object;
    // The names of slices are made of it, and what was recorded without one had 0.
    if (plural == "jobs" && given["metadata"].find("generation") == nullptr)
      given["metadata"]["generation"] = 0;
    api_.put(plural, std::move(given));
  }

  // What a LocalQueue had consumed according to the ledger.
  void set_consumed() {
    const json::Value* given = test_.find_path({"input", "raw", "initialConsumedResources"});
    if (given == nullptr || given->get_string({"lastUpdate"}).empty()) return;
    const std::string request(test_.get_string({"input", "request"}));
    const size_t slash = request.find('/');
    engine::ConsumedUsage usage{{request.substr(0, slash), request.substr(slash + 1)},
                                {},
                                *parse_time(given->get_string({"lastUpdate"}))};
    if (const json::Value* resources = given->find("resources");
        resources != nullptr && resources->is_object())
      for (const auto& [name, amount] : resources->as_object())
        usage.consumed.emplace_back(name, bridge::nanos_of(*api::Quantity::from_json(amount)));
    admission_.set_consumed(usage, given->get_bool({"statusAccounted"}));
  }

  template <typename T>
  Result<kube::ReconcileResult> keep(kube::Informer<T>& store, const kube::ObjectKey& key,
                                     InUse in_use) {
    return keep_while_used(
        context_, store.core(),
        [](const void* object) -> const api::meta::ObjectMeta& {
          return static_cast<const T*>(object)->metadata;
        },
        std::move(in_use))(key);
  }

  Result<kube::ReconcileResult> reconcile(std::string_view controller, const kube::ObjectKey& key) {
    if (controller == "core.WorkloadReconciler") return WorkloadReconciler(context_).reconcile(key);
    if (controller == "core.ClusterQueueReconciler")
      return ClusterQueueReconciler(context_).reconcile(key);
    if (controller == "core.LocalQueueReconciler") {
      admission_.start();  // takes what the statuses say
      return LocalQueueReconciler(context_).reconcile(key);
    }
    if (controller == "core.CohortReconciler") return CohortReconciler(context_).reconcile(key);
    if (controller == "core.WorkloadPriorityClassReconciler")
      return PriorityClassReconciler(context_).reconcile(key);
    if (controller == "core.ResourceFlavorReconciler")
      return keep(stores_.flavors, key, [](const engine::State& state, const std::string& name) {
        return state.flavor_in_use(name);
      });
    if (controller == "elasticjobs.elasticJobUngater") {
      jobs::ElasticUngater ungater(context_);
      ungater.pods().start();
      executor_.run_until_idle();
      const auto workload = stores_.workloads.get(key);
      const auto chain = workload == nullptr ? std::nullopt : ungater.chain_of(*workload);
      auto result = chain ? ungater.reconcile(*chain) : kube::ReconcileResult{};
      ungater.pods().stop();
      return result;
    }
    if (controller == "failurerecovery.TerminatingPodReconciler") {
      FailureRecovery recovery(context_);
      recovery.pods().start();
      executor_.run_until_idle();
      auto result = recovery.reconcile(key);
      recovery.pods().stop();
      return result;
    }
    jobs::JobReconciler reconciler(context_, *kind_, kinds_);
    reconciler.set_orphan_grace({});
    return reconciler.reconcile(key);
  }

  std::vector<std::unique_ptr<jobs::JobKind>> make_kinds() {
    std::vector<std::unique_ptr<jobs::JobKind>> kinds;
    kinds.push_back(jobs::make_batch_job_kind(client_, executor_, options_.gates));
    if (test_.get_string({"input", "controller"}) == "jobframework job reconciler")
      kinds.back() = std::make_unique<ScriptedKind>(std::move(kinds.back()), test_);
    return kinds;
  }
  void compare_events(const json::Value& expect, Differences& out) const {
    std::multiset<std::string> want;
    std::multiset<std::string> got;
    if (const json::Value* events = expect.find("events"); events != nullptr && events->is_array())
      for (const json::Value& event : events->as_array())
        want.insert(std::string(event.get_string({"eventType"})) + " " +
                    std::string(event.get_string({"reason"})) + ": " +
                    std::string(event.get_string({"message"})));
    for (const json::Value* event : api_.list("events"))
      got.insert(std::string(event->get_string({"type"})) + " " +
                 std::string(event->get_string({"reason"})) + ": " +
                 std::string(event->get_string({"note"})));
    if (want == got) return;
    for (const std::string& event : want)
      if (want.count(event) > got.count(event)) out.push_back("no event " + event);
    for (const std::string& event : got)
      if (got.count(event) > want.count(event)) out.push_back("event " + event);
  }

  const json::Value& test_;
  Options options_;
  kube::VirtualExecutor executor_;
  FakeApi api_;
  std::shared_ptr<kube::Client> client_;
  metrics::Metrics metrics_;
  Stores stores_;
  Context context_;
  Admission admission_;
  WorkloadTally tally_;
  std::vector<std::unique_ptr<jobs::JobKind>> kinds_;
  jobs::JobKind* kind_;
  std::map<std::string, json::Value> before_;
  Result<kube::ReconcileResult> result_ = kube::ReconcileResult{};
};

}  // namespace

Pass run_pass(const json::Value& test) {
  Bench bench(test);
  bench.run();
  return bench.pass();
}

void with_manager(const json::Value& test,
                  const std::function<void(Context&, jobs::JobKind&)>& use) {
  Bench bench(test);
  use(bench.context(), bench.kind());
}

void add_reconcile_judges(Judges& judges) {
  for (const char* controller :
       {"core.WorkloadReconciler", "core.ClusterQueueReconciler", "core.LocalQueueReconciler",
        "core.CohortReconciler", "core.WorkloadPriorityClassReconciler",
        "core.ResourceFlavorReconciler", "elasticjobs.elasticJobUngater",
        "failurerecovery.TerminatingPodReconciler", "jobs-job job reconciler",
        "jobframework job reconciler"})
    judges.add("reconcile " + std::string(controller), [](const json::Value& test) {
      Bench bench(test);
      bench.run();
      return bench.differences();
    });
}

}  // namespace kueue::vectors
