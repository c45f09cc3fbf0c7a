#include "sim/cluster.h"

#include <algorithm>

#include "api/conversion.h"
#include "api/crd_manifest.h"
#include "api/registry.h"
#include "json/json.h"
#include "wire/path.h"
#include "wire/status.h"

namespace kueue::sim {
namespace {

struct Kind {
  const char* plural;
  const char* group;
  const char* version;
  const char* kind;
  bool namespaced;
};
// What the world looks at. Events and Leases come and go unseen.
constexpr Kind kKinds[] = {
    {"namespaces", "", "v1", "Namespace", false},
    {"jobs", "batch", "v1", "Job", true},
    {"workloads", "kueue.x-k8s.io", "v1beta2", "Workload", true},
    {"clusterqueues", "kueue.x-k8s.io", "v1beta2", "ClusterQueue", false},
    {"localqueues", "kueue.x-k8s.io", "v1beta2", "LocalQueue", true},
    {"cohorts", "kueue.x-k8s.io", "v1beta2", "Cohort", false},
    {"resourceflavors", "kueue.x-k8s.io", "v1beta2", "ResourceFlavor", false},
    {"admissionchecks", "kueue.x-k8s.io", "v1beta2", "AdmissionCheck", false},
    {"workloadpriorityclasses", "kueue.x-k8s.io", "v1beta2", "WorkloadPriorityClass", false},
    {"topologies", "kueue.x-k8s.io", "v1beta2", "Topology", false},
    {"nodes", "", "v1", "Node", false},
};

wire::Identity master() {
  return {.user = "simulation", .groups = {"system:masters"}, .extra = {}};
}

// The answer of one request.
class Waiting final : public wire::ResponseSink {
 public:
  void respond(wire::Response r) override {
    response = std::move(r);
    done = true;
  }
  void begin_stream(wire::Response head) override { response = std::move(head); }
  bool write(std::string chunk) override {
    response.body += chunk;
    return true;
  }
  void end_stream() override { done = true; }
  void on_close(std::function<void()>) override {}
  wire::Response response;
  bool done = false;
};

bool is_write(const wire::Request& request) { return request.method != "GET"; }

}  // namespace

kube::Resource resource_of(std::string_view plural) {
  for (const Kind& kind : kKinds)
    if (plural == kind.plural)
      return {kind.group, kind.version, kind.plural, kind.kind, kind.namespaced};
  KUEUE_CHECK(false, std::string(plural).c_str());
}

bool Weather::calm() const {
  return refuse == 0 && every_tenth == 0 && lost == 0 && conflict == 0 && read_fails == 0 &&
         slow == 0 && delay_ms == 0 && repeat == 0 && reorder == 0;
}

class Cluster::Direct final : public wire::Transport {
 public:
  explicit Direct(Cluster& cluster) : cluster_(cluster) {}
  Result<wire::Response> round_trip(const wire::Request& request, Duration) override {
    return cluster_.call(request);
  }
  std::unique_ptr<wire::StreamHandle> open_stream(const wire::Request&,
                                                  std::shared_ptr<wire::StreamReceiver>) override {
    KUEUE_CHECK(false, "this road has no streams");
  }

 private:
  Cluster& cluster_;
};

// Keeps one collection as the server has it.
class Cluster::Mirror final : public wire::ResponseSink {
 public:
  Mirror(Cluster& cluster, std::string plural) : cluster_(cluster), plural_(std::move(plural)) {}
  void respond(wire::Response r) override { KUEUE_CHECK(false, r.body.c_str()); }
  void begin_stream(wire::Response) override {}
  bool write(std::string chunk) override {
    cluster_.take(plural_, chunk);
    return true;
  }
  void end_stream() override { cluster_.blind_ = true; }
  void on_close(std::function<void()>) override {}

