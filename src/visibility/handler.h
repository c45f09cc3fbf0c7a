// The visibility API (visibility.kueue.x-k8s.io): pending workloads of a queue in their order, with
// positions, as an aggregated API server. Read only and without storage: each answer is made from
// what the manager knows at that moment. Thread safe.
//
// One subresource is ours, namespaces/NS/workloads/NAME/explanation: why a Workload waits.
// Discovery and OpenAPI do not list it, so that clients see the API that they know.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "json/value.h"
#include "visibility/access.h"
#include "wire/http.h"

namespace kueue::visibility {

struct Owner {
  std::string api_version, kind, name, uid;
};

struct Pending {
  std::string namespace_, name;
  Instant created;
  std::vector<Owner> owners;
  int32_t priority = 0;  // of the object, without boosts
  std::string local_queue;
  int32_t position_in_cluster_queue = 0;
  int32_t position_in_local_queue = 0;
};

// What is pending; thread safe.
class Source {
 public:
  virtual ~Source() = default;
  // `limit` of them from `offset` on, in queue order. nullopt: there is no such queue.
  virtual std::optional<std::vector<Pending>> of_cluster_queue(std::string_view name, size_t offset,
                                                               size_t limit) = 0;
  virtual std::optional<std::vector<Pending>> of_local_queue(std::string_view namespace_,
                                                             std::string_view name, size_t offset,
                                                             size_t limit) = 0;
  // Why the Workload waits, and what happened to it. nullopt: there is no such Workload.
  virtual std::optional<json::Value> explanation(std::string_view namespace_,
                                                 std::string_view name) = 0;
};

class Handler final : public wire::Handler {
 public:
  // Both must outlive the handler. `address` is shown in discovery (":8082").
  Handler(Source& source, Access& access, std::string address);
  // May block: it asks the API server who may do what.
  void handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) override;
  // The same at once.
  wire::Response answer(const wire::Request& request);

 private:
  wire::Response pending(const wire::Request& request, std::string_view version,
                         std::string_view namespace_, std::string_view resource,
                         std::string_view name);
  wire::Response explanation(const std::string& namespace_, const std::string& name);
  Source& source_;
  Access& access_;
  std::string address_;
};

}  // namespace kueue::visibility
