// The server under test as a process of its own, so that its memory is told apart from the
// client's: an API server on a folder, behind HTTPS on a free port of the loopback interface.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "wire/http.h"

namespace kueue::bench {

class ServerProcess {
 public:
  // Forks; to be called while the caller has one thread. Ends the program when it fails.
  static ServerProcess start(const std::string& folder);
  ServerProcess(ServerProcess&& other) noexcept;
  // Stops the process and waits for it.
  ~ServerProcess();

  // A transport of its own, with an own pool of connections.
  std::shared_ptr<wire::Transport> connect() const;
  // Bytes resident now, and at most since the start.
  int64_t resident() const;
  int64_t peak_resident() const;
  // CPU seconds used so far.
  double cpu_seconds() const;

 private:
  ServerProcess() = default;
  pid_t pid_ = -1;
  int stop_ = -1;  // closing it stops the server
  uint16_t port_ = 0;
  std::string ca_pem_;
};

// A field of /proc/PID/status in bytes ("VmRSS", "VmHWM").
int64_t memory_of(pid_t pid, const std::string& field);

}  // namespace kueue::bench
