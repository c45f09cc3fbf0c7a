// Content negotiation and the last step of every call. Pure but for the sink.
#include <algorithm>
#include <cctype>

#include "apiserver/call.h"
#include "json/json.h"
#include "wire/status.h"

namespace kueue::apiserver {

namespace {

// Clients bound the header lines of an answer in number (100 with some) and in bytes; an object can
// have more unknown fields than that.
constexpr size_t kMostWarnings = 64;
constexpr size_t kWarningBytes = 4096;  // of all; where they are more, each is shortened
constexpr size_t kLongWarning = 256;

// At most `most` bytes, without a broken character at the end.
std::string_view shortened(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

struct Range {
  std::string type;
  std::string as, group, version;
  double q = 1;
};

Range parse_range(std::string_view text) {
  Range range;
  size_t end = text.find(';');
  range.type = lower(trim(text.substr(0, end)));
  while (end != std::string_view::npos) {
    text.remove_prefix(end + 1);
    end = text.find(';');
    const std::string_view parameter = trim(text.substr(0, end));
    const size_t equal = parameter.find('=');
    if (equal == std::string_view::npos) continue;
    const std::string_view key = parameter.substr(0, equal);
    const std::string value(parameter.substr(equal + 1));
    if (key == "as") range.as = value;
    if (key == "g") range.group = value;
    if (key == "v") range.version = value;
    if (key == "q") range.q = std::strtod(value.c_str(), nullptr);
  }
  return range;
}

std::optional<Output> match(const Range& range, bool forms, bool discovery) {
  Output output;
  if (range.type == "application/yaml")
    output.yaml = true;
  else if (range.type != "application/json" && range.type != "*/*" && range.type != "application/*")
    return std::nullopt;
  if (range.as.empty()) return output;
  output.version = range.version;
  const bool meta_version = range.version == "v1" || range.version == "v1beta1";
  if (forms && range.group == "meta.k8s.io" && meta_version) {
    if (range.as == "Table") output.form = Output::Form::kTable;
    if (range.as == "PartialObjectMetadata") output.form = Output::Form::kPartial;
    if (range.as == "PartialObjectMetadataList") output.form = Output::Form::kPartialList;
  }
  if (discovery && range.group == "apidiscovery.k8s.io" && range.as == "APIGroupDiscoveryList" &&
      range.version == "v2")
    output.form = Output::Form::kDiscovery;
  if (output.form == Output::Form::kObject) return std::nullopt;
  return output;
}

}  // namespace

Result<Output> negotiate(std::string_view accept, bool forms, bool discovery) {
  accept = trim(accept);
  if (accept.empty()) return Output{};
  std::vector<Range> ranges;
  while (true) {
    const size_t comma = accept.find(',');
    ranges.push_back(parse_range(trim(accept.substr(0, comma))));
    if (comma == std::string_view::npos) break;
    accept.remove_prefix(comma + 1);
  }
  const Range* best = nullptr;
  std::optional<Output> output;
  for (const Range& range : ranges) {
    if (best != nullptr && range.q <= best->q) continue;
    if (range.q <= 0) continue;
    if (auto hit = match(range, forms, discovery)) {
      best = &range;
      output = hit;
    }
  }
  if (output) return *output;
  return make_error(ErrorCode::kNotAcceptable,
                    "406: Not Acceptable\n\nAvailable representations: application/json, "
                    "application/yaml, application/json;stream=watch");
}

void Call::warn(std::string text) {
  if (warnings.size() >= kMostWarnings) return;
  if (std::find(warnings.begin(), warnings.end(), text) == warnings.end())
    warnings.push_back(std::move(text));
}

Error Call::error(ErrorCode code, std::string message) const {
  Error e = make_error(code, std::move(message));
  if (served != nullptr) {
    e.group = served->info->group;
    e.kind = served->info->plural;
  }
  e.name = path.name;
  return e;
}

Error Call::not_found(std::string_view name) const {
  Error e = error(ErrorCode::kNotFound,
                  served->resource->qualified() + " \"" + std::string(name) + "\" not found");
  e.name = name;
  return e;
}

void add_warnings(const Call& call, wire::Headers& headers) {
  size_t total = 0;
  for (const std::string& warning : call.warnings) total += warning.size();
  const bool shorten = total > kWarningBytes;
  total = 0;
  for (const std::string& warning : call.warnings) {
    std::string_view text = warning;
    if (shorten) {
      text = shortened(text, kLongWarning);
      total += text.size();
      if (total > kWarningBytes) return;
    }
    std::string quoted = "299 - \"";
    for (const char c : text) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c == '\n' || c == '\r' ? ' ' : c;
    }
    headers.add("Warning", quoted + "\"");
  }
}

void reply(Call& call, wire::Response response) {
  add_warnings(call, response.headers);
  if (!response.headers.has("Cache-Control"))
    response.headers.set("Cache-Control", "no-cache, private");
  call.sink->respond(std::move(response));
}

void reply_error(Call& call, const Error& error) { reply(call, wire::error_response(error)); }

void reply_bytes(Call& call, std::string bytes, int status) {
  wire::Response response;
  response.status = status;
  if (call.output.yaml) {
    if (auto value = json::parse(bytes); value.ok()) bytes = json::write_yaml(*value);
    response.headers.set("Content-Type", "application/yaml");
  } else {
    if (call.output.pretty)
      if (auto value = json::parse(bytes); value.ok()) bytes = json::write_pretty(*value, 2) + "\n";
    response.headers.set("Content-Type", "application/json");
  }
  response.body = std::move(bytes);
  reply(call, std::move(response));
}

void reply_value(Call& call, const json::Value& value, int status) {
  reply_bytes(call, json::write(value), status);
}

}  // namespace kueue::apiserver
