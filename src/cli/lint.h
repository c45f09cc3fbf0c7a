// kueue lint: looks at an installation and its queues for what will not work, or not as it seems.
// The rules are a pure function of the objects; the command reads these from a server or files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "json/lists.h"

namespace kueue::cli {

// What lint looks at: objects by kind, in order of namespace and name. A kind that is absent was
// not read, and rules that need it say nothing.
struct Inventory {
  std::map<std::string, std::vector<json::Value>, std::less<>> kinds;
  std::string namespace_ = "kueue-system";  // the installation's
  bool installation = true;                 // look at CRDs, webhooks and the manager too
  bool own_conversion = false;  // a playground's server converts kueue's kinds by itself
  Instant now;                  // what ages are told against

  bool has(std::string_view kind) const { return kinds.find(kind) != kinds.end(); }
  const std::vector<json::Value>& of(std::string_view kind) const;  // empty when absent
  const json::Value* find(std::string_view kind, std::string_view namespace_,
                          std::string_view name) const;
};

enum class Severity : uint8_t {
  kError,    // does not work
  kWarning,  // works, but hardly as meant
  kInfo,     // worth knowing
};

struct Finding {
  Severity severity = Severity::kInfo;
  std::string rule;     // "unreachable-queue"; stable, for filters
  std::string object;   // "ClusterQueue/team-a", "LocalQueue/default/main"
  std::string field;    // "spec.namespaceSelector", may be empty
  std::string message;  // what is seen, with numbers
  std::string advice;   // what to change
};

std::string_view name_of(Severity severity);

// All findings: errors first, then by rule, object and field.
std::vector<Finding> lint(const Inventory& inventory);

// What rules share: what they look at, and where their findings go.
class RuleSet {
 protected:
  RuleSet(const Inventory& inventory, std::vector<Finding>* out) : all_(inventory), out_(out) {}
  void add(Severity severity, std::string rule, std::string object, std::string field,
           std::string message, std::string advice);

  const Inventory& all_;

 private:
  std::vector<Finding>* out_;
};

// Parts of lint(), each appends. In files of their names.
void lint_queues(const Inventory& inventory, std::vector<Finding>* out);
void lint_quota(const Inventory& inventory, std::vector<Finding>* out);
void lint_workloads(const Inventory& inventory, std::vector<Finding>* out);
void lint_installation(const Inventory& inventory, std::vector<Finding>* out);
void lint_leader(const Inventory& inventory, std::vector<Finding>* out);

// Why the scheduler finds no place for a Pod, "" when it has one or did not look yet.
std::string why_unscheduled(const json::Value& pod);

// "Kind/name" or "Kind/namespace/name".
std::string object_label(std::string_view kind, const json::Value& object);
std::string_view name_of(const json::Value& object);
std::string_view namespace_of(const json::Value& object);
// The condition of this type, or null.
const json::Value* condition_of(const json::Value& object, std::string_view type);
// Whether a label selector object takes these labels; an unreadable one takes none.
bool selects(const json::Value* selector, const json::Value& object);
// "a, b and 3 more"
std::string some_of(const std::vector<std::string>& names, size_t most = 3);

}  // namespace kueue::cli
