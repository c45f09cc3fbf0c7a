#include "sim/world.h"

#include <algorithm>

#include "controllers/runtime.h"
#include "json/json.h"
#include "wire/path.h"

namespace kueue::sim {
namespace {

// A world without faults comes to rest within this time, and stays so.
constexpr Duration kLongestUnrest = Duration::seconds(6 * 3600);
// Nothing to do now is nothing to do for that long.
constexpr Duration kRest = Duration::seconds(700);
constexpr int64_t kTaskLimit = 100'000;
constexpr int64_t kMostWritesAtRest = 3000;

// Writes that say nothing of the state of Kueue. With admission fair sharing LocalQueues are
// written for ever, as what they have consumed fades.
bool idle_chatter(const wire::ResourcePath& path, bool fading) {
  return path.resource == "events" || path.resource == "leases" ||
         (fading && path.resource == "localqueues");
}

}  // namespace

World::World(Scheduler& scheduler, Cluster& cluster, const Script& script,
             std::function<void(const std::string&)> log)
    : scheduler_(scheduler),
      cluster_(cluster),
      script_(script),
      log_(std::move(log)),
      own_(scheduler, "cluster"),
      machines_(cluster, own_),
      people_(cluster, machines_),
      checks_(cluster) {
  for (int64_t i = 0; i < script.config_number("leaders", 1); ++i) {
    programs_.push_back(std::make_unique<Program>());
    programs_.back()->name = "m" + std::to_string(i);
  }
}

World::~World() {
  scheduler_.between = {};
  cluster_.on_change = {};
  for (const auto& program : programs_) stop(*program);
}

void World::say(const std::string& line) const {
  if (log_) log_(format_nano_time(scheduler_.now()) + " " + line);
}

controllers::Options World::options() const {
  controllers::Options options;
  const auto number = [&](const char* key) { return script_.config_number(key, 0); };
  const auto seconds = [&](const char* key) -> std::optional<Duration> {
    if (!script_.config.contains(key)) return std::nullopt;
    return Duration::seconds(number(key));
  };
  options.wait_for_pods_ready.reset();
  if (const auto timeout = seconds("ready")) {
    controllers::WaitForPodsReady& wait = options.wait_for_pods_ready.emplace();
    wait.timeout = *timeout;
    wait.recovery_timeout = seconds("recovery");
    wait.block_admission = number("block") != 0;
    wait.backoff_base_seconds = static_cast<int32_t>(script_.config_number("backoff", 60));
    wait.backoff_max_seconds = 600;
    if (script_.config.contains("limit"))
      wait.backoff_limit_count = static_cast<int32_t>(number("limit"));
    options.engine.block_admission = wait.block_admission;
    options.engine.requeue_by_creation = number("requeue-by-creation") != 0;
  }
  if (number("fair") != 0) options.engine.fair_sharing.emplace();
  if (const auto half_life = seconds("afs")) {
    engine::AdmissionFairSharing& afs = options.engine.admission_fair_sharing.emplace();
    afs.half_life = *half_life;
    afs.sampling_interval = Duration::seconds(60);
  }
  options.retention_after_finished = seconds("keep-finished");
  options.retention_after_deactivated = seconds("keep-deactivated");
  options.topology_nodes = number("topology") != 0;
  if (number("merge-patch") != 0) {
    options.gates.force(Gate::kWorkloadRequestUseMergePatch, true);
    options.engine.gates = options.gates;
  }
  if (const int64_t threads = script_.config_number("threads", 1); threads > 1)
    for (const char* kind : {"Job.batch", "Workload.kueue.x-k8s.io", "ClusterQueue.kueue.x-k8s.io",
                             "LocalQueue.kueue.x-k8s.io"})
      options.group_kind_concurrency[kind] = static_cast<int>(threads);
  return options;
}

void World::start(Program& program) {
  program.process = std::make_unique<Process>(scheduler_, program.name);
  program.process->jump(program.skew);
  program.road = std::make_shared<Road>(cluster_, *program.process);
  program.road->weather = program.weather;
  program.road->interfere = [this](const wire::Request& request) { people_.touch(request); };
  program.road->on_write = [this, &program](const wire::Request& request, int status) {
    written(program, request, status);
  };
  program.lost_lease = false;
  program.away = {};
  controllers::ManagerDeps deps;
  deps.client = std::make_shared<kube::Client>(program.road, "kueue");
  deps.executor = program.process.get();
  deps.options = options();
  deps.instance = program.name;
  if (log_) deps.log = [this, &program](std::string line) { say(program.name + ": " + line); };
  if (programs_.size() > 1) {
    kube::LeaderElectionOptions& election = deps.leader_election.emplace();
    election.identity = program.name;
    // Long leases are renewed less often, which is most of what idle managers write.
    const int64_t lease = script_.config_number("lease", 15);
    election.lease_duration = Duration::seconds(lease);
    election.renew_deadline = Duration::millis(lease * 1000 * 2 / 3);
    election.retry_period = Duration::millis(lease * 1000 * 2 / 15);
    deps.on_lost_lease = [&program] { program.lost_lease = true; };
  }
  program.life = program.name + " " + std::to_string(++starts_);
  say(program.name + " starts");
  program.manager = std::make_unique<controllers::Manager>(std::move(deps));
  program.manager->start();
}

void World::stop(Program& program) {
  if (!program.manager) return;
  program.road->die();
  program.skew = program.process->skew();
  program.manager->stop();
  program.process->drop_all();
  program.manager.reset();
  program.road.reset();
  program.process.reset();
}

// Programs that died during the last task end here, where nothing of them is under way.
void World::reap() {
  for (const auto& program : programs_) {
    if (!program->manager || (!program->road->dead() && !program->lost_lease)) continue;
    say(program->name + " ends");
    const Duration away = program->away;
    stop(*program);
    own_.run_after(away, [this, p = program.get()] {
      if (!p->manager) start(*p);
    });
  }
}

World::Program* World::program(const std::string& name) {
  for (const auto& program : programs_)
    if (program->name == name) return program.get();
  return nullptr;
}

void World::written(Program& program, const wire::Request& request, int status) {
  const auto path = wire::parse_resource_path(request.path);
  const bool chatter = path && idle_chatter(*path, script_.config.contains("afs"));
  const std::string line =
      program.name + ": " + request.method + " " + request.path + " -> " + std::to_string(status);
  if (log_) say(line + (chatter ? "" : " " + request.body));
  if (chatter) return;
  recent_.push_back(line);
  if (recent_.size() > 30) recent_.erase(recent_.begin());
  ++writes_;
  if (status < 300) last_write_ = scheduler_.now();
}

void World::weather(Program& program, const Step& step) {
  Weather& w = program.weather;
  const auto number = [&](const char* key) { return static_cast<int>(step.number_of(key, 0)); };
  w.refuse = number("refuse");
  w.every_tenth = number("tenth");
  w.lost = number("lost");
  w.conflict = number("conflict");
  w.read_fails = number("reads");
  w.slow = number("slow");
  w.crowd = number("crowd");
  w.delay_ms = number("delay-ms");
  w.repeat = number("repeat");
  w.reorder = number("reorder");
  if (program.road) program.road->weather = w;
}

void World::act(const Step& step) {
  if (step.verb == "pass") {
    scheduler_.advance(Duration::millis(step.number_of("ms", 1000)), kTaskLimit);
    return;
  }
  if (step.verb == "rest") return rest(step.get("ends") == "1");
  Program* about = program(step.name);
  if (about == nullptr) {
    if (step.verb == "scribble") {
      const auto [namespace_, name] = step.key();
      const json::Value* job = cluster_.find("jobs", namespace_, name);
      const json::Value* workload = job == nullptr ? nullptr : workload_of(cluster_, *job);
      if (workload != nullptr && step.get("what") != "foreign")
        checks_.expect_nonsense(uid_of(*workload));
    }
    // A script that does not say what it means would pass for ever.
    if (!people_.act(step)) checks_.fail("no such verb, or no such manager", write_step(step));
    return;
  }
  if (step.verb == "weather") return weather(*about, step);
  constexpr std::string_view kVerbs[] = {"kill", "cut", "jump", "freeze"};
  if (std::find(std::begin(kVerbs), std::end(kVerbs), step.verb) == std::end(kVerbs))
    return checks_.fail("no such verb of managers", write_step(step));
  if (!about->manager) return;
  if (step.verb == "kill") {
    about->away = Duration::millis(step.number_of("away-ms", 0));
    if (const int64_t writes = step.number_of("writes", 0); writes > 0) {
      about->road->writes_to_live = writes;
    } else {
      about->road->die();
    }
  } else if (step.verb == "cut") {
    about->road->cut(step.get("expired") == "1");
  } else if (step.verb == "jump") {
    about->process->jump(Duration::millis(step.number_of("ms", 0)));
    clocks_go_right_ = false;
  } else if (step.verb == "freeze") {
    about->process->freeze_until(scheduler_.now() + Duration::millis(step.number_of("ms", 1000)));
  }
}

namespace {

template <typename T>
bool knows_all(kube::Informer<T>& store, const std::map<Cluster::Key, json::Value>& all) {
  if (!store.core().idle() || store.size() != all.size()) return false;
  return std::all_of(all.begin(), all.end(), [&](const auto& entry) {
    const auto known = store.get({entry.first.first, entry.first.second});
    return known != nullptr && known->metadata.resource_version ==
                                   entry.second.get_string({"metadata", "resourceVersion"});
  });
}

}  // namespace

// Of where pods can go. Who is away asks anew when he comes back.
bool World::places_known() const {
  return std::all_of(programs_.begin(), programs_.end(), [&](const auto& program) {
    if (!program->manager) return true;
    controllers::Runtime& runtime = program->manager->runtime();
    return program->manager->ready() && runtime.admission.idle() &&
           knows_all(runtime.stores.nodes, cluster_.all("nodes")) &&
           knows_all(runtime.stores.topologies, cluster_.all("topologies")) &&
           knows_all(runtime.stores.flavors, cluster_.all("resourceflavors"));
  });
}

// Between two steps: some tasks, or a little time.
void World::run_a_while() {
  Random& random = scheduler_.random;
  const int64_t kind = random.below(10);
  if (kind < 2) return;
  if (kind < 7) {
    for (int64_t left = random.between(1, 60); left > 0 && scheduler_.run_one(); --left) {
    }
    return;
  }
  scheduler_.advance(Duration::millis(random.between(1, 800)), kTaskLimit);
}

void World::changed(const Change& change) {
  if (change.plural == "workloads" && change.after != nullptr && reserves(*change.after) &&
      (change.before == nullptr || !reserves(*change.before)))
    if (const Program* by = program(cluster_.writer)) {
      checks_.granted(*change.after, by->life);
      checks_.check_grants(*by->manager, by->life);  // it was assumed before it was written
    }
  checks_.changed(change);
}

// What was to be done at a time waits for it again when a clock goes back.
Duration World::latest_clock() const {
  Duration latest;
  for (const auto& program : programs_) {
    const Duration skew = program->process ? program->process->skew() : program->skew;
    latest = std::max(latest, Duration{-skew.ns});
  }
  return latest;
}

void World::check_engines() {
  for (const auto& program : programs_) {
    if (!program->manager) continue;
    checks_.check_grants(*program->manager, program->life);
    program->manager->runtime().admission.ask([](const engine::State& state) {
      state.check_invariants();
      return 0;
    });
  }
}

controllers::Manager* World::leader() {
  for (const auto& program : programs_)
    if (program->manager && program->manager->leading()) return program->manager.get();
  return nullptr;
}

bool World::quiet() const {
  return std::all_of(programs_.begin(), programs_.end(), [](const auto& program) {
    return program->manager && program->road->quiet() && program->manager->ready();
  });
}

void World::rest(bool jobs_end) {
  for (const auto& program : programs_) {
    program->weather = {};
    if (!program->manager) continue;
    program->road->weather = {};
    program->road->writes_to_live = -1;
    program->process->freeze_until({});
  }
  machines_.quick = machines_.checks_ready = true;
  machines_.hold_ends = !jobs_end;
  const Instant began = scheduler_.now();
  const int64_t writes_before = writes_;
  last_write_ = began;
  while (!checks_.failure()) {
    const bool ended = scheduler_.advance(Duration::seconds(5), kTaskLimit);
    if (!ended) checks_.fail("no end of work without time passing", "");
    if (writes_ - writes_before > kMostWritesAtRest || scheduler_.now() - began > kLongestUnrest) {
      std::string last;
      for (const std::string& line : recent_) last += "\n  " + line;
      checks_.fail("no rest comes", std::to_string(writes_ - writes_before) + " writes in " +
                                        format_duration(scheduler_.now() - began) + last);
    }
    const Duration rest = latest_clock() + kRest;
    Instant backoff = last_write_ + rest;
    for (const auto& [key, workload] : cluster_.all("workloads")) {
      const auto at = parse_time(workload.get_string({"status", "requeueState", "requeueAt"}));
      if (at.ok() && unfinished(workload) && workload.get_bool({"spec", "active"}, true))
        backoff = std::max(backoff, *at + rest);
    }
    if (!quiet() || leader() == nullptr || scheduler_.now() < backoff) continue;
    const auto runs = [](const auto& entry) {
      return entry.second.get_int({"status", "active"}) > 0;
    };
    const auto& jobs = cluster_.all("jobs");
    if (!jobs_end || std::none_of(jobs.begin(), jobs.end(), runs)) break;
  }
  say("at rest");
  if (!checks_.failure()) {
    check_engines();
    checks_.expect_consumption(script_.config.contains("afs") && clocks_go_right_);
    checks_.at_rest(leader());
    checks_.settled();
  }
  machines_.quick = machines_.checks_ready = machines_.hold_ends = false;
}

Outcome World::play() {
  Outcome outcome;
  scheduler_.random = Random(script_.seed);
  cluster_.reseed(script_.seed);
  people_.furnish();
  cluster_.on_change = [this](const Change& change) { changed(change); };
  scheduler_.between = [this] {
    reap();
    // What a lost answer leaves behind may be gone with the next event.
    for (const auto& program : programs_)
      if (program->manager && program->weather.lost > 0)
        checks_.check_grants(*program->manager, program->life);
  };
  machines_.start();
  for (const auto& program : programs_) start(*program);
  for (const Step& step : script_.steps) {
    outcome.step = step.number;
    scheduler_.random = Random(script_.seed * 1'000'003u + static_cast<uint64_t>(step.number));
    say("== " + write_step(step));
    scheduler_.trace.add(write_step(step));
    act(step);
    reap();
    run_a_while();
    check_engines();
    if (script_.config.contains("topology") && places_known()) checks_.places_known();
    if (checks_.failure()) break;
  }
  if (!checks_.failure()) {
    people_.let_go();
    scheduler_.random = Random(script_.seed * 1'000'003u);
    say("== the end: jobs go on");
    rest(/*jobs_end=*/false);
  }
  if (!checks_.failure()) {
    say("== the end: jobs end");
    rest(/*jobs_end=*/true);
  }
  outcome.failure = checks_.failure();
  outcome.trace = scheduler_.trace.value();
  outcome.writes = writes_;
  outcome.tasks = scheduler_.tasks_run();
  return outcome;
}

}  // namespace kueue::sim
