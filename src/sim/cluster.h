// Cluster: the embedded API server of a simulated world, what it holds at this moment, and the
// roads to it. A Road is one program's connection: it delays, repeats, reorders and cuts watches,
// refuses writes and loses answers, as its Weather says.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/server.h"
#include "json/value.h"
#include "kube/client.h"
#include "sim/scheduler.h"

namespace kueue::sim {

// Of the kinds that a world looks at, by plural.
kube::Resource resource_of(std::string_view plural);

// Percentages of what it is about; 0 = never.
struct Weather {
  int refuse = 0;       // writes that the server refuses: 500, 503, 429
  int every_tenth = 0;  // 1: each tenth write is refused
  int lost = 0;         // writes that are done, but whose answer is lost
  int conflict = 0;     // writes before which somebody else changes the object
  int read_fails = 0;   // gets and lists that fail
  int slow = 0;         // requests during which some other tasks run
  int crowd = 0;        // of these requests those during which many run
  int delay_ms = 0;     // how late a watch event may come
  int repeat = 0;       // events that come again later
  int reorder = 0;      // events that change places with the next one, of another object
  bool calm() const;
};

struct Change {
  std::string plural;
  const json::Value* before = nullptr;  // null: created
  const json::Value* after = nullptr;   // null: gone
};

class Cluster {
 public:
  // Opens the server and makes our kinds known; what is not random can be done once for many runs.
  explicit Cluster(Scheduler& scheduler);
  ~Cluster();

  // The state of the cluster now, as the server holds it.
  using Key = std::pair<std::string, std::string>;  // namespace, name
  const std::map<Key, json::Value>& all(const std::string& plural) const;
  bool looks_at(const std::string& plural) const { return objects_.contains(plural); }
  const json::Value* find(const std::string& plural, const std::string& namespace_,
                          const std::string& name) const;
  // Told of each change when it has happened.
  std::function<void(const Change&)> on_change;
  // Name of the program whose request is at work; "" = somebody of the cluster.
  std::string writer;

  // The request as somebody whose road is always good.
  Result<wire::Response> call(const wire::Request& request);
  kube::Client& admin() { return *admin_; }
  kube::Client& client_of(const std::string& agent);
  apiserver::Server& server() { return *server_; }
  Scheduler& scheduler() { return scheduler_; }

  void reseed(uint64_t seed) { random_ = Random(seed); }

 private:
  class Direct;
  class Mirror;
  void watch_everything();
  void take(const std::string& plural, std::string_view line);

  Scheduler& scheduler_;
  Random random_;
  std::unique_ptr<apiserver::Server> server_;
  std::shared_ptr<Direct> direct_;
  std::unique_ptr<kube::Client> admin_;
  std::map<std::string, std::unique_ptr<kube::Client>> clients_;
  std::map<std::string, std::map<Key, json::Value>> objects_;
  bool blind_ = false;  // a watch of our own ended
};

class Road final : public wire::Transport {
 public:
  Road(Cluster& cluster, Process& process);
  ~Road() override;

  Weather weather;
  // After that many more writes this program is dead: nothing of it gets through. -1 = never.
  int64_t writes_to_live = -1;
  bool dead() const { return dead_; }
  void die() { dead_ = true; }
  // Called before the request when a conflict is wanted: somebody else changes the object.
  std::function<void(const wire::Request&)> interfere;
  // Told of each write that reached the server, with the status of its answer.
  std::function<void(const wire::Request&, int status)> on_write;
  int64_t writes = 0;

  // Ends all watches; they come back. With `expired` they must list again.
  void cut(bool expired);
  // Everything that was sent has been delivered.
  bool quiet() const;

  Result<wire::Response> round_trip(const wire::Request& request, Duration timeout) override;
  std::unique_ptr<wire::StreamHandle> open_stream(
      const wire::Request& request, std::shared_ptr<wire::StreamReceiver> receiver) override;

 private:
  struct Stream;
  class Handle;
  class Sink;
  void deliver(const std::shared_ptr<Stream>& stream);
  void schedule(const std::shared_ptr<Stream>& stream);
  void others();

  Cluster& cluster_;
  Process& process_;
  bool dead_ = false;
  int64_t refusable_ = 0;
  std::vector<std::weak_ptr<Stream>> streams_;
};

}  // namespace kueue::sim
