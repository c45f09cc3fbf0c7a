// The webhook server: AdmissionReview in, AdmissionReview out, and conversion of kueue objects. IO
// free: what listens hands requests to it, and the embedded API server may ask it in process.
// Thread safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "json/value.h"
#include "webhooks/hook.h"
#include "wire/http.h"

namespace kueue::webhooks {

struct HandlerOptions {
  Settings settings;
  std::shared_ptr<Lookup> lookup;
  // The only paths that are served ("/convert" among them); absent = all.
  std::optional<std::set<std::string, std::less<>>> served = {};
  // Paths that allow everything unchanged. Job kinds whose framework is not enabled are such, too.
  std::set<std::string, std::less<>> noop = {};
};

class Handler final : public wire::Handler {
 public:
  explicit Handler(HandlerOptions options);

  // POST of a review to one of the paths. 404 for other paths, 405 for other methods, 400 for a
  // body that is no review.
  void handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) override;
  // The same at once.
  wire::Response answer(const wire::Request& request) const;
  // The answer to an AdmissionReview v1; always a review with the request's uid. Denials are code
  // 403 with all field errors as one text; a failure to judge has its own code. A patch holds only
  // what changed.
  json::Value review(std::string_view path, const json::Value& review) const;
  // True when the path would not be answered by 404.
  bool serves(std::string_view path) const;
  // Other settings from the next review on.
  void use(Settings settings);

 private:
  std::shared_ptr<const Settings> settings() const;

  HandlerOptions options_;  // its settings are those of the start
  mutable std::mutex mutex_;
  std::shared_ptr<const Settings> settings_;  // guarded by mutex_
};

// The answer to a ConversionReview v1, both as text: a page of a list is several megabytes, and its
// objects pass through one after another, those of a large page in two threads. kBadRequest for
// what is no JSON object; all other faults are in the answer.
Result<std::string> convert_review(std::string_view review);

}  // namespace kueue::webhooks
