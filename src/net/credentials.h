// Credentials: what a client proves itself with - a fixed token, a token file that is replaced now
// and then, or the output of a command. Thread safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "net/http_transport.h"

namespace kueue::net {

struct Credential {
  std::string authorization;  // header value, "" = none
  std::string cert_pem;
  std::string key_pem;
  uint64_t generation = 0;  // changes when certificate or key change
};

class Credentials {
 public:
  explicit Credentials(const TransportOptions& options);
  // May read a file or run the command; blocks meanwhile.
  Result<Credential> get();
  // The server did not accept them: the next get() asks again. False when that cannot change
  // anything.
  bool refuse(const Credential& used);
  // Whether get() may block.
  bool dynamic() const { return exec_.has_value() || !token_file_.empty(); }

 private:
  Result<void> read_token_file();
  Result<void> run_plugin();

  std::mutex mutex_;
  const std::string token_file_;
  const std::optional<ExecPlugin> exec_;
  Credential current_;
  bool have_ = false;
  int64_t valid_until_ = 0;  // steady ns; 0 = until refused
};

struct CommandOutput {
  int exit_code = 0;
  std::string out;
};
// Runs a program (looked up in PATH), reads its standard output; standard error goes to ours.
// kNotFound when there is no such program, kTimeout after killing it.
Result<CommandOutput> run_command(const std::vector<std::string>& argv,
                                  const std::vector<std::pair<std::string, std::string>>& env,
                                  Duration timeout);

// Result of parsing an ExecCredential; `expiry` zero = none.
struct ExecCredential {
  std::string token;
  std::string cert_pem;
  std::string key_pem;
  Instant expiry;
};
Result<ExecCredential> parse_exec_credential(const std::string& text);

}  // namespace kueue::net
