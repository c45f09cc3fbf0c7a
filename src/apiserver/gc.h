// Collector: deletes dependents whose owners are gone (or that are deleted with them), and old
// Events. Thread safe; the work is done on the core's background thread.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "apiserver/store.h"
#include "json/value.h"

namespace kueue::apiserver {

class Core;

class Collector {
 public:
  explicit Collector(Core& core) : core_(core) {}
  // Reads the owners of everything stored.
  void load();
  void observe(const Change& change);
  void expire_events();

 private:
  using Place = std::pair<std::string, std::string>;  // collection, key
  void index(const Place& place, std::string_view before, std::string_view after);
  void owner_gone(const std::string& uid);
  void owner_deleting(const Place& owner);
  // `gone`: uid of an owner known to be deleted, whatever became of its kind.
  void check_dependent(const Place& place, std::string_view gone = {});
  void finish_foreground(const Place& place);
  void orphan(const Place& owner);
  std::set<Place> dependents(const std::string& uid) const;

  Core& core_;
  mutable std::mutex mutex_;
  std::map<std::string, std::set<Place>, std::less<>> by_owner_;  // owner's uid
};

}  // namespace kueue::apiserver
