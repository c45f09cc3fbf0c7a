// The check of a CustomResourceDefinition around its schemas: names, versions, columns,
// subresources, conversion.
#include <fmt/format.h>

#include "schema/crd.h"
#include "schema/errors.h"
#include "schema/pattern.h"

namespace kueue::schema {
namespace {

constexpr std::string_view kLabelProblem =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kSubdomainProblem =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is "
    R"('[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'))";

std::string_view text(const json::Value& value, std::string_view name) {
  const json::Value* found = value.find(name);
  return found == nullptr ? std::string_view() : found->string_or({});
}

bool flag(const json::Value& value, std::string_view name) {
  const json::Value* found = value.find(name);
  return found != nullptr && found->bool_or(false);
}

const json::Array& list(const json::Value& value, std::string_view name) {
  static const json::Array kEmpty;
  const json::Value* found = value.find(name);
  return found != nullptr && found->is_array() ? found->as_array() : kEmpty;
}

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

class DefinitionChecker {
 public:
  DefinitionChecker(const json::Value& definition, const CrdCheckOptions& options)
      : definition_(definition), options_(options) {}

  std::vector<ErrorCause> run() {
    static const json::Value kNothing = json::Value::object();
    const json::Value* found = definition_.find("spec");
    const json::Value& spec = found != nullptr && found->is_object() ? *found : kNothing;
    const Path root;
    const Path at = root.child("spec");
    const std::string_view plural = plural_name(spec);
    const std::string_view group = text(spec, "group");
    const std::string_view name = definition_.get_string({"metadata", "name"});
    if (name != fmt::format("{}.{}", plural, group)) {
      const Path metadata = root.child("metadata");
      add(invalid_value(metadata.child("name"), name,
                        R"(must be spec.names.plural+"."+spec.group)"));
    }
    check_group(group, root, at);
    check_scope(text(spec, "scope"), at.child("scope"));
    if (flag(spec, "preserveUnknownFields"))
      add(invalid_value(at.child("preserveUnknownFields"), true,
                        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
                        "spec.versions[*].schema instead"));
    check_versions(spec, at);
    check_names(spec, at.child("names"));
    check_conversion(spec, at.child("conversion"));
    return std::move(errors_);
  }

 private:
  void add(ErrorCause cause) { errors_.push_back(std::move(cause)); }

  static std::string_view plural_name(const json::Value& spec) {
    const json::Value* names = spec.find("names");
    return names == nullptr ? std::string_view() : text(*names, "plural");
  }

  void check_group(std::string_view group, const Path& root, const Path& spec) {
    if (group.empty()) {
      add(required_value(spec.child("group")));
      return;
    }
    static constexpr std::string_view kSubdomain =
        R"(^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$)";
    if (!matches_pattern(kSubdomain, group) || group.size() > 253) {
      add(invalid_value(spec.child("group"), group, kSubdomainProblem));
    } else if (group.find('.') == std::string_view::npos) {
      add(invalid_value(spec.child("group"), group, "should be a domain with at least one dot"));
    }
    const bool is_protected = group == "k8s.io" || group == "kubernetes.io" ||
                              group.ends_with(".k8s.io") || group.ends_with(".kubernetes.io");
    static constexpr std::string_view kApproval = "api-approved.kubernetes.io";
    if (is_protected && definition_.find_path({"metadata", "annotations", kApproval}) == nullptr) {
      const Path metadata = root.child("metadata");
      const Path annotations = metadata.child("annotations");
      add(required_value(annotations.key(kApproval),
                         "protected groups must have approval annotation "
                         "\"api-approved.kubernetes.io\", see "
                         "https://github.com/kubernetes/enhancements/pull/1111"));
    }
  }

  void check_scope(std::string_view scope, const Path& at) {
    static constexpr std::string_view kScopes[] = {"Cluster", "Namespaced"};
    if (scope.empty()) {
      add(required_value(at));
    } else if (scope != "Cluster" && scope != "Namespaced") {
      add(not_supported(at, scope, kScopes));
    }
  }

  static bool is_label(std::string_view name) {
    return name.size() <= 63 && matches_pattern("^[a-z]([-a-z0-9]*[a-z0-9])?$", name);
  }

  void check_label(std::string_view name, const Path& at) {
    if (name.empty()) {
      add(required_value(at));
    } else if (!is_label(name)) {
      add(invalid_value(at, name, kLabelProblem));
    }
  }

