// The engine behind decode() and encode(): walks a JSON document and a binding side by side.
#include "schema/codec.h"

#include <algorithm>
#include <limits>

namespace kueue::schema {
namespace {

// Where we are, as a list of stack frames; spelled out only for errors.
struct Frame {
  const Frame* parent = nullptr;
  std::string_view name = {};                // member or map key
  size_t index = 0;                          // list item, when name is empty
  const StructBinding* structure = nullptr;  // the struct whose member this is
};

// "spec.podSets[0].count"; without indexes "spec.podSets.count", as Go's decoder prints.
std::string path_of(const Frame* frame, bool indexes) {
  if (frame == nullptr) return "";
  std::string path = path_of(frame->parent, indexes);
  if (frame->name.empty()) {
    if (indexes) path += "[" + std::to_string(frame->index) + "]";
    return path;
  }
  if (!path.empty()) path += '.';
  path += frame->name;
  return path;
}

std::string_view json_type_name(const json::Value& value) {
  switch (value.type()) {
    case json::Type::kNull:
      return "null";
    case json::Type::kBool:
      return "bool";
    case json::Type::kInt:
    case json::Type::kUint:
    case json::Type::kDouble:
      return "number";
    case json::Type::kString:
      return "string";
    case json::Type::kArray:
      return "array";
    case json::Type::kObject:
      return "object";
  }
  return "value";
}

// "io.k8s.api.core.v1.PodSpec" -> "v1.PodSpec".
std::string go_struct_name(const StructBinding& structure) {
  std::string_view full = structure.type().name;
  size_t dot = full.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return std::string(structure.name);
  size_t before = full.rfind('.', dot - 1);
  return std::string(full.substr(before == std::string_view::npos ? 0 : before + 1));
}

std::string go_type_name(const ValueBinding& binding) {
  switch (binding.shape) {
    case Shape::kString:
      return "string";
    case Shape::kBool:
      return "bool";
    case Shape::kInt32:
      return "int32";
    case Shape::kInt64:
      return "int64";
    case Shape::kDouble:
      return "float64";
    case Shape::kTime:
      return "v1.Time";
    case Shape::kMicroTime:
      return "v1.MicroTime";
    case Shape::kDuration:
      return "v1.Duration";
    case Shape::kJson:
      return "interface {}";
    case Shape::kCustom:
      return std::string(binding.custom->name);
    case Shape::kStruct:
      return go_struct_name(binding.structure());
    case Shape::kOptional:
      return go_type_name(*binding.element);
    case Shape::kList:
      return "[]" + go_type_name(*binding.element);
    case Shape::kMap:
      return "map[string]" + go_type_name(*binding.element);
  }
  return "value";
}

Error field_error(const Frame* frame, std::string message, std::string detail) {
  Error error = make_error(ErrorCode::kBadRequest, std::move(message));
  error.causes.push_back({.reason = "FieldValueInvalid",
                          .message = std::move(detail),
                          .field = path_of(frame, /*indexes=*/true)});
  return error;
}

// `shown` names the value: "string", or "number 1.5" where the kind fits but the value does not.
Error type_error(const Frame* frame, std::string_view shown, const ValueBinding& binding) {
  const StructBinding* owner = nullptr;
  for (const Frame* f = frame; f != nullptr && owner == nullptr; f = f->parent)
    owner = f->structure;
  const std::string wanted = go_type_name(binding);
  std::string message = "json: cannot unmarshal " + std::string(shown) + " into Go ";
  if (owner != nullptr) {
    message += "struct field " + std::string(owner->name) + "." + path_of(frame, /*indexes=*/false);
  } else {
    message += "value";
  }
  message += " of type " + wanted;
  return field_error(frame, std::move(message),
                     "must be of type " + wanted + ", not " + std::string(shown));
}

Error mismatch(const Frame* frame, const json::Value& value, const ValueBinding& binding) {
  return type_error(frame, json_type_name(value), binding);
}

Error text_error(const Frame* frame, const std::string& text, std::string detail) {
  return field_error(
      frame, path_of(frame, /*indexes=*/true) + ": Invalid value: \"" + text + "\": " + detail,
      std::move(detail));
}

std::string number_text(const json::Value& value) {
  if (value.type() == json::Type::kInt) return std::to_string(value.as_int());
  if (value.type() == json::Type::kUint) return std::to_string(value.as_uint());
  std::string text = std::to_string(value.as_double());
  return text;
}

class Decoder {
 public:
  explicit Decoder(const DecodeOptions& options) : options_(options) {}

