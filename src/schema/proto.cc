#include "schema/proto.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/base64.h"
#include "base/time.h"
#include "json/json.h"
#include "json/utf8.h"
#include "schema/walk.h"

namespace kueue::schema {
namespace {

constexpr std::string_view kMagic("k8s\0", 4);

enum class Wire : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Fields Go keeps by value: always on the wire, and zero means absent. Others are pointers, whose
// zero is a value.
constexpr std::string_view kByValue[] = {"chapAuthDiscovery",
                                         "chapAuthSession",
                                         "count",
                                         "denied",
                                         "failureThreshold",
                                         "generation",
                                         "globalDefault",
                                         "healthCheckNodePort",
                                         "hostIPC",
                                         "hostNetwork",
                                         "hostPID",
                                         "hostPort",
                                         "initialDelaySeconds",
                                         "minReadySeconds",
                                         "nodePort",
                                         "observedGeneration",
                                         "paused",
                                         "periodSeconds",
                                         "publishNotReadyAddresses",
                                         "readOnly",
                                         "stdin",
                                         "stdinOnce",
                                         "successThreshold",
                                         "timeoutSeconds",
                                         "tty",
                                         "unschedulable"};
// Texts that are pointers: "" is a value. With the struct where the name alone would say too much.
struct TextPointer {
  std::string_view owner;
  std::string_view field;
};
constexpr TextPointer kTextPointers[] = {{".LeaseSpec", "holderIdentity"},
                                         {".GRPCAction", "service"},
                                         {".HostPathVolumeSource", "type"},
                                         {"", "storageClassName"},
                                         {"", "volumeAttributesClassName"}};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool keeps_zero(const Type& owner, const Field& field) {
  if (field.required) return true;
  switch (field.type->kind) {
    case Kind::kString:
    case Kind::kBytes:
      return std::any_of(std::begin(kTextPointers), std::end(kTextPointers),
                         [&](const TextPointer& p) {
                           return p.field == field.name && owner.name.ends_with(p.owner);
                         });
    case Kind::kBool:
    case Kind::kInt32:
    case Kind::kInt64:
      if (owner.name.ends_with(".CSIVolumeSource")) return true;
      // By value, but written when zero.
      if (owner.name.ends_with(".PodDisruptionBudgetStatus") && field.name != "observedGeneration")
        return true;
      return !is_one_of(field.name, kByValue) && !owner.name.ends_with("Status");
    default:
      return true;
  }
}

bool is_valid_utf8(std::string_view text) {
  const char* p = text.data();
  const char* end = p + text.size();
  while (p < end) {
    if (static_cast<unsigned char>(*p) < 0x80) {
      ++p;
      continue;
    }
    const size_t n = json::utf8_length(p, end);
    if (n == 0) return false;
    p += n;
  }
  return true;
}

// Reads tags and values of one message.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  bool done() const { return rest_.empty(); }

  bool varint(uint64_t& out) {
    out = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      out |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  // The number and wire type of the next field.
  bool tag(uint32_t& number, Wire& wire) {
    uint64_t value = 0;
    if (!varint(value) || (value >> 3) == 0 || (value >> 3) > 0x1fffffff) return false;
    number = static_cast<uint32_t>(value >> 3);
    switch (value & 7) {
      case 0:
        wire = Wire::kVarint;
        return true;
      case 1:
        wire = Wire::kFixed64;
        return true;
      case 2:
        wire = Wire::kBytes;
        return true;
      case 5:
        wire = Wire::kFixed32;
        return true;
      default:
        return false;  // groups are not used by Kubernetes
    }
  }

  // The value behind a tag: numbers in `number`, bytes in `bytes`.
  bool value(Wire wire, uint64_t& number, std::string_view& bytes) {
    number = 0;
    bytes = {};
    switch (wire) {
      case Wire::kVarint:
        return varint(number);
      case Wire::kFixed64:
        return fixed(8, number);
      case Wire::kFixed32:
        return fixed(4, number);
      case Wire::kBytes: {
        uint64_t n = 0;
        if (!varint(n) || n > rest_.size()) return false;
        bytes = rest_.substr(0, n);
        rest_.remove_prefix(n);
        return true;
      }
    }
    return false;
  }

 private:
  bool fixed(size_t n, uint64_t& out) {
    if (rest_.size() < n) return false;
    for (size_t i = 0; i < n; ++i)
      out |= static_cast<uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    rest_.remove_prefix(n);
    return true;
  }

  std::string_view rest_;
};

struct Wired {
  Wire wire = Wire::kVarint;
  uint64_t number = 0;
  std::string_view bytes;
};

class Decoder {
 public:
  explicit Decoder(const ProtoOptions& options) : options_(options) {}

