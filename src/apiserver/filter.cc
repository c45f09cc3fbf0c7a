#include "apiserver/filter.h"

#include <algorithm>

#include "apiserver/json_scan.h"
#include "schema/errors.h"

namespace kueue::apiserver {

namespace {

struct BuiltInFields {
  std::string_view collection;
  std::string_view paths;  // separated by blanks
};

constexpr BuiltInFields kFields[] = {
    {"/pods",
     "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork "
     "status.phase status.podIP status.podIPs status.nominatedNodeName"},
    {"/events",
     "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid "
     "involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason "
     "reportingComponent source type"},
    {"/namespaces", "status.phase"},
    {"/nodes", "spec.unschedulable"},
    {"/secrets", "type"},
    {"/services", "spec.clusterIP spec.type"},
    {"/replicationcontrollers", "status.replicas"},
    {"apps/replicasets", "status.replicas"},
    {"batch/jobs", "status.successful"},
    {"certificates.k8s.io/certificatesigningrequests", "spec.signerName"},
    {"resource.k8s.io/resourceslices", "spec.nodeName spec.driver"},
};

// events.k8s.io names the same fields otherwise.
constexpr std::string_view kNewEventFields =
    "regarding.kind regarding.namespace regarding.name regarding.uid regarding.apiVersion "
    "regarding.resourceVersion regarding.fieldPath reason reportingController type";

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t blank = text.find(' ');
    out.emplace_back(text.substr(0, blank));
    text = blank == std::string_view::npos ? std::string_view() : text.substr(blank + 1);
  }
  return out;
}

}  // namespace

std::vector<std::string> selectable_fields(const Served& served) {
  std::vector<std::string> fields;
  if (served.info->group == "events.k8s.io") return split(kNewEventFields);
  for (const BuiltInFields& f : kFields)
    if (f.collection == served.resource->collection) fields = split(f.paths);
  for (std::string_view path : served.info->selectable_fields) {
    std::string name(path.starts_with(".") ? path.substr(1) : path);
    if (std::find(fields.begin(), fields.end(), name) == fields.end())
      fields.push_back(std::move(name));
  }
  return fields;
}

std::string field_value(std::string_view collection, std::string_view bytes,
                        std::string_view path) {
  std::string text;
  if (collection == "/events") {
    // An Event is stored in the form it was written in: v1 or events.k8s.io/v1.
    const auto either = [&](const std::string& a, const std::string& b) {
      const std::string_view found = scan_dotted(bytes, a);
      return scan_text(found.empty() ? scan_dotted(bytes, b) : found);
    };
    for (const std::string_view object : {"regarding.", "involvedObject."}) {
      if (!path.starts_with(object)) continue;
      const std::string member(path.substr(object.size()));
      return either("involvedObject." + member, "regarding." + member);
    }
    if (path == "reportingController" || path == "reportingComponent")
      return either("reportingComponent", "reportingController");
    if (path == "source") {
      text = either("source.component", "deprecatedSource.component");
      return text.empty() ? either("reportingComponent", "reportingController") : text;
    }
  }
  if (path == "status.successful" && collection == "batch/jobs") {
    text = scan_string(bytes, {"status", "succeeded"});
    return text.empty() ? "0" : text;
  }
  text = scan_text(scan_dotted(bytes, path));
  if (text.empty() && (path == "spec.unschedulable" || path == "spec.hostNetwork")) return "false";
  if (text.empty() && path == "status.replicas") return "0";
  return text;
}

Result<Filter> Filter::parse(const Call& call) {
  Filter filter;
  const std::string_view labels = call.request.query_value("labelSelector");
  const std::string_view fields = call.request.query_value("fieldSelector");
  auto parsed_labels = wire::LabelSelector::parse(labels);
  if (!parsed_labels.ok()) return make_error(ErrorCode::kBadRequest, parsed_labels.error().message);
  filter.labels_ = std::move(parsed_labels).value();
  auto parsed_fields = wire::FieldSelector::parse(fields);
  if (!parsed_fields.ok()) return make_error(ErrorCode::kBadRequest, parsed_fields.error().message);
  filter.fields_ = std::move(parsed_fields).value();

  const std::vector<std::string> known = selectable_fields(*call.served);
  std::string namespace_ = call.path.namespace_;
  std::string name = call.path.name;
  for (const auto& term : filter.fields_.terms()) {
    if (term.path == "metadata.name") {
      if (term.equal && name.empty()) name = term.value;
    } else if (term.path == "metadata.namespace") {
      if (term.equal && namespace_.empty()) namespace_ = term.value;
    } else if (std::find(known.begin(), known.end(), term.path) == known.end()) {
      // Built-in kinds without fields of their own refuse in other words.
      if (known.empty() && !call.resource().custom())
        return make_error(ErrorCode::kBadRequest, "\"" + term.path +
                                                      "\" is not a known field selector: only "
                                                      "\"metadata.name\", \"metadata.namespace\"");
      return make_error(ErrorCode::kBadRequest, "field label not supported: " + term.path);
    }
  }
  if (call.resource().namespaced) {
    if (!namespace_.empty()) filter.prefix_ = namespace_ + "/";
    if (!name.empty() && !namespace_.empty()) {
      filter.prefix_ += name;
      filter.single_ = true;
    }
  } else if (!name.empty()) {
    filter.prefix_ = name;
    filter.single_ = true;
  }
  filter.nothing_ = filter.labels_ == wire::LabelSelector::nothing();
  return filter;
}

bool Filter::matches(std::string_view key, std::string_view bytes) const {
  if (single_ ? key != prefix_ : !key.starts_with(prefix_)) return false;
  if (nothing_) return false;
  if (!labels_.empty()) {
    std::vector<std::pair<std::string_view, std::string>> labels;
    for (Members m(scan_path(bytes, {"metadata", "labels"})); m.next();)
      labels.emplace_back(m.key(), scan_text(m.value()));
    const bool hit = labels_.matches([&](std::string_view wanted) -> const std::string* {
      for (const auto& [label, value] : labels)
        if (label == wanted) return &value;
      return nullptr;
    });
    if (!hit) return false;
  }
  if (fields_.empty()) return true;
  return fields_.matches([&](std::string_view path) {
    // Keys tell the collection apart only for the few special fields, which name themselves.
    const std::string kind = scan_string(bytes, {"kind"});
    const std::string_view collection = kind == "Event" ? "/events"
                                        : kind == "Job" ? "batch/jobs"
                                                        : "";
    return field_value(collection, bytes, path);
  });
}

}  // namespace kueue::apiserver
