// Namespaces: their life cycle (creation refused while terminating, deletion of the content, the
// finalizer), and the objects that every namespace has. Thread safe; the work is done on the core's
// background thread.
#pragma once

#include <string_view>

#include "apiserver/call.h"
#include "apiserver/store.h"
#include "base/result.h"

namespace kueue::apiserver {

class Namespaces {
 public:
  explicit Namespaces(Core& core) : core_(core) {}
  // Takes up what an earlier run left unfinished.
  void load();
  void observe(const Change& change);
  // kNotFound when a namespaced object's namespace is absent, kForbidden when it terminates.
  Result<void> admit_create(const Call& call, std::string_view namespace_,
                            std::string_view name) const;

 private:
  void furnish(const std::string& name);
  void terminate(const std::string& name);
  Core& core_;
};

}  // namespace kueue::apiserver