  Result<void> message(const Type& type, std::string_view bytes, json::Value& out, int depth) {
    if (depth > options_.max_depth) return problem("is nested too deeply");
    Reader reader(bytes);
    FieldFinder finder(type);
    while (!reader.done()) {
      uint32_t number = 0;
      Wired wired;
      if (!reader.tag(number, wired.wire) || !reader.value(wired.wire, wired.number, wired.bytes))
        return problem("is malformed or cut short");
      if (const Field* field = finder.find(number)) {
        const size_t length = path_.size();
        if (!path_.empty()) path_ += '.';
        path_ += field->name;
        KUEUE_TRY(field_value(type, *field, wired, out, depth));
        path_.resize(length);
        continue;
      }
      for (const ProtoInline& part : type.proto_inlines) {
        if (part.number != number) continue;
        if (wired.wire != Wire::kBytes) return problem("has the wrong wire type");
        KUEUE_TRY(message(*part.type, wired.bytes, out, depth + 1));
      }
    }
    return {};
  }

 private:
  // Numbers mostly come in order.
  class FieldFinder {
   public:
    explicit FieldFinder(const Type& type) : fields_(type.fields) {}
    const Field* find(uint32_t number) {
      for (size_t i = 0; i < fields_.size(); ++i) {
        const size_t at = (next_ + i) % fields_.size();
        if (fields_[at].proto_number != number) continue;
        next_ = at;
        return &fields_[at];
      }
      return nullptr;
    }

   private:
    std::span<const Field> fields_;
    size_t next_ = 0;
  };

  Error problem(std::string_view what) const {
    return make_error(ErrorCode::kBadRequest,
                      fmt::format("the protobuf of {} {}",
                                  path_.empty() ? std::string("the object") : path_, what));
  }

  Result<void> field_value(const Type& owner, const Field& field, const Wired& wired,
                           json::Value& out, int depth) {
    const Type& type = *field.type;
    if (type.kind == Kind::kMap) return map_entry(type, wired, member(out, field.name), depth);
    if (type.kind == Kind::kList) return list_item(type, wired, member(out, field.name), depth);
    if (type.kind == Kind::kStruct) {
      if (wired.wire != Wire::kBytes) return problem("has the wrong wire type");
      json::Value& into = member(out, field.name);
      if (!into.is_object()) into = json::Value::object();
      return message(type, wired.bytes, into, depth + 1);
    }
    KUEUE_ASSIGN(json::Value value, scalar(type, wired, depth));
    if (value.is_null() || (is_zero(value) && !keeps_zero(owner, field))) {
      out.as_object().erase(field.name);
    } else {
      out.as_object().set(field.name, std::move(value));
    }
    return {};
  }

  static json::Value& member(json::Value& out, std::string_view name) {
    return out.as_object()[name];
  }

  static bool is_zero(const json::Value& value) {
    if (value.is_string()) return value.as_string().empty();
    if (value.is_bool()) return !value.as_bool();
    return value.is_int() && value.as_int() == 0;
  }

  Result<void> list_item(const Type& type, const Wired& wired, json::Value& list, int depth) {
    if (!list.is_array()) list = json::Value::array();
    const Type& element = *type.element;
    const bool numeric =
        element.kind == Kind::kInt32 || element.kind == Kind::kInt64 || element.kind == Kind::kBool;
    if (numeric && wired.wire == Wire::kBytes) {  // packed
      Reader reader(wired.bytes);
      while (!reader.done()) {
        Wired one;
        if (!reader.varint(one.number)) return problem("is malformed or cut short");
        KUEUE_ASSIGN(json::Value value, scalar(element, one, depth));
        list.as_array().push_back(std::move(value));
      }
      return {};
    }
    KUEUE_ASSIGN(json::Value value, any_value(element, wired, depth));
    list.as_array().push_back(std::move(value));
    return {};
  }