  void check_kind(std::string_view kind, const Path& at) {
    if (kind.empty()) {
      add(required_value(at));
    } else if (!is_label(lower(kind))) {
      add(invalid_value(
          at, kind,
          fmt::format("may have mixed case, but should otherwise match: {}", kLabelProblem)));
    }
  }

  void check_names(const json::Value& spec, const Path& at) {
    static const json::Value kNothing = json::Value::object();
    const json::Value* found = spec.find("names");
    const json::Value& names = found != nullptr && found->is_object() ? *found : kNothing;
    const std::string_view kind = text(names, "kind");
    std::string singular(text(names, "singular"));
    if (singular.empty()) singular = lower(kind);
    std::string list_kind(text(names, "listKind"));
    if (list_kind.empty() && !kind.empty()) list_kind = fmt::format("{}List", kind);
    check_label(text(names, "plural"), at.child("plural"));
    check_label(singular, at.child("singular"));
    check_kind(kind, at.child("kind"));
    check_kind(list_kind, at.child("listKind"));
    if (!kind.empty() && kind == list_kind)
      add(invalid_value(at.child("listKind"), list_kind, "kind and listKind may not be the same"));
    for (std::string_view what : {std::string_view("shortNames"), std::string_view("categories")}) {
      const Path in = at.child(what);
      const json::Array& items = list(names, what);
      for (size_t i = 0; i < items.size(); ++i)
        if (!is_label(items[i].string_or({})))
          add(invalid_value(in.index(i), items[i], kLabelProblem));
    }
  }

  // kube-apiserver lifts what all versions have in common to the definition, and tells its errors
  // there.
  static bool common(const json::Value& spec, std::string_view what) {
    const json::Array& versions = list(spec, "versions");
    static const json::Value kAbsent;
    const json::Value* first = versions.empty() ? nullptr : versions[0].find(what);
    for (const json::Value& version : versions) {
      const json::Value* other = version.find(what);
      if ((first != nullptr ? *first : kAbsent) != (other != nullptr ? *other : kAbsent))
        return false;
    }
    return true;
  }

  void check_versions(const json::Value& spec, const Path& at) {
    const json::Array& versions = list(spec, "versions");
    const Path at_versions = at.child("versions");
    int storage = 0;
    bool twice = false;
    for (size_t i = 0; i < versions.size(); ++i) {
      const Path in = at_versions.index(i);
      const std::string_view name = text(versions[i], "name");
      storage += flag(versions[i], "storage") ? 1 : 0;
      for (size_t k = 0; k < i; ++k) twice = twice || text(versions[k], "name") == name;
      check_label(name, in.child("name"));
      if (!flag(versions[i], "deprecated") && !text(versions[i], "deprecationWarning").empty())
        add(invalid_value(in.child("deprecationWarning"), text(versions[i], "deprecationWarning"),
                          "can only be set for deprecated versions"));
    }
    static const json::Value kNone = json::Value::array();
    const json::Value* value = spec.find("versions");
    const json::Value& shown = value != nullptr ? *value : kNone;
    if (twice)
      add(invalid_value(at_versions, names_of(shown), "must contain unique version names"));
    if (storage != 1)
      add(invalid_value(at_versions, names_of(shown),
                        "must have exactly one version marked as storage version"));
    check_part(spec, at, "schema", [this](const json::Value& schema, const Path& p, bool lifted) {
      check_schema(schema, p, lifted);
    });
    check_part(spec, at, "subresources",
               [this](const json::Value& part, const Path& p, bool) { check_scale(part, p); });
    check_part(spec, at, "additionalPrinterColumns",
               [this](const json::Value& part, const Path& p, bool) { check_columns(part, p); });
    check_selectable(spec, at);
  }

  // Versions by name: whole schemas would drown the message.
  static json::Value names_of(const json::Value& versions) {
    json::Value names = json::Value::array();
    if (versions.is_array())
      for (const json::Value& version : versions.as_array())
        names.as_array().emplace_back(text(version, "name"));
    return names;
  }

