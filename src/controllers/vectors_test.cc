// Recorded passes of reconcilers: the objects before, one pass, the objects and events after.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "controllers/context.h"
#include "controllers/jobs/batch_job/batch_job.h"
#include "controllers/jobs/reconciler.h"
#include "controllers/scheduler/admission.h"
#include "controllers/stores.h"
#include "controllers/testing/fake_api.h"
#include "controllers/workload/workload.h"

namespace kueue::controllers {
namespace {

std::string shared_folder() {
  const char* set = std::getenv("KUEUE_SHARED");
  return set != nullptr ? set : std::string(KUEUE_SOURCE_DIR) + "/../shared";
}

std::string plural_of(std::string_view kind) {
  static const std::map<std::string, std::string, std::less<>> kPlurals = {
      {"Namespace", "namespaces"},
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
        kinds_(make_kinds()),
        kind_(kinds_.front().get()) {
    context_.admission = &admission_;
    admission_.attach();
    api_.fill_in = false;
    if (test.find_path({"input", "raw", "patchErr"}) != nullptr)
      api_.on_write = [](const wire::Request& request) -> Result<void> {
        if (request.method != "PATCH") return {};
        return make_error(ErrorCode::kForbidden, "refused by the test");
      };
    for (const json::Value& object : test.find_path({"input", "objects"})->as_array()) {
      const std::string plural = plural_of(object.get_string({"kind"}));
      if (plural.empty()) continue;
      api_.put(plural, object);
      before_.emplace(name_of(object), object);
    }
    stores_.start();
    kind_->store().start();
    executor_.run_until_idle();
  }
  ~Bench() {
    stores_.stop();
    kind_->store().stop();
    context_.events->stop();
  }

  void run(bool job) {
    const std::string request(test_.get_string({"input", "request"}));
    const size_t slash = request.find('/');
    const kube::ObjectKey key{request.substr(0, slash), request.substr(slash + 1)};
    if (job) {
      jobs::JobReconciler reconciler(context_, *kind_, kinds_);
      reconciler.set_orphan_grace({});
      result_ = reconciler.reconcile(key);
    } else {
      result_ = WorkloadReconciler(context_).reconcile(key);
    }
    executor_.run_until_idle();
  }

  // "" or what differs.
  std::string difference() const {
    std::map<std::string, json::Value> want = before_;
    const json::Value* expect = test_.find("expect");
    if (const json::Value* changed = expect->find("changed"))
      for (const json::Value& object : changed->as_array()) want[name_of(object)] = object;
    if (const json::Value* deleted = expect->find("deleted"))
      for (const json::Value& name : deleted->as_array()) want.erase(name.as_string());
    std::map<std::string, json::Value> got;
    for (const auto& plural :
         {"namespaces", "jobs", "workloads", "resourceflavors", "clusterqueues", "localqueues",
          "cohorts", "admissionchecks", "topologies", "workloadpriorityclasses", "priorityclasses",
          "limitranges", "runtimeclasses"})
      for (const json::Value* object : api_.list(plural)) got.emplace(name_of(*object), *object);
    std::ostringstream out;
    for (const auto& [name, object] : want) {
      auto found = got.find(name);
      if (found == got.end()) {
        out << "missing " << name << "\n";
      } else if (!(comparable(object) == comparable(found->second))) {
        out << name << "\n  want " << json::write_sorted(comparable(object)) << "\n  got  "
            << json::write_sorted(comparable(found->second)) << "\n";
      }
    }
    for (const auto& [name, object] : got)
      if (!want.contains(name)) out << "unexpected " << name << "\n";
    compare_events(*expect, out);
    const json::Value* error = expect->find("error");
    const bool want_error = error != nullptr && !error->is_null();
    if (!want_error && !result_.ok()) out << "error: " << result_.error().message << "\n";
    return out.str();
  }

 private:
  std::vector<std::unique_ptr<jobs::JobKind>> make_kinds() {
    std::vector<std::unique_ptr<jobs::JobKind>> kinds;
    kinds.push_back(jobs::make_batch_job_kind(client_, executor_, options_.gates));
    return kinds;
  }
  void compare_events(const json::Value& expect, std::ostringstream& out) const {
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
      if (want.count(event) > got.count(event)) out << "no event " << event << "\n";
    for (const std::string& event : got)
      if (got.count(event) > want.count(event)) out << "event " << event << "\n";
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
  std::vector<std::unique_ptr<jobs::JobKind>> kinds_;
  jobs::JobKind* kind_;
  std::map<std::string, json::Value> before_;
  Result<kube::ReconcileResult> result_ = kube::ReconcileResult{};
};

struct VectorFile {
  const char* path;
  bool job;
  // Cases that differ on purpose or need what is not built yet, with the reason beside each.
  std::map<std::string, std::string> exceptions;
};

void play(const VectorFile& file) {
  const std::string path = shared_folder() + "/vectors/tables/" + file.path;
  std::ifstream in(path);
  if (!in) GTEST_SKIP() << "NOT TESTED: " << path << " is not there";
  std::stringstream text;
  text << in.rdbuf();
  Result<json::Value> document = json::parse(text.str());
  ASSERT_TRUE(document.ok()) << document.error().message;
  int same = 0;
  for (const json::Value& test : document->find("cases")->as_array()) {
    const std::string id(test.get_string({"id"}));
    if (test.find("steps") != nullptr) continue;
    const bool excepted = file.exceptions.contains(id);
    Bench bench(test);
    bench.run(file.job);
    const std::string difference = bench.difference();
    if (excepted) {
      EXPECT_FALSE(difference.empty()) << id << " is the same now; drop the exception";
    } else {
      EXPECT_EQ(difference, "") << id;
      if (difference.empty()) ++same;
    }
  }
  std::printf("%s: %d cases as recorded, %zu named exceptions\n", file.path, same,
              file.exceptions.size());
}

constexpr const char* kElastic = "needs workload slices";
constexpr const char* kLastPod = "the template is restored when the last pod is gone";

TEST(ReconcileVectors, BatchJob) {
  play({"jobs-job/reconciler.json",
        true,
        {{"jobs-job/reconciler-071", kElastic},
         {"jobs-job/reconciler-105", kElastic},
         {"jobs-job/reconciler-106", kElastic},
         {"jobs-job/reconciler-149", kLastPod},
         {"jobs-job/reconciler-163", kLastPod},
         {"jobs-job/reconciler-164", kLastPod},
         {"jobs-job/reconciler-165", kLastPod},
         {"jobs-job/reconciler-123", "an end is told once, by the pass that writes it"}}});
}
TEST(ReconcileVectors, Workload) { play({"core/reconcile.json", false, {}}); }
TEST(ReconcileVectors, WorkloadRequeue) { play({"core/reconcile-requeue.json", false, {}}); }
TEST(ReconcileVectors, WorkloadInadmissible) {
  play({"core/reconcile-inadmissible.json", false, {}});
}
TEST(ReconcileVectors, WorkloadEviction) { play({"core/reconcile-eviction.json", false, {}}); }

}  // namespace
}  // namespace kueue::controllers