  // Entries are messages of key (1) and value (2).
  Result<void> map_entry(const Type& type, const Wired& wired, json::Value& map, int depth) {
    if (wired.wire != Wire::kBytes) return problem("has the wrong wire type");
    if (!map.is_object()) map = json::Value::object();
    std::string_view key;
    Wired value;
    value.wire = scalar_wire(*type.element);
    Reader reader(wired.bytes);
    while (!reader.done()) {
      uint32_t number = 0;
      Wired part;
      if (!reader.tag(number, part.wire) || !reader.value(part.wire, part.number, part.bytes))
        return problem("is malformed or cut short");
      if (number == 1) key = part.bytes;
      if (number == 2) value = part;
    }
    if (!is_valid_utf8(key)) return problem("has a key that is no UTF-8");
    KUEUE_ASSIGN(json::Value decoded, any_value(*type.element, value, depth));
    if (decoded.is_null()) decoded = json::Value("");
    map.as_object().set(key, std::move(decoded));
    return {};
  }

  static Wire scalar_wire(const Type& type) {
    switch (type.kind) {
      case Kind::kBool:
      case Kind::kInt32:
      case Kind::kInt64:
        return Wire::kVarint;
      case Kind::kDouble:
        return Wire::kFixed64;
      default:
        return Wire::kBytes;
    }
  }

  // Values of maps and items of lists.
  Result<json::Value> any_value(const Type& type, const Wired& wired, int depth) {
    if (type.kind == Kind::kStruct) {
      if (wired.wire != Wire::kBytes) return problem("has the wrong wire type");
      json::Value out = json::Value::object();
      KUEUE_TRY(message(type, wired.bytes, out, depth + 1));
      return out;
    }
    if (type.kind == Kind::kList) return list_in_map(type, wired, depth);
    return scalar(type, wired, depth);
  }

  // A list as the value of a map is a message with the items as field 1 (authorization's
  // ExtraValue).
  Result<json::Value> list_in_map(const Type& type, const Wired& wired, int depth) {
    if (depth > options_.max_depth) return problem("is nested too deeply");
    if (wired.wire != Wire::kBytes) return problem("has the wrong wire type");
    json::Value out = json::Value::array();
    Reader reader(wired.bytes);
    while (!reader.done()) {
      uint32_t number = 0;
      Wired part;
      if (!reader.tag(number, part.wire) || !reader.value(part.wire, part.number, part.bytes))
        return problem("is malformed or cut short");
      if (number == 1) KUEUE_TRY(list_item(type, part, out, depth + 1));
    }
    return out;
  }

  // null for the zero of times and durations, and for raw JSON without bytes.
  Result<json::Value> scalar(const Type& type, const Wired& wired, int depth) {
    if (depth > options_.max_depth) return problem("is nested too deeply");
    if (wired.wire != scalar_wire(type)) return problem("has the wrong wire type");
    switch (type.kind) {
      case Kind::kBool:
        return json::Value(wired.number != 0);
      case Kind::kInt32:
        return json::Value(static_cast<int64_t>(static_cast<int32_t>(wired.number)));
      case Kind::kInt64:
        return json::Value(static_cast<int64_t>(wired.number));
      case Kind::kDouble:
        return json::Value(std::bit_cast<double>(wired.number));
      case Kind::kString:
        if (!is_valid_utf8(wired.bytes)) return problem("is no UTF-8");
        return json::Value(wired.bytes);
      case Kind::kBytes:
        return json::Value(base64_encode(wired.bytes));
      default:
        return special(type, wired.bytes);
    }
  }

  // Types whose JSON form is a scalar and whose protobuf form is a message.
  Result<json::Value> special(const Type& type, std::string_view bytes) {
    uint64_t numbers[4] = {};
    std::string_view texts[4] = {};
    Reader reader(bytes);
    while (!reader.done()) {
      uint32_t number = 0;
      Wired part;
      if (!reader.tag(number, part.wire) || !reader.value(part.wire, part.number, part.bytes))
        return problem("is malformed or cut short");
      if (number >= 4) continue;
      numbers[number] = part.number;
      texts[number] = part.bytes;
    }
    switch (type.kind) {
      case Kind::kQuantity:
        if (!is_valid_utf8(texts[1])) return problem("is no UTF-8");
        return json::Value(texts[1].empty() ? std::string_view("0") : texts[1]);
      case Kind::kTime:
      case Kind::kMicroTime:
        return time(type.kind, static_cast<int64_t>(numbers[1]), static_cast<int32_t>(numbers[2]));
      case Kind::kDuration:
        return json::Value(format_duration(Duration{static_cast<int64_t>(numbers[1])}));
      case Kind::kIntOrString:
        if (numbers[1] == 0)
          return json::Value(static_cast<int64_t>(static_cast<int32_t>(numbers[2])));
        if (!is_valid_utf8(texts[3])) return problem("is no UTF-8");
        return json::Value(texts[3]);
      default:
        break;
    }
    // Raw JSON.
    if (texts[1].empty()) return json::Value();
    auto parsed = json::parse(texts[1]);
    if (!parsed.ok()) return problem(fmt::format("holds bad JSON: {}", parsed.error().message));
    return parsed;
  }

