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
// What changed between two documents, one line for each part: "tls" can be put in force at once,
// everything else asks for a new start.
std::vector<std::string> describe_changes(const json::Value& before, const json::Value& after);
// One line per cause, "metadata.name: text".
std::string describe_error(const Error& error);

}  // namespace kueue::app
