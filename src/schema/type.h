// Field tables: what a Kubernetes object may look like, as data. One Type graph per API struct
// feeds decoding, strict decoding, defaults, validation, pruning, merging, server-side apply,
// OpenAPI, CRD manifests, explain and docs.
//
// Two sources make Types: the generated static tables under api/ (built-in kinds and our own), and
// CRDs a user applies (schema/crd.h). Algorithms do not care which. Types are immutable once built
// and may be read from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kueue::schema {

enum class Kind : uint8_t {
  kAny,  // anything, kept as it is (x-kubernetes-preserve-unknown-fields, RawExtension, FieldsV1)
  kBool,
  kInt32,
  kInt64,
  kDouble,
  kString,
  kBytes,   // base64 text in JSON
  kStruct,  // named fields
  kMap,     // string keys to `element`
  kList,    // of `element`
  kIntOrString,
  kQuantity,   // string or number in JSON, canonical string when encoded
  kTime,       // RFC 3339, seconds
  kMicroTime,  // RFC 3339, microseconds
  kDuration,   // Go duration text
};

// x-kubernetes-list-type. kAtomic is the default of Kubernetes.
enum class ListType : uint8_t { kAtomic, kSet, kMap };

// Strategic merge patch: what a patch does to this field.
enum class PatchStrategy : uint8_t { kNone, kMerge, kReplace, kRetainKeys, kMergeRetainKeys };

struct Type;

// A Type named by function (static tables, whose cycles must be lazy) or by address (dynamic ones).
// Null when unset.
struct TypeRef {
  const Type& (*function)() = nullptr;
  const Type* pointer = nullptr;

  constexpr TypeRef() = default;
  constexpr TypeRef(const Type& (*f)()) : function(f) {}  // NOLINT: implicit by intent
  constexpr TypeRef(const Type* p) : pointer(p) {}        // NOLINT: implicit by intent
  constexpr explicit operator bool() const { return function != nullptr || pointer != nullptr; }
  const Type& operator*() const { return function != nullptr ? function() : *pointer; }
  const Type* operator->() const { return &**this; }
};

// x-kubernetes-validations.
struct Rule {
  std::string_view rule;
  std::string_view message = {};
  std::string_view message_expression = {};
  std::string_view reason = {};  // "" = FieldValueInvalid
  std::string_view field_path = {};
  bool optional_old_self = false;
};

// Value validations of OpenAPI. Absent = no limit.
struct Constraints {
  std::optional<double> minimum = {};
  std::optional<double> maximum = {};
  bool exclusive_minimum = false;
  bool exclusive_maximum = false;
  std::optional<double> multiple_of = {};
  std::optional<int64_t> min_length = {};  // in code points
  std::optional<int64_t> max_length = {};
  std::optional<int64_t> min_items = {};
  std::optional<int64_t> max_items = {};
  std::optional<int64_t> min_properties = {};
  std::optional<int64_t> max_properties = {};
  bool unique_items = false;
  std::string_view pattern = {};  // RE2
  std::string_view format = {};
  std::span<const std::string_view> enum_values = {};  // JSON texts: "\"None\"", "1"
  // Logical junctors; elements carry constraints only.
  std::span<const TypeRef> all_of = {};
  std::span<const TypeRef> any_of = {};
  std::span<const TypeRef> one_of = {};
  TypeRef not_ = {};
};

// C++ objects are reached through tables of their own, see schema/bind.h: many Types have no C++
// struct, and some C++ structs have several Types (a Pod template has other rules inside a Workload
// than inside a Job).

struct Field {
  std::string_view name;  // JSON name
  TypeRef type;
  bool required = false;
  uint32_t proto_number = 0;  // 0 = not in protobuf
  PatchStrategy patch_strategy = PatchStrategy::kNone;
  std::string_view patch_merge_key = {};
  std::string_view default_json =
      {};  // "" = none. A default of the field, as the API server applies it when absent
  std::string_view doc = {};
};

// Protobuf puts some fields that are inline in JSON into a message of their own: Volume holds a
// VolumeSource. The fields of `type` are read from and written to the outer JSON object.
struct ProtoInline {
  uint32_t number = 0;
  TypeRef type = {};
};

struct Type {
  Kind kind = Kind::kAny;
  std::string_view name =
      {};  // structs: "io.k8s.api.batch.v1.JobSpec", "io.x-k8s.kueue.v1beta2.Workload"
  std::string_view doc = {};
  std::span<const Field> fields = {};  // kStruct
  TypeRef element = {};                // kMap: values, kList: items
  ListType list_type = ListType::kAtomic;
  std::span<const std::string_view> list_map_keys = {};
  bool atomic_map = false;         // x-kubernetes-map-type: atomic (kStruct and kMap)
  bool preserve_unknown = false;   // x-kubernetes-preserve-unknown-fields
  bool embedded_resource = false;  // x-kubernetes-embedded-resource
  bool nullable = false;
  std::string_view default_json =
      {};  // default at the type itself (CRD schemas carry it here, fields inherit it)
  const Constraints* constraints = nullptr;
  std::span<const Rule> rules = {};
  std::span<const ProtoInline> proto_inlines = {};
  bool list_type_given = false;  // the schema says x-kubernetes-list-type itself, be it atomic

  // nullptr when there is no such field. Linear with a hint is left to callers; structs are small.
  const Field* field(std::string_view json_name) const {
    for (const Field& f : fields)
      if (f.name == json_name) return &f;
    return nullptr;
  }
};

// Where a kind is served and how it is shown: all that discovery, Table output and the REST paths
// need.
struct PrinterColumn {
  std::string_view name;
  std::string_view type = "string";  // string, integer, number, boolean, date
  std::string_view json_path;        // ".spec.queueName"
  int32_t priority = 0;
  std::string_view format = {};
  std::string_view doc = {};
};

struct ScalePaths {
  std::string_view spec_replicas;  // ".spec.replicas"
  std::string_view status_replicas;
  std::string_view label_selector = {};
};

// A subresource besides status and scale: "pods/binding" takes a v1 Binding.
struct Subresource {
  std::string_view name;  // "binding", "eviction", "log", "token", "finalize", "approval", ...
  std::string_view group = {};  // of the body
  std::string_view version = {};
  std::string_view kind = {};
  std::span<const std::string_view> verbs = {};
};

struct ResourceInfo {
  std::string_view group;  // "" = core
  std::string_view version;
  std::string_view kind;
  std::string_view plural;
  std::string_view singular;
  std::span<const std::string_view> short_names = {};
  std::span<const std::string_view> categories = {};
  bool namespaced = true;
  bool has_status = false;  // status subresource
  std::optional<ScalePaths> scale = {};
  std::span<const PrinterColumn> columns = {};
  std::span<const std::string_view> selectable_fields =
      {};             // beyond metadata.name and metadata.namespace
  TypeRef type = {};  // the whole object, apiVersion/kind/metadata included
  std::span<const std::string_view> verbs =
      {};  // as discovery lists them; empty = all eight of a stored resource
  std::span<const Subresource> subresources = {};
  bool storage = true;  // the version that is stored
  bool deprecated = false;
  std::string_view deprecation_warning = {};  // sent to users of this version

  // "batch/v1" or "v1".
  bool operator==(const ResourceInfo& o) const {
    return group == o.group && version == o.version && plural == o.plural;
  }
};

}  // namespace kueue::schema