  Result<json::Value> time(Kind kind, int64_t seconds, int32_t nanos) {
    // The zero time of Go, and years that RFC 3339 cannot write.
    constexpr int64_t kYear1 = -62'135'596'800;
    if ((seconds == 0 && nanos == 0) || seconds == kYear1) return json::Value();
    if (seconds < -9'000'000'000 || seconds > 9'000'000'000)
      return problem("is a time out of range");
    const Instant t{seconds * 1'000'000'000 + (kind == Kind::kMicroTime ? nanos : 0)};
    return json::Value(kind == Kind::kMicroTime ? format_micro_time(t) : format_time(t));
  }

  const ProtoOptions& options_;
  std::string path_;
};

void put_varint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

void put_tag(std::string& out, uint32_t number, Wire wire) {
  put_varint(out, (static_cast<uint64_t>(number) << 3) | static_cast<uint64_t>(wire));
}

void put_bytes(std::string& out, uint32_t number, std::string_view bytes) {
  put_tag(out, number, Wire::kBytes);
  put_varint(out, bytes.size());
  out += bytes;
}

void put_number(std::string& out, uint32_t number, uint64_t value) {
  put_tag(out, number, Wire::kVarint);
  put_varint(out, value);
}

void put_value(std::string& out, uint32_t number, const Type& type, const json::Value& value);

std::string special_message(const Type& type, const json::Value& value) {
  std::string out;
  switch (type.kind) {
    case Kind::kQuantity:
      put_bytes(out, 1, value.is_string() ? value.as_string() : json::write(value));
      return out;
    case Kind::kTime:
    case Kind::kMicroTime: {
      auto time = parse_time(value.string_or({}));
      const int64_t ns = time.ok() ? time.value().ns : 0;
      int64_t seconds = ns / 1'000'000'000;
      int64_t nanos = ns % 1'000'000'000;
      if (nanos < 0) {
        nanos += 1'000'000'000;
        --seconds;
      }
      put_number(out, 1, static_cast<uint64_t>(seconds));
      put_number(out, 2, static_cast<uint64_t>(nanos));
      return out;
    }
    case Kind::kDuration: {
      auto duration = parse_duration(value.string_or({}));
      put_number(out, 1, static_cast<uint64_t>(duration.ok() ? duration.value().ns : 0));
      return out;
    }
    case Kind::kIntOrString:
      put_number(out, 1, value.is_string() ? 1 : 0);
      put_number(out, 2, value.is_int() ? static_cast<uint64_t>(value.as_int()) : 0);
      put_bytes(out, 3, value.string_or({}));
      return out;
    default:
      put_bytes(out, 1, json::write(value));
      return out;
  }
}

void put_map(std::string& out, uint32_t number, const Type& type, const json::Value& map) {
  for (const auto& [key, value] : map.as_object()) {
    std::string entry;
    put_bytes(entry, 1, key);
    if (type.element->kind == Kind::kList) {
      std::string items;
      if (value.is_array())
        for (const json::Value& item : value.as_array())
          put_value(items, 1, *type.element->element, item);
      put_bytes(entry, 2, items);
    } else {
      put_value(entry, 2, *type.element, value);
    }
    put_bytes(out, number, entry);
  }
}

void put_value(std::string& out, uint32_t number, const Type& type, const json::Value& value) {
  if (value.is_null()) return;
  switch (type.kind) {
    case Kind::kBool:
      put_number(out, number, value.bool_or(false) ? 1 : 0);
      return;
    case Kind::kInt32:
    case Kind::kInt64:
      put_number(out, number, static_cast<uint64_t>(value.int_or(0)));
      return;
    case Kind::kDouble: {
      put_tag(out, number, Wire::kFixed64);
      const auto bits = std::bit_cast<uint64_t>(value.is_number() ? value.as_double() : 0.0);
      for (int i = 0; i < 8; ++i) out += static_cast<char>(bits >> (8 * i));
      return;
    }
    case Kind::kString:
      put_bytes(out, number, value.string_or({}));
      return;
    case Kind::kBytes: {
      auto decoded = base64_decode(value.string_or({}));
      put_bytes(out, number, decoded.ok() ? decoded.value() : std::string());
      return;
    }
    case Kind::kStruct:
      put_bytes(out, number, encode_message(type, value));
      return;
    case Kind::kMap:
      if (value.is_object()) put_map(out, number, type, value);
      return;
    case Kind::kList:
      if (value.is_array())
        for (const json::Value& item : value.as_array())
          put_value(out, number, *type.element, item);
      return;
    case Kind::kAny:
    case Kind::kIntOrString:
    case Kind::kQuantity:
    case Kind::kTime:
    case Kind::kMicroTime:
    case Kind::kDuration:
      put_bytes(out, number, special_message(type, value));
      return;
  }
}

}  // namespace

bool is_protobuf(std::string_view bytes) { return bytes.starts_with(kMagic); }

Result<json::Value> decode_protobuf(std::string_view bytes, const FindKind& find_kind,
                                    const ProtoOptions& options) {
  if (!is_protobuf(bytes))
    return make_error(ErrorCode::kBadRequest,
                      "the body does not begin as a Kubernetes protobuf does");
  if (bytes.size() > options.max_bytes)
    return make_error(ErrorCode::kTooLarge, fmt::format("the body has {} bytes, {} are allowed",
                                                        bytes.size(), options.max_bytes));
  // runtime.Unknown: typeMeta 1, raw 2; typeMeta: apiVersion 1, kind 2.
  std::string_view parts[5] = {};
  std::string_view meta[3] = {};
  const Error malformed =
      make_error(ErrorCode::kBadRequest, "the envelope of the protobuf is malformed or cut short");
  auto read = [](std::string_view from, std::span<std::string_view> into) {
    Reader reader(from);
    while (!reader.done()) {
      uint32_t number = 0;
      Wired part;
      if (!reader.tag(number, part.wire) || !reader.value(part.wire, part.number, part.bytes))
        return false;
      if (number < into.size()) into[number] = part.bytes;
    }
    return true;
  };
  if (!read(bytes.substr(kMagic.size()), parts) || !read(parts[1], meta)) return malformed;
  if (!is_valid_utf8(meta[1]) || !is_valid_utf8(meta[2])) return malformed;
  if (!parts[3].empty())
    return make_error(ErrorCode::kBadRequest, "encoded protobuf contents are not understood");
  const Type* type = find_kind(meta[1], meta[2]);
  if (type == nullptr)
    return make_error(
        ErrorCode::kBadRequest,
        fmt::format("no kind \"{}\" is registered for version \"{}\"", meta[2], meta[1]));
  KUEUE_ASSIGN(json::Value body, decode_message(*type, parts[2], options));
  json::Value out = json::Value::object({{"kind", meta[2]}, {"apiVersion", meta[1]}});
  for (auto& [key, value] : body.as_object())
    if (key != "kind" && key != "apiVersion") out.as_object().append(key, std::move(value));
  return out;
}

Result<json::Value> decode_message(const Type& type, std::string_view bytes,
                                   const ProtoOptions& options) {
  json::Value out = json::Value::object();
  KUEUE_TRY(Decoder(options).message(type, bytes, out, 0));
  return out;
}

std::string encode_message(const Type& type, const json::Value& object) {
  std::string out;
  if (!object.is_object()) return out;
  for (const Field& field : type.fields) {
    if (field.proto_number == 0) continue;
    if (const json::Value* value = object.find(field.name))
      put_value(out, field.proto_number, *field.type, *value);
  }
  for (const ProtoInline& part : type.proto_inlines) {
    const std::string inner = encode_message(*part.type, object);
    if (!inner.empty()) put_bytes(out, part.number, inner);
  }
  return out;
}

std::string encode_protobuf(const Type& type, const json::Value& object) {
  std::string meta;
  put_bytes(meta, 1, object.get_string({"apiVersion"}));
  put_bytes(meta, 2, object.get_string({"kind"}));
  std::string out(kMagic);
  put_bytes(out, 1, meta);
  put_bytes(out, 2, encode_message(type, object));
  put_bytes(out, 3, "");
  put_bytes(out, 4, "");
  return out;
}

}  // namespace kueue::schema