 private:
  Cluster& cluster_;
  const std::string plural_;
};

Cluster::Cluster(Scheduler& scheduler) : scheduler_(scheduler) {
  apiserver::Options options;
  options.memory = true;
  options.threaded = false;
  options.clock = &scheduler.clock();
  options.random = [this](size_t n) {
    std::string bytes;
    while (bytes.size() < n) bytes.push_back(static_cast<char>(random_.next() & 0xff));
    return bytes;
  };
  const auto builtin = api::builtin_resources();
  options.resources = {builtin.begin(), builtin.end()};
  auto opened = apiserver::Server::open(std::move(options));
  KUEUE_CHECK(opened.ok(), opened.ok() ? "" : opened.error().message.c_str());
  server_ = *std::move(opened);
  for (const schema::ResourceInfo* info : api::kueue_resources())
    if (info->storage && api::needs_conversion(info->kind))
      server_->register_converter(
          info->group, info->kind,
          [](json::Value object, std::string_view version) -> Result<json::Value> {
            return api::convert_kueue(object, version.substr(version.find('/') + 1));
          });
  direct_ = std::make_shared<Direct>(*this);
  admin_ = std::make_unique<kube::Client>(direct_, "admin");
  const kube::Resource definitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                   "CustomResourceDefinition", false};
  for (const json::Value& definition : api::crd_manifests()) {
    const auto made = admin_->create(definitions, "", definition);
    KUEUE_CHECK(made.ok(), made.ok() ? "" : made.error().message.c_str());
  }
  watch_everything();
}

Cluster::~Cluster() { server_->stop(); }

kube::Client& Cluster::client_of(const std::string& agent) {
  auto& client = clients_[agent];
  if (client == nullptr) client = std::make_unique<kube::Client>(direct_, agent);
  return *client;
}

void Cluster::watch_everything() {
  for (const Kind& kind : kKinds) {
    objects_[kind.plural];
    wire::Request request;
    wire::ResourcePath path;
    path.group = kind.group;
    path.version = kind.version;
    path.resource = kind.plural;
    request.path = wire::resource_path(path);
    request.query = {{"watch", "true"}, {"timeoutSeconds", "1000000000"}};
    request.identity = master();
    server_->handle(std::move(request), std::make_shared<Mirror>(*this, kind.plural));
  }
  while (server_->work()) {
  }
}

void Cluster::take(const std::string& plural, std::string_view line) {
  auto event = json::parse(line);
  KUEUE_CHECK(event.ok(), "a watch event is no JSON");
  const std::string type(event->get_string({"type"}));
  if (type == "BOOKMARK") return;
  KUEUE_CHECK(type != "ERROR", std::string(line).c_str());
  json::Value object = std::move(*event->find("object"));
  object.erase_path({"metadata", "managedFields"});
  const Key key{std::string(object.get_string({"metadata", "namespace"})),
                std::string(object.get_string({"metadata", "name"}))};
  auto& all = objects_[plural];
  auto found = all.find(key);
  const json::Value before = found == all.end() ? json::Value() : std::move(found->second);
  Change change{plural, before.is_null() ? nullptr : &before, nullptr};
  if (type == "DELETED") {
    if (found != all.end()) all.erase(found);
    if (!change.before) change.before = &object;
  } else {
    change.after = &(all[key] = std::move(object));
  }
  if (on_change) on_change(change);
}

const std::map<Cluster::Key, json::Value>& Cluster::all(const std::string& plural) const {
  KUEUE_CHECK(!blind_, "a watch of the simulation ended");
  auto found = objects_.find(plural);
  KUEUE_CHECK(found != objects_.end(), plural.c_str());
  return found->second;
}

const json::Value* Cluster::find(const std::string& plural, const std::string& namespace_,
                                 const std::string& name) const {
  const auto& objects = all(plural);
  auto found = objects.find({namespace_, name});
  return found == objects.end() ? nullptr : &found->second;
}