  // Calls `check(value, path, lifted)` once for what all versions have in common, else per version.
  template <typename Check>
  void check_part(const json::Value& spec, const Path& at, std::string_view what,
                  const Check& check) {
    const json::Array& versions = list(spec, "versions");
    const Path at_versions = at.child("versions");
    if (what == "schema") {
      for (size_t i = 0; i < versions.size(); ++i) {
        const Path in = at_versions.index(i);
        const Path at_schema = in.child("schema");
        const json::Value* schema = versions[i].find_path({"schema", "openAPIV3Schema"});
        if (schema == nullptr || !schema->is_object())
          add(required_value(at_schema.child("openAPIV3Schema")));
      }
    }
    if (versions.empty()) return;
    if (common(spec, what)) {
      const json::Value* value = versions[0].find(what);
      if (value != nullptr) check(*value, at.child(what == "schema" ? "validation" : what), true);
      return;
    }
    for (size_t i = 0; i < versions.size(); ++i) {
      const Path in = at_versions.index(i);
      const json::Value* value = versions[i].find(what);
      if (value != nullptr) check(*value, in.child(what), false);
    }
  }

  void check_schema(const json::Value& schema, const Path& at, bool) {
    const json::Value* openapi = schema.find("openAPIV3Schema");
    if (openapi == nullptr || !openapi->is_object()) return;
    std::vector<ErrorCause> found =
        validate_structural(*openapi, at.child("openAPIV3Schema"), options_);
    std::move(found.begin(), found.end(), std::back_inserter(errors_));
  }

  void check_scale(const json::Value& subresources, const Path& at) {
    const json::Value* scale = subresources.find("scale");
    if (scale == nullptr || !scale->is_object()) return;
    const Path in = at.child("scale");
    check_replicas_path(text(*scale, "specReplicasPath"), in.child("specReplicasPath"), ".spec");
    check_replicas_path(text(*scale, "statusReplicasPath"), in.child("statusReplicasPath"),
                        ".status");
    const std::string_view selector = text(*scale, "labelSelectorPath");
    if (!selector.empty() && !selector.starts_with(".spec.") && !selector.starts_with(".status."))
      add(invalid_value(in.child("labelSelectorPath"), selector,
                        "should be a json path under either .spec or .status"));
  }

  void check_replicas_path(std::string_view path, const Path& at, std::string_view parent) {
    if (path.empty()) {
      add(required_value(at));
    } else if (!path.starts_with(fmt::format("{}.", parent))) {
      add(invalid_value(at, path, fmt::format("should be a json path under {}", parent)));
    }
  }

  void check_columns(const json::Value& columns, const Path& at) {
    if (!columns.is_array()) return;
    static constexpr std::string_view kTypes = "boolean,date,integer,number,string";
    static constexpr std::string_view kFormats =
        "byte,date,date-time,double,float,int32,int64,password";
    for (size_t i = 0; i < columns.as_array().size(); ++i) {
      const json::Value& column = columns.as_array()[i];
      const Path in = at.index(i);
      if (text(column, "name").empty()) add(required_value(in.child("name")));
      const std::string_view type = text(column, "type");
      if (type.empty()) {
        add(required_value(in.child("type"), fmt::format("must be one of {}", kTypes)));
      } else if (!is_one_of(type, kTypes)) {
        add(invalid_value(in.child("type"), type, fmt::format("must be one of {}", kTypes)));
      }
      const std::string_view format = text(column, "format");
      if (!format.empty() && !is_one_of(format, kFormats))
        add(invalid_value(in.child("format"), format, fmt::format("must be one of {}", kFormats)));
      const std::string_view path = text(column, "jsonPath");
      if (path.empty()) {
        add(required_value(in.child("JSONPath")));
      } else if (!path.starts_with('.')) {
        add(invalid_value(in.child("JSONPath"), path,
                          "must be a simple json path starting with ."));
      }
    }
  }

  static bool is_one_of(std::string_view what, std::string_view choices) {
    while (!choices.empty()) {
      const size_t comma = choices.find(',');
      if (choices.substr(0, comma) == what) return true;
      if (comma == std::string_view::npos) break;
      choices.remove_prefix(comma + 1);
    }
    return false;
  }

