// Playground: everything of `kueue up` in one process - the API server behind HTTPS, stand-ins for
// machines, and the manager, which reach the server without sockets.
//
// Threads: start() and stop() are called by one thread, not a loop's. A Playground that is
// destroyed has stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace kueue::app {

struct PlaygroundOptions {
  std::string data_dir;    // not used with `memory`
  bool memory = false;     // nothing stored; the kubeconfig is removed at the end
  std::string kubeconfig;  // written last, when everything is ready
  std::string address = "127.0.0.1";
  int port = -1;  // -1: 6443, or any free one when that is taken; 0: any
  std::string nodes = "4x8cpu,32Gi";
  std::string stand_ins = "all";
  bool manager = true;
  std::string config_path;  // the manager's Configuration; "" = defaults
  // Each line of the server's, stand-ins' and manager's trouble.
  std::function<void(const std::string&)> log = {};
};

class Playground {
 public:
  // Returns when everything is ready and the kubeconfig is written. Errors say what cannot be had:
  // the folder (in use, of a newer version, not writable), the port, the kubeconfig, the nodes
  // text, the configuration.
  static Result<std::unique_ptr<Playground>> start(PlaygroundOptions options);
  ~Playground();
  // Ends watches in good order, waits for the disk, takes less than a second. Idempotent.
  void stop();

  const std::string& url() const;
  const PlaygroundOptions& options() const;
  // What its user should know of the Configuration: "integrations.frameworks[1]: ... not there".
  const std::vector<std::string>& warnings() const;

 private:
  struct Parts;
  explicit Playground(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace kueue::app
