#include "lab.h"

#include <time.h>

#include <cstdio>
#include <cstdlib>

namespace kueue::engine::bench {
namespace {

// Processor time of this thread: what else runs on the machine does not count.
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

// Adds what the block costs to a Cost.
class Meter {
 public:
  explicit Meter(Cost& cost) : cost_(cost), before_(heap()), start_(cpu_seconds()) {}
  ~Meter() {
    cost_.seconds += cpu_seconds() - start_;
    cost_.bytes += heap().total - before_.total;
    cost_.allocations += heap().count - before_.count;
  }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

 private:
  Cost& cost_;
  Heap before_;
  double start_;
};

std::string numbered(const char* format, int64_t n) {
  char text[64];
  std::snprintf(text, sizeof text, format, static_cast<long long>(n));
  return text;
}

}  // namespace

Lab::Lab(Settings settings) : state_(std::make_unique<State>(std::move(settings))) {
  state_->apply(TimePassed{now_});
  state_->apply(NamespaceChanged{"default", {}});
}

void Lab::flavor(const std::string& name, const std::string& topology) {
  Flavor f;
  f.name = name;
  f.topology = topology;
  state_->apply(FlavorChanged{f});
}

void Lab::cohort(const std::string& name, const std::string& parent) {
  state_->apply(CohortChanged{{name, parent, {}, 1}});
}

void Lab::queue(const std::string& name, const QueueOptions& options) {
  ClusterQueue q;
  q.name = name;
  q.cohort = options.cohort;
  if (options.strict) q.strategy = QueueingStrategy::kStrictFifo;
  q.namespace_selector = LabelSelector();
  if (options.preempts) {
    q.preemption.within = WithinClusterQueue::kLowerPriority;
    q.preemption.reclaim = ReclaimWithinCohort::kAny;
  }
  ResourceGroup group;
  group.covered = {"cpu"};
  for (size_t i = 0; i < options.flavors.size(); ++i) {
    ResourceQuota quota;
    quota.resource = "cpu";
    quota.nominal = Amount(1000 * (options.quotas.empty() ? options.quota : options.quotas[i]));
    if (options.borrow >= 0) quota.borrowing_limit = Amount(1000 * options.borrow);
    group.flavors.push_back({options.flavors[i], {quota}});
  }
  q.groups = {group};
  state_->apply(ClusterQueueChanged{q});
  state_->apply(LocalQueueChanged{{{"default", name}, name, StopPolicy::kNone, 1, false}});
}

void Lab::nodes(int blocks, int racks, int hosts, int64_t cpu) {
  state_->apply(TopologyChanged{{"tree", {kBlock, kRack, kHost}}});
  int64_t n = 0;
  for (int b = 0; b < blocks; ++b)
    for (int r = 0; r < racks; ++r)
      for (int h = 0; h < hosts; ++h, ++n) {
        Node node;
        node.name = numbered("node-%06lld", n);
        node.labels = {{kBlock, numbered("block-%03lld", b)},
                       {kRack, numbered("rack-%04lld", b * racks + r)},
                       {kHost, node.name}};
        node.allocatable = {{"cpu", cpu * 1000}, {"memory", int64_t{1} << 38}, {"pods", 110}};
        state_->apply(NodeChanged{node});
        nodes_.push_back(std::move(node));
      }
}

std::shared_ptr<const PodTemplate> Lab::pod(int64_t cpu) {
  auto& entry = pods_[cpu];
  if (entry == nullptr) {
    auto fresh = std::make_shared<PodTemplate>();
    fresh->requests = {{"cpu", cpu * 1000}};
    fresh->raw_requests = fresh->requests;
    fresh->shape = numbered("cpu-%lld", cpu);
    entry = fresh;
  }
  return entry;
}

std::shared_ptr<Workload> Lab::job(const std::string& queue, const JobOptions& options) {
  auto w = std::make_shared<Workload>();
  w->key = {"default", numbered("job-%07lld", serial_)};
  w->uid = numbered("6f1d2c3b-5a4e-4f60-8123-%012lld", serial_);
  w->generation = serial_++;
  w->queue_name = queue;
  w->priority = options.priority;
  w->created = Instant{} + Duration::millis(1000 + w->generation);
  PodSet ps;
  ps.name = "main";
  ps.count = options.pods;
  ps.pod = pod(options.cpu);
  if (!options.required.empty() || !options.preferred.empty() || options.unconstrained) {
    TopologyRequest t;
    if (!options.required.empty()) t.required = options.required;
    if (!options.preferred.empty()) t.preferred = options.preferred;
    if (options.unconstrained) t.unconstrained = true;
    ps.topology = t;
  }
  w->pod_sets.push_back(std::move(ps));
  w->pod_sets.shrink_to_fit();
  return w;
}

void Lab::pending(const std::string& queue, const JobOptions& options) {
  objects_.push_back(job(queue, options));
  state_->apply(WorkloadChanged{objects_.back()});
}

void Lab::running(const std::string& queue, const JobOptions& options) {
  std::shared_ptr<Workload> w = job(queue, options);
  PodSetAssignment a;
  a.name = "main";
  a.count = options.pods;
  a.flavors = {{"cpu", "default"}};
  a.usage = {{"cpu", options.cpu * 1000 * options.pods}};
  w->admission = Admission{queue, {a}};
  w->conditions = {
      {ConditionType::kQuotaReserved, ConditionStatus::kTrue, "QuotaReserved", "", w->created},
      {ConditionType::kAdmitted, ConditionStatus::kTrue, "Admitted", "", w->created}};
  objects_.push_back(w);
  state_->apply(WorkloadChanged{objects_.back()});
}

void Lab::pending_mix(const std::string& queue, int count) {
  for (int i = 0; i < count; ++i) {
    int kind = i % 10;
    if (kind == 9)
      pending(queue, {.cpu = 20, .priority = 200});
    else if (kind >= 7)
      pending(queue, {.cpu = 5, .priority = 100});
    else
      pending(queue, {.cpu = 1, .priority = 50});
  }
}

void Lab::apply(const std::vector<Event>& events) {
  Meter meter(cost);
  for (const Event& e : events) state_->apply(e);
}

Plan Lab::cycle() {
  Meter meter(cost);
  ++cost.cycles;
  return plan(*state_, {.now = now_, .explain = false});
}

void Lab::cycles(int count) {
  Meter meter(cost);
  cost.cycles += count;
  for (int i = 0; i < count; ++i) plan(*state_, {.now = now_, .explain = false});
}

std::shared_ptr<const Workload> Lab::admitted(const Admit& admit) {
  auto serial = static_cast<size_t>(std::atoll(admit.key.name.c_str() + 4));
  auto w = std::make_shared<Workload>(*objects_[serial]);
  w->admission = *admit.admission;
  w->conditions = {{ConditionType::kQuotaReserved, ConditionStatus::kTrue, "QuotaReserved",
                    "Quota reserved in ClusterQueue", now_},
                   {ConditionType::kAdmitted, ConditionStatus::kTrue, "Admitted",
                    "The workload is admitted", now_}};
  objects_[serial] = nullptr;
  return w;
}

void Lab::drain(int lag, int64_t stop_after) {
  std::vector<std::vector<std::shared_ptr<const Workload>>> running;  // oldest first
  int64_t finished = 0;
  while (stop_after < 0 || cost.admissions < stop_after) {
    if (!state_->has_work() && finished == cost.admissions) {
      std::optional<Instant> next = state_->next_wakeup();
      if (!next) return;
      now_ = std::max(now_, *next);
      apply({TimePassed{now_}});
      if (!state_->has_work()) return;
    }
    std::vector<Event> echoes, completions;
    {
      Plan p = cycle();
      running.emplace_back();
      for (const Command& c : p.commands)
        if (const Admit* admit = std::get_if<Admit>(&c)) {
          running.back().push_back(admitted(*admit));
          echoes.push_back(WorkloadChanged{running.back().back()});
        }
    }
    cost.admissions += static_cast<int64_t>(echoes.size());
    apply(echoes);
    now_ = now_ + Duration::seconds(1);
    if (running.size() <= static_cast<size_t>(lag)) continue;
    for (const std::shared_ptr<const Workload>& w : running.front()) {
      auto done = std::make_shared<Workload>(*w);
      done->conditions.push_back({ConditionType::kFinished, ConditionStatus::kTrue, "Succeeded",
                                  "Job finished successfully", now_});
      completions.push_back(WorkloadChanged{done});
    }
    finished += static_cast<int64_t>(running.front().size());
    running.erase(running.begin());
    completions.push_back(TimePassed{now_});
    apply(completions);
  }
}

void Lab::touch_node(int64_t number) {
  Node& node = nodes_[static_cast<size_t>(number)];
  if (node.labels.size() > 3)
    node.labels.pop_back();
  else
    node.labels.emplace_back("touched", "yes");
  apply({NodeChanged{node}});
}

void Lab::finish_all(const Plan& p) {
  std::vector<Event> events;
  for (const Command& c : p.commands)
    if (const Admit* admit = std::get_if<Admit>(&c)) {
      auto done = std::make_shared<Workload>(*admitted(*admit));
      done->conditions.push_back(
          {ConditionType::kFinished, ConditionStatus::kTrue, "Succeeded", "", now_});
      events.push_back(WorkloadChanged{done});
    }
  apply(events);
}

}  // namespace kueue::engine::bench