  void check_selectable(const json::Value& spec, const Path& at) {
    const json::Array& versions = list(spec, "versions");
    const Path at_versions = at.child("versions");
    for (size_t i = 0; i < versions.size(); ++i) {
      const Path in = at_versions.index(i);
      const Path lifted = at.child("selectableFields");
      const Path own = in.child("selectableFields");
      const bool is_common = common(spec, "selectableFields") && common(spec, "schema");
      if (is_common && i > 0) break;
      const Path& fields_at = is_common ? lifted : own;
      const json::Value* schema = versions[i].find_path({"schema", "openAPIV3Schema"});
      const json::Array& fields = list(versions[i], "selectableFields");
      for (size_t k = 0; k < fields.size(); ++k) {
        const Path entry = fields_at.index(k);
        const std::string_view path = text(fields[k], "jsonPath");
        if (path.empty()) {
          add(required_value(entry.child("jsonPath")));
        } else if (schema == nullptr || !is_scalar_field(*schema, path)) {
          add(invalid_value(entry.child("jsonPath"), path,
                            "is an invalid path: does not refer to a valid field"));
        } else {
          for (size_t m = 0; m < k; ++m)
            if (text(fields[m], "jsonPath") == path)
              add(duplicate_value(entry.child("jsonPath"), path));
        }
      }
    }
  }

  // .a.b.c to a string, integer or boolean, not below metadata.
  static bool is_scalar_field(const json::Value& schema, std::string_view path) {
    if (path.starts_with(".metadata")) return false;
    const json::Value* node = &schema;
    while (!path.empty()) {
      if (!path.starts_with('.')) return false;
      const size_t end = std::min(path.find_first_of(".[", 1), path.size());
      node = node->find_path({"properties", path.substr(1, end - 1)});
      if (node == nullptr) return false;
      path.remove_prefix(end);
    }
    const std::string_view type = text(*node, "type");
    return type == "string" || type == "integer" || type == "boolean";
  }

  void check_conversion(const json::Value& spec, const Path& at) {
    const json::Value* conversion = spec.find("conversion");
    if (conversion == nullptr || !conversion->is_object()) return;
    const std::string_view strategy = text(*conversion, "strategy");
    const json::Value* webhook = conversion->find("webhook");
    const json::Value* client = webhook != nullptr ? webhook->find("clientConfig") : nullptr;
    const json::Array* versions = nullptr;
    if (webhook != nullptr && !list(*webhook, "conversionReviewVersions").empty())
      versions = &list(*webhook, "conversionReviewVersions");
    const Path at_client = at.child("webhookClientConfig");
    const Path at_versions = at.child("conversionReviewVersions");
    static constexpr std::string_view kStrategies[] = {"None", "Webhook"};
    if (strategy.empty()) {
      add(required_value(at.child("strategy")));
    } else if (strategy == "Webhook") {
      if (client == nullptr) {
        add(required_value(at_client, "required when strategy is set to Webhook"));
      } else {
        check_client(*client, at_client);
      }
      check_review_versions(versions, at_versions);
    } else if (strategy == "None") {
      static constexpr std::string_view kUnwanted =
          "should not be set when strategy is not set to Webhook";
      if (client != nullptr) add(forbidden(at_client, kUnwanted));
      if (versions != nullptr) add(forbidden(at_versions, kUnwanted));
    } else {
      add(not_supported(at.child("strategy"), strategy, kStrategies));
    }
  }

  void check_client(const json::Value& client, const Path& at) {
    const bool has_url = client.find("url") != nullptr;
    const bool has_service = client.find("service") != nullptr;
    if (has_url == has_service) {
      add(required_value(at, "exactly one of url or service is required"));
      return;
    }
    if (!has_url) return;
    const std::string_view url = text(client, "url");
    const size_t colon = url.find("://");
    const std::string_view scheme = colon == std::string_view::npos ? "" : url.substr(0, colon);
    static constexpr std::string_view kForm = "; desired format: https://host[/path]";
    if (scheme != "https")
      add(invalid_value(at.child("url"), scheme,
                        fmt::format("'https' is the only allowed URL scheme{}", kForm)));
  }

  void check_review_versions(const json::Array* versions, const Path& at) {
    if (versions == nullptr) {
      add(required_value(at));
      return;
    }
    for (const json::Value& version : *versions) {
      const std::string_view name = version.string_or({});
      if (name == "v1" || name == "v1beta1") return;
    }
    add(invalid_value(at, *versions, "must include at least one of v1, v1beta1"));
  }

  const json::Value& definition_;
  const CrdCheckOptions& options_;
  std::vector<ErrorCause> errors_;
};

}  // namespace

std::vector<ErrorCause> validate_crd(const json::Value& definition,
                                     const CrdCheckOptions& options) {
  return DefinitionChecker(definition, options).run();
}

}  // namespace kueue::schema