  Result<void> value(const ValueBinding& binding, const json::Value& value, void* object,
                     const Frame* frame);
  // The errors of strict mode, if there are any.
  Result<void> finish() const;

 private:
  Result<void> scalar(const ValueBinding& binding, const json::Value& value, void* object,
                      const Frame* frame);
  Result<void> integer(const ValueBinding& binding, const json::Value& value, void* object,
                       const Frame* frame);
  Result<void> timestamp(const ValueBinding& binding, const json::Value& value, void* object,
                         const Frame* frame);
  Result<void> structure(const StructBinding& binding, const json::Object& value, void* object,
                         const Frame* frame);
  Result<void> identity(const StructBinding& binding, const json::Object& value,
                        const Frame* frame);

  const DecodeOptions& options_;
  std::vector<std::string> unknown_;
};

Result<void> Decoder::value(const ValueBinding& binding, const json::Value& value, void* object,
                            const Frame* frame) {
  if (binding.shape == Shape::kJson) {
    *static_cast<json::Value*>(object) = value;
    return {};
  }
  if (value.is_null()) return {};
  switch (binding.shape) {
    case Shape::kStruct:
      if (!value.is_object()) return mismatch(frame, value, binding);
      return structure(binding.structure(), value.as_object(), object, frame);
    case Shape::kOptional:
      return this->value(*binding.element, value, binding.emplace(object), frame);
    case Shape::kList: {
      if (!value.is_array()) return mismatch(frame, value, binding);
      size_t index = 0;
      binding.reserve(object, value.as_array().size());
      for (const json::Value& item : value.as_array()) {
        Frame inner{.parent = frame, .index = index++};
        KUEUE_TRY(this->value(*binding.element, item, binding.emplace(object), &inner));
      }
      return {};
    }
    case Shape::kMap:
      if (!value.is_object()) return mismatch(frame, value, binding);
      for (const auto& [key, item] : value.as_object()) {
        Frame inner{.parent = frame, .name = key};
        KUEUE_TRY(this->value(*binding.element, item, binding.insert(object, key), &inner));
      }
      return {};
    case Shape::kString:
    case Shape::kBool:
    case Shape::kInt32:
    case Shape::kInt64:
    case Shape::kDouble:
    case Shape::kTime:
    case Shape::kMicroTime:
    case Shape::kDuration:
    case Shape::kJson:
    case Shape::kCustom:
      return scalar(binding, value, object, frame);
  }
  return {};
}

Result<void> Decoder::scalar(const ValueBinding& binding, const json::Value& value, void* object,
                             const Frame* frame) {
  switch (binding.shape) {
    case Shape::kString:
      if (!value.is_string()) return mismatch(frame, value, binding);
      *static_cast<std::string*>(object) = value.as_string();
      return {};
    case Shape::kBool:
      if (!value.is_bool()) return mismatch(frame, value, binding);
      *static_cast<bool*>(object) = value.as_bool();
      return {};
    case Shape::kDouble:
      if (!value.is_number()) return mismatch(frame, value, binding);
      *static_cast<double*>(object) = value.as_double();
      return {};
    case Shape::kInt32:
    case Shape::kInt64:
      return integer(binding, value, object, frame);
    case Shape::kCustom: {
      std::string wrong = binding.custom->decode(value, object);
      if (wrong.empty()) return {};
      if (!value.is_string()) return mismatch(frame, value, binding);
      return text_error(frame, value.as_string(), std::move(wrong));
    }
    default:
      return timestamp(binding, value, object, frame);
  }
}

Result<void> Decoder::integer(const ValueBinding& binding, const json::Value& value, void* object,
                              const Frame* frame) {
  if (!value.is_number()) return mismatch(frame, value, binding);
  const bool narrow = binding.shape == Shape::kInt32;
  const bool fits =
      value.is_int() && (!narrow || (value.as_int() >= std::numeric_limits<int32_t>::min() &&
                                     value.as_int() <= std::numeric_limits<int32_t>::max()));
  if (!fits) return type_error(frame, "number " + number_text(value), binding);
  if (narrow) {
    *static_cast<int32_t*>(object) = static_cast<int32_t>(value.as_int());
  } else {
    *static_cast<int64_t*>(object) = value.as_int();
  }
  return {};
}

Result<void> Decoder::timestamp(const ValueBinding& binding, const json::Value& value, void* object,
                                const Frame* frame) {
  if (!value.is_string()) return mismatch(frame, value, binding);
  if (binding.shape == Shape::kDuration) {
    Result<Duration> duration = parse_duration(value.as_string());
    if (!duration.ok()) return text_error(frame, value.as_string(), duration.error().message);
    *static_cast<std::optional<Duration>*>(object) = *duration;
    return {};
  }
  if (value.as_string().empty()) return {};
  Result<Instant> instant = parse_time(value.as_string());
  if (!instant.ok()) return text_error(frame, value.as_string(), instant.error().message);
  *static_cast<std::optional<Instant>*>(object) = *instant;
  return {};
}

Result<void> Decoder::identity(const StructBinding& binding, const json::Object& value,
                               const Frame* frame) {
  const ResourceInfo& info = binding.resource();
  const std::string wanted_version =
      info.group.empty() ? std::string(info.version)
                         : std::string(info.group) + "/" + std::string(info.version);
  const json::Value* version = value.find("apiVersion");
  const json::Value* kind = value.find("kind");
  const bool same = (version == nullptr || version->string_or("") == wanted_version) &&
                    (kind == nullptr || kind->string_or("") == info.kind);
  if (same) return {};
  std::string got = std::string(version == nullptr ? "" : version->string_or("?")) + " " +
                    std::string(kind == nullptr ? "" : kind->string_or("?"));
  std::string detail = "expected " + wanted_version + " " + std::string(info.kind) + ", got " + got;
  return field_error(frame, detail, detail);
}

Result<void> Decoder::structure(const StructBinding& binding, const json::Object& value,
                                void* object, const Frame* frame) {
  const bool root = binding.resource != nullptr;
  if (root) KUEUE_TRY(identity(binding, value, frame));
  for (const auto& [key, item] : value) {
    auto field = std::lower_bound(
        binding.fields.begin(), binding.fields.end(), key,
        [](const FieldBinding& f, std::string_view name) { return f.name < name; });
    Frame inner{.parent = frame, .name = key, .structure = &binding};
    if (field == binding.fields.end() || field->name != key) {
      const bool known = root && (key == "apiVersion" || key == "kind");
      if (options_.strict && !known) unknown_.push_back(path_of(&inner, /*indexes=*/true));
      continue;
    }
    KUEUE_TRY(this->value(*field->value, item, static_cast<char*>(object) + field->offset, &inner));
  }
  return {};
}

Result<void> Decoder::finish() const {
  if (unknown_.empty()) return {};
  Error error = make_error(ErrorCode::kBadRequest, "strict decoding error: ");
  for (size_t i = 0; i < unknown_.size(); ++i) {
    if (i > 0) error.message += ", ";
    error.message += "unknown field \"" + unknown_[i] + "\"";
    error.causes.push_back(
        {.reason = "FieldValueInvalid", .message = "unknown field", .field = unknown_[i]});
  }
  return error;
}

// A value that omit-empty leaves out. Structs are judged by what they encode to.
bool is_zero(const ValueBinding& binding, const void* object) {
  switch (binding.shape) {
    case Shape::kString:
      return static_cast<const std::string*>(object)->empty();
    case Shape::kBool:
      return !*static_cast<const bool*>(object);
    case Shape::kInt32:
      return *static_cast<const int32_t*>(object) == 0;
    case Shape::kInt64:
      return *static_cast<const int64_t*>(object) == 0;
    case Shape::kDouble:
      return *static_cast<const double*>(object) == 0;
    case Shape::kTime:
    case Shape::kMicroTime:
      return !static_cast<const std::optional<Instant>*>(object)->has_value();
    case Shape::kDuration:
      return !static_cast<const std::optional<Duration>*>(object)->has_value();
    case Shape::kJson:
      return static_cast<const json::Value*>(object)->is_null();
    case Shape::kCustom:
      return binding.custom->is_zero(object);
    case Shape::kOptional:
      return binding.get != nullptr && binding.get(object, 0) == nullptr;
    case Shape::kList:
    case Shape::kMap:
      return binding.size(object) == 0;
    case Shape::kStruct:
      return false;
  }
  return false;
}

// Absent even where zero values are written: there is no text for "no time".
bool is_absent(const ValueBinding& binding, const void* object) {
  switch (binding.shape) {
    case Shape::kTime:
    case Shape::kMicroTime:
    case Shape::kDuration:
    case Shape::kJson:
    case Shape::kOptional:
      return is_zero(binding, object);
    default:
      return false;
  }
}

json::Value encode_struct(const StructBinding& binding, const void* object) {
  json::Object out;
  out.reserve(binding.fields.size() / 2 + 2);
  if (binding.resource != nullptr) {
    const ResourceInfo& info = binding.resource();
    out.append("apiVersion", info.group.empty()
                                 ? std::string(info.version)
                                 : std::string(info.group) + "/" + std::string(info.version));
    out.append("kind", info.kind);
  }
  for (const FieldBinding& field : binding.fields) {
    const void* member = static_cast<const char*>(object) + field.offset;
    if (is_absent(*field.value, member)) continue;
    if (field.omit_empty && is_zero(*field.value, member)) continue;
    json::Value value = encode_value(*field.value, member);
    const bool empty_struct = field.value->shape == Shape::kStruct && value.as_object().empty();
    if (field.omit_empty && empty_struct) continue;
    out.append(std::string(field.name), std::move(value));
  }
  return out;
}

json::Value encode_time(const ValueBinding& binding, const void* object) {
  const auto& instant = *static_cast<const std::optional<Instant>*>(object);
  if (!instant.has_value()) return nullptr;
  return binding.shape == Shape::kTime ? format_time(*instant) : format_micro_time(*instant);
}

}  // namespace

Result<void> decode_value(const ValueBinding& binding, const json::Value& value, void* object,
                          const DecodeOptions& options) {
  Decoder decoder(options);
  KUEUE_TRY(decoder.value(binding, value, object, nullptr));
  return decoder.finish();
}

json::Value encode_value(const ValueBinding& binding, const void* object) {
  switch (binding.shape) {
    case Shape::kString:
      return *static_cast<const std::string*>(object);
    case Shape::kBool:
      return *static_cast<const bool*>(object);
    case Shape::kInt32:
      return static_cast<int64_t>(*static_cast<const int32_t*>(object));
    case Shape::kInt64:
      return *static_cast<const int64_t*>(object);
    case Shape::kDouble:
      return *static_cast<const double*>(object);
    case Shape::kTime:
    case Shape::kMicroTime:
      return encode_time(binding, object);
    case Shape::kDuration: {
      const auto& duration = *static_cast<const std::optional<Duration>*>(object);
      return duration.has_value() ? json::Value(format_duration(*duration)) : json::Value();
    }
    case Shape::kJson:
      return *static_cast<const json::Value*>(object);
    case Shape::kCustom:
      return binding.custom->encode(object);
    case Shape::kStruct:
      return encode_struct(binding.structure(), object);
    case Shape::kOptional: {
      if (binding.open != nullptr)
        return encode_value(*binding.element, binding.open(object).get());
      const void* inner = binding.get(object, 0);
      return inner == nullptr ? json::Value() : encode_value(*binding.element, inner);
    }
    case Shape::kList: {
      json::Array items;
      const size_t size = binding.size(object);
      items.reserve(size);
      for (size_t i = 0; i < size; ++i)
        items.push_back(encode_value(*binding.element, binding.get(object, i)));
      return items;
    }
    case Shape::kMap: {
      struct Context {
        const ValueBinding* element;
        json::Object members;
      } context{binding.element, {}};
      binding.each(
          object,
          [](void* raw, const std::string& key, const void* value) {
            auto* c = static_cast<Context*>(raw);
            c->members.append(key, encode_value(*c->element, value));
          },
          &context);
      return std::move(context.members);
    }
  }
  return nullptr;
}

}  // namespace kueue::schema
