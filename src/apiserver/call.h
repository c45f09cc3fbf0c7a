// Call: one request on its way through the server, and the answer's form. A Call belongs to one
// thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/catalog.h"
#include "apiserver/store.h"
#include "base/result.h"
#include "json/value.h"
#include "wire/http.h"
#include "wire/path.h"

namespace kueue::apiserver {

class Core;

// What the Accept header asks for.
struct Output {
  enum class Form : uint8_t { kObject, kTable, kPartial, kPartialList, kDiscovery };
  Form form = Form::kObject;
  std::string version = "v1";  // of the form's group: meta.k8s.io/v1, apidiscovery.k8s.io/v2
  bool yaml = false;
  bool pretty = false;
};

// The first acceptable range we can serve; kNotAcceptable when there is none. `forms`: whether
// Table and Partial are offered; `discovery`: the aggregated discovery.
Result<Output> negotiate(std::string_view accept, bool forms, bool discovery);

struct Call {
  Core* core = nullptr;
  wire::Request request;
  std::shared_ptr<wire::ResponseSink> sink;
  std::shared_ptr<const Catalog> catalog;
  wire::ResourcePath path;
  const Served* served = nullptr;
  Output output;
  std::vector<std::string> warnings;

  // Options of writes.
  bool dry_run = false;
  std::string field_manager;
  enum class Validation : uint8_t { kWarn, kStrict, kIgnore } validation = Validation::kWarn;

  const Resource& resource() const { return *served->resource; }
  void warn(std::string text);
  // An Error about this call's resource and name.
  Error error(ErrorCode code, std::string message) const;
  Error not_found(std::string_view name) const;
};
using CallPtr = std::shared_ptr<Call>;

// As many of the call's warnings as clients take.
void add_warnings(const Call& call, wire::Headers& headers);
// Finishes a call.
void reply(Call& call, wire::Response response);
void reply_error(Call& call, const Error& error);
void reply_value(Call& call, const json::Value& value, int status = 200);
// JSON text that is already serialised.
void reply_bytes(Call& call, std::string bytes, int status = 200);

}  // namespace kueue::apiserver