Result<wire::Response> Cluster::call(const wire::Request& request) {
  wire::Request copy = request;
  copy.identity = master();
  auto sink = std::make_shared<Waiting>();
  server_->handle(std::move(copy), sink);
  while (server_->work()) {
  }
  KUEUE_CHECK(sink->done, "the server does not answer");
  if (is_write(request)) {
    scheduler_.trace.add(request.method);
    scheduler_.trace.add(request.path);
    scheduler_.trace.add(std::to_string(sink->response.status));
    scheduler_.trace.add(sink->response.body);
  }
  return std::move(sink->response);
}

// A watch on its way: chunks that the server sent and the program has not seen.
struct Road::Stream {
  std::shared_ptr<wire::StreamReceiver> receiver;  // null: the program gave it up
  std::deque<std::string> chunks;
  std::string last;
  bool head_due = false;
  bool ended = false;
  bool scheduled = false;
};

class Road::Sink final : public wire::ResponseSink {
 public:
  Sink(Road& road, std::shared_ptr<Stream> stream) : road_(road), stream_(std::move(stream)) {}
  void respond(wire::Response r) override {
    if (!stream_->receiver) return;
    stream_->receiver->on_head(r);
    stream_->receiver->on_data(r.body);
    finish();
  }
  void begin_stream(wire::Response) override {}
  bool write(std::string chunk) override {
    if (!stream_->receiver || stream_->ended) return false;
    stream_->chunks.push_back(std::move(chunk));
    road_.schedule(stream_);
    return true;
  }
  void end_stream() override {
    if (!stream_->ended) finish();
  }
  void on_close(std::function<void()>) override {}

 private:
  void finish() {
    stream_->ended = true;
    if (auto receiver = std::exchange(stream_->receiver, nullptr)) receiver->on_end({});
  }
  Road& road_;
  std::shared_ptr<Stream> stream_;
};

class Road::Handle final : public wire::StreamHandle {
 public:
  explicit Handle(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}
  ~Handle() override { stream_->receiver = nullptr; }

 private:
  std::shared_ptr<Stream> stream_;
};

Road::Road(Cluster& cluster, Process& process) : cluster_(cluster), process_(process) {}

Road::~Road() {
  for (const auto& weak : streams_)
    if (auto stream = weak.lock()) {
      stream->receiver = nullptr;
      stream->ended = true;
    }
}

std::unique_ptr<wire::StreamHandle> Road::open_stream(
    const wire::Request& request, std::shared_ptr<wire::StreamReceiver> receiver) {
  auto stream = std::make_shared<Stream>();
  stream->receiver = std::move(receiver);
  std::erase_if(streams_, [](const auto& weak) { return weak.expired(); });
  streams_.push_back(stream);
  wire::Request copy = request;
  copy.identity = master();
  process_.run([this, stream, copy = std::move(copy)]() mutable {
    if (!stream->receiver || dead_) return;
    stream->head_due = true;
    wire::Response head;
    head.headers.set("Content-Type", "application/json");
    cluster_.server().handle(std::move(copy), std::make_shared<Sink>(*this, stream));
    while (cluster_.server().work()) {
    }
  });
  return std::make_unique<Handle>(std::move(stream));
}

void Road::schedule(const std::shared_ptr<Stream>& stream) {
  if (std::exchange(stream->scheduled, true)) return;
  auto task = [this, stream] { deliver(stream); };
  Random& random = cluster_.scheduler().random;
  if (weather.delay_ms > 0 && random.percent(50)) {
    process_.run_after(Duration::millis(random.between(1, weather.delay_ms)), task);
  } else {
    process_.run(task);
  }
}

