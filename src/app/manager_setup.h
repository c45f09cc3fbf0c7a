// From the manager's flags and Configuration to what its parts take. Pure but for reading the file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/connect.h"
#include "base/result.h"
#include "config/flags.h"
#include "controllers/manager.h"
#include "controllers/options.h"
#include "json/value.h"
#include "kube/leader_election.h"
#include "net/http_server.h"

namespace kueue::app {

struct ManagerSetup {
  controllers::Options options;
  std::optional<kube::LeaderElectionOptions> leader_election;
  Rate rate;             // only when the file sets clientConnection
  json::Value document;  // the defaulted Configuration
  std::vector<std::string> warnings;
  std::vector<ErrorCause> not_built;  // what is asked for and is left out: field and message
};

// Every violation of the Configuration, of its shape as of its values, is one cause and names its
// line. Flags win over the file.
Result<ManagerSetup> load_manager_setup(const config::ManagerOptions& flags);
// tls of the Configuration, for every port that speaks TLS.
net::TlsPolicy tls_policy_of(const json::Value& document);
// What a manager that runs makes of a Configuration that was loaded again.
struct Reload {
  json::Value in_force;  // the document in force, with what could be taken from the new one
  std::vector<std::string> lines;  // for the log: each field that differs, by its path
};
// `before`: the document in force. Fields that are looked at anew for each object, connection or
// request are taken over; the others stay, and are named each time until a new start.
Reload plan_reload(const json::Value& before, const json::Value& after);
// One line per cause, "metadata.name: text".
std::string describe_error(const Error& error);

}  // namespace kueue::app
