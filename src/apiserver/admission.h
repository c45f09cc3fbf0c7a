// Admission: MutatingWebhookConfigurations and ValidatingWebhookConfigurations, after the built-in
// plug-ins (pod priority, default tolerations, service account). Thread safe. mutate() and
// validate() may wait for webhooks.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "apiserver/call.h"
#include "apiserver/store.h"
#include "base/result.h"
#include "json/value.h"

namespace kueue::apiserver {

struct WebhookSet;

// One write as admission sees it.
struct Attempt {
  std::string_view operation;  // CREATE, UPDATE, DELETE, CONNECT
  std::string_view subresource = {};
  json::Value* object = nullptr;     // changed by mutate(); null for DELETE
  const json::Value* old = nullptr;  // null for CREATE
  const json::Value* options = nullptr;
};

class Admission {
 public:
  explicit Admission(Core& core) : core_(core) {}
  void load() {}

  // Whether a webhook may be called for this: then the caller must be on a worker thread.
  bool may_call(const Call& call, std::string_view operation, std::string_view subresource) const;
  Result<void> mutate(Call& call, const Attempt& attempt) const;
  Result<void> validate(Call& call, const Attempt& attempt) const;

 private:
  std::shared_ptr<const WebhookSet> webhooks() const;
  Core& core_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const WebhookSet> set_;
};

}  // namespace kueue::apiserver