void Road::deliver(const std::shared_ptr<Stream>& stream) {
  stream->scheduled = false;
  if (!stream->receiver || dead_) return;
  Random& random = cluster_.scheduler().random;
  if (stream->head_due) {
    stream->head_due = false;
    stream->receiver->on_head({});
  }
  std::deque<std::string> chunks;
  chunks.swap(stream->chunks);
  if (weather.reorder > 0)
    for (size_t i = 0; i + 1 < chunks.size(); ++i) {
      const auto uid = [](const std::string& chunk) {
        const auto event = json::parse(chunk);
        return event.ok() ? std::string(event->get_string({"object", "metadata", "uid"})) : "";
      };
      if (!random.percent(weather.reorder)) continue;
      const std::string a = uid(chunks[i]), b = uid(chunks[i + 1]);
      if (!a.empty() && !b.empty() && a != b) std::swap(chunks[i], chunks[i + 1]);
    }
  for (const std::string& chunk : chunks) {
    if (!stream->receiver) return;
    stream->receiver->on_data(chunk);
    if (stream->receiver && !stream->last.empty() && random.percent(weather.repeat))
      stream->receiver->on_data(stream->last);
    if (stream->last.empty() || random.percent(30)) stream->last = chunk;
  }
}

void Road::cut(bool expired) {
  const auto streams = streams_;
  for (const auto& weak : streams) {
    auto stream = weak.lock();
    if (!stream || !stream->receiver) continue;
    stream->ended = true;
    auto receiver = std::exchange(stream->receiver, nullptr);
    if (stream->head_due) receiver->on_head({});
    if (expired) {
      const Error error = make_error(ErrorCode::kExpired, "too old resource version");
      receiver->on_data(R"({"type":"ERROR","object":)" +
                        json::write(wire::status_from_error(error)) + "}\n");
      receiver->on_end({});
    } else {
      receiver->on_end(make_error(ErrorCode::kUnavailable, "the connection is gone"));
    }
  }
}

bool Road::quiet() const {
  return std::all_of(streams_.begin(), streams_.end(), [](const auto& weak) {
    auto stream = weak.lock();
    return !stream || !stream->receiver || stream->chunks.empty();
  });
}

// While a slow request is under way.
void Road::others() {
  Random& random = cluster_.scheduler().random;
  if (!random.percent(weather.slow)) return;
  const bool many = weather.crowd > 0 && random.percent(weather.crowd);
  cluster_.scheduler().run_others(random.between(1, many ? 60 : 6));
}

Result<wire::Response> Road::round_trip(const wire::Request& request, Duration) {
  const auto gone = [] { return make_error(ErrorCode::kUnavailable, "connection refused"); };
  if (dead_) return gone();
  Random& random = cluster_.scheduler().random;
  others();
  if (dead_) return gone();
  // Nothing is done in no time: who writes again and again meanwhile gets older.
  cluster_.scheduler().skip(Duration::millis(is_write(request) ? random.between(1, 12) : 1));
  if (!is_write(request)) {
    if (random.percent(weather.read_fails)) return gone();
    auto answer = cluster_.call(request);
    others();
    return answer;
  }
  if (writes_to_live == 0) {
    dead_ = true;
    return gone();
  }
  const bool tenth = weather.every_tenth != 0 && ++refusable_ % 10 == 0;
  if (tenth || random.percent(weather.refuse)) {
    constexpr ErrorCode kCodes[] = {ErrorCode::kInternal, ErrorCode::kUnavailable,
                                    ErrorCode::kTooManyRequests};
    return wire::error_response(make_error(kCodes[random.below(3)], "the server is not well"));
  }
  if (interfere && random.percent(weather.conflict)) interfere(request);
  cluster_.writer = process_.name();
  auto answer = cluster_.call(request);
  cluster_.writer.clear();
  ++writes;
  if (on_write) on_write(request, answer->status);
  if (writes_to_live > 0 && --writes_to_live == 0 && random.percent(50)) {
    dead_ = true;  // written, but nobody lives to hear it
    return gone();
  }
  if (random.percent(weather.lost)) return make_error(ErrorCode::kTimeout, "no answer in time");
  others();
  return answer;
}

}  // namespace kueue::sim
