// YAML to Value and back over libyaml's events. libyaml finds the structure; what a plain scalar
// means, merge keys, aliases and limits are decided here, the way sigs.k8s.io/yaml turns YAML into
// JSON.
#include <yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "json/json.h"
#include "json/yaml_scalar.h"

namespace kueue::json {
namespace {

class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { yaml_event_delete(&event_); }
  // Drops what it held.
  yaml_event_t* reset() {
    yaml_event_delete(&event_);
    event_ = {};
    return &event_;
  }
  const yaml_event_t* operator->() const { return &event_; }

 private:
  yaml_event_t event_ = {};
};

std::string_view text_of(const yaml_char_t* text) {
  return text ? std::string_view(reinterpret_cast<const char*>(text)) : std::string_view();
}

class Reader {
 public:
  Reader(std::string_view text, const YamlOptions& options) : options_(options), text_(text) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~Reader() { yaml_parser_delete(&parser_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // The next document; nullopt at the end of the stream. A document without content is null.
  Result<std::optional<Value>> next_document() {
    for (;;) {
      KUEUE_TRY(advance());
      switch (event_->type) {
        case YAML_STREAM_END_EVENT:
        case YAML_NO_EVENT:
          return std::optional<Value>();
        case YAML_DOCUMENT_START_EVENT:
          break;
        default:
          continue;
      }
      anchors_.clear();
      nodes_ = 0;
      KUEUE_TRY(advance());
      Node node;
      KUEUE_TRY(read_node(node, 0));
      KUEUE_TRY(check_number(node.value));
      return std::optional<Value>(std::move(node.value));
    }
  }

 private:
  struct Node {
    Value value;
    bool plain = false;  // an unquoted scalar, or one of an explicit tag
    bool timestamp = false;
    bool merge = false;  // the key <<
  };

  struct Anchor {
    Node node;
    size_t nodes = 0;
    bool complete = false;
  };

  Error refuse(const std::string& what) const { return refuse_at(event_->start_mark.line, what); }

  static Error refuse_at(size_t line, const std::string& what) {
    return make_error(ErrorCode::kBadRequest,
                      "yaml: line " + std::to_string(line + 1) + ": " + what);
  }

  Result<void> advance() {
    if (yaml_parser_parse(&parser_, event_.reset())) return {};
    std::string problem = parser_.problem ? parser_.problem : "unknown problem";
    if (parser_.error == YAML_READER_ERROR) {
      return make_error(ErrorCode::kBadRequest,
                        "yaml: offset " + std::to_string(parser_.problem_offset) + ": " + problem);
    }
    // The end of the text counts as a line of its own: name the last real one.
    size_t last = static_cast<size_t>(std::count(text_.begin(), text_.end(), '\n'));
    if (text_.ends_with('\n')) --last;
    return refuse_at(std::min(parser_.problem_mark.line, last), problem);
  }

  Result<void> count(size_t nodes) {
    nodes_ += nodes;
    if (nodes_ <= options_.max_nodes) return {};
    return refuse("document holds more than " + std::to_string(options_.max_nodes) +
                  " values (after following aliases)");
  }

  // Reads the node that the current event starts.
  Result<void> read_node(Node& node, size_t depth) {
    if (event_->type == YAML_ALIAS_EVENT) return read_alias(node);
    KUEUE_TRY(count(1));
    size_t before = nodes_;
    std::string anchor(text_of(event_->type == YAML_SCALAR_EVENT ? event_->data.scalar.anchor
                               : event_->type == YAML_SEQUENCE_START_EVENT
                                   ? event_->data.sequence_start.anchor
                                   : event_->data.mapping_start.anchor));
    if (!anchor.empty()) anchors_[anchor] = Anchor{};
    if (event_->type == YAML_SCALAR_EVENT) {
      KUEUE_TRY(read_scalar(node));
    } else {
      if (depth >= options_.max_depth) {
        return refuse("exceeded max depth of " + std::to_string(options_.max_depth));
      }
      if (event_->type == YAML_SEQUENCE_START_EVENT) {
        KUEUE_TRY(read_sequence(node, depth));
      } else {
        KUEUE_TRY(read_mapping(node, depth));
      }
    }
    if (!anchor.empty()) anchors_[anchor] = Anchor{node, nodes_ - before + 1, true};
    return {};
  }

  Result<void> read_alias(Node& node) {
    std::string name(text_of(event_->data.alias.anchor));
    auto anchor = anchors_.find(name);
    if (anchor == anchors_.end()) return refuse("unknown anchor '" + name + "' referenced");
    if (!anchor->second.complete) return refuse("anchor '" + name + "' value contains itself");
    KUEUE_TRY(count(anchor->second.nodes));
    node = anchor->second.node;
    return {};
  }

  Result<void> read_scalar(Node& node) {
    const auto& scalar = event_->data.scalar;
    std::string_view text(reinterpret_cast<const char*>(scalar.value), scalar.length);
    auto resolved = resolve_yaml_scalar(text, text_of(scalar.tag), scalar.plain_implicit != 0);
    if (!resolved.ok()) return refuse(resolved.error().message);
    node.plain = scalar.plain_implicit != 0;
    node.merge = (node.plain && text == "<<") || text_of(scalar.tag) == "tag:yaml.org,2002:merge";
    node.value = std::move(resolved).value();
    return {};
  }

  Result<void> read_sequence(Node& node, size_t depth) {
    Array items;
    for (;;) {
      KUEUE_TRY(advance());
      if (event_->type == YAML_SEQUENCE_END_EVENT) break;
      Node item;
      KUEUE_TRY(read_node(item, depth + 1));
      KUEUE_TRY(check_number(item.value));
      items.push_back(std::move(item.value));
    }
    items.shrink_to_fit();
    node.value = Value(std::move(items));
    return {};
  }

  Result<void> read_mapping(Node& node, size_t depth) {
    Object object;
    std::vector<Value> merges;
    for (;;) {
      KUEUE_TRY(advance());
      if (event_->type == YAML_MAPPING_END_EVENT) break;
      size_t line = event_->start_mark.line;
      Node key, value;
      KUEUE_TRY(read_node(key, depth + 1));
      if (!key.merge && !key_text(key.value)) return refuse_at(line, "unsupported map key");
      KUEUE_TRY(advance());
      KUEUE_TRY(read_node(value, depth + 1));
      KUEUE_TRY(check_number(value.value));
      if (key.merge) {
        if (!mergeable(value.value)) {
          return refuse_at(line, "map merge requires map or sequence of maps as the value");
        }
        merges.push_back(std::move(value.value));
        continue;
      }
      std::string name = *key_text(key.value);
      if (options_.reject_duplicate_keys && object.contains(name)) {
        return refuse_at(line, "key \"" + name + "\" already set in map");
      }
      object.set(name, std::move(value.value));
    }
    for (Value& merge : merges) merge_into(object, merge);
    node.value = Value(std::move(object));
    return {};
  }

  // JSON has neither infinity nor NaN.
  Result<void> check_number(const Value& value) const {
    if (value.type() != Type::kDouble || std::isfinite(value.as_double())) return {};
    return refuse(std::isnan(value.as_double()) ? "unsupported value: NaN"
                                                : "unsupported value: Inf");
  }

  static bool mergeable(const Value& value) {
    if (value.is_object()) return true;
    return value.is_array() && std::all_of(value.as_array().begin(), value.as_array().end(),
                                           [](const Value& v) { return v.is_object(); });
  }

  // Own members win over merged ones, earlier merged maps over later ones.
  static void merge_into(Object& object, const Value& merge) {
    if (merge.is_array()) {
      for (const Value& item : merge.as_array()) merge_into(object, item);
      return;
    }
    for (const auto& [key, value] : merge.as_object()) {
      if (!object.contains(key)) object.set(key, value);
    }
  }

  // JSON's name for a YAML key; nullopt for null, lists and maps.
  static std::optional<std::string> key_text(const Value& key) {
    switch (key.type()) {
      case Type::kString:
        return key.as_string();
      case Type::kBool:
        return key.as_bool() ? "true" : "false";
      case Type::kInt:
        return std::to_string(key.as_int());
      case Type::kUint:
        return std::to_string(key.as_uint());
      case Type::kDouble: {
        double d = key.as_double();
        if (std::isnan(d)) return ".nan";
        if (std::isinf(d)) return d > 0 ? ".inf" : "-.inf";
        return yaml_double(d);
      }
      case Type::kNull:
      case Type::kArray:
      case Type::kObject:
        return std::nullopt;
    }
    return std::nullopt;
  }

  YamlOptions options_;
  std::string_view text_;
  yaml_parser_t parser_ = {};
  Event event_;
  std::map<std::string, Anchor> anchors_;
  size_t nodes_ = 0;
};

Result<void> check_size(std::string_view text, const YamlOptions& options) {
  if (text.size() <= options.max_bytes) return {};
  return make_error(ErrorCode::kTooLarge, "YAML text of " + std::to_string(text.size()) +
                                              " bytes exceeds the limit of " +
                                              std::to_string(options.max_bytes));
}

class Writer {
 public:
  Writer() {
    yaml_emitter_initialize(&emitter_);
    yaml_emitter_set_output(
        &emitter_,
        [](void* self, unsigned char* data, size_t size) {
          static_cast<Writer*>(self)->out_.append(reinterpret_cast<const char*>(data), size);
          return 1;
        },
        this);
    yaml_emitter_set_unicode(&emitter_, 1);
  }
  ~Writer() { yaml_emitter_delete(&emitter_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  std::string run(const Value& value) {
    yaml_event_t event;
    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    emit(event);
    yaml_document_start_event_initialize(&event, nullptr, nullptr, nullptr, 1);
    emit(event);
    write(value);
    yaml_document_end_event_initialize(&event, 1);
    emit(event);
    yaml_stream_end_event_initialize(&event);
    emit(event);
    yaml_emitter_flush(&emitter_);
    // A text that ends in a kept line break is closed by a document end marker, which go-yaml
    // leaves out.
    if (out_.ends_with("\n...\n")) out_.resize(out_.size() - 4);
    return std::move(out_);
  }

 private:
  void emit(yaml_event_t& event) {
    KUEUE_CHECK(yaml_emitter_emit(&emitter_, &event), "YAML emitter refused an event");
  }

  void scalar(std::string_view text, yaml_scalar_style_t style) {
    yaml_event_t event;
    KUEUE_CHECK(yaml_scalar_event_initialize(&event, nullptr, nullptr,
                                             reinterpret_cast<const yaml_char_t*>(text.data()),
                                             static_cast<int>(text.size()), 1, 1, style),
                "YAML emitter refused a scalar");
    emit(event);
  }

  void key(std::string_view text) {
    if (text == "<<") return scalar(text, YAML_DOUBLE_QUOTED_SCALAR_STYLE);  // no merge key
    string(text);
  }

  void string(std::string_view text) {
    std::string repaired;
    if (!valid_utf8(text)) {
      repaired = repair_utf8(text);
      text = repaired;
    }
    bool lines = text.find('\n') != std::string_view::npos;
    scalar(text, lines                      ? YAML_LITERAL_SCALAR_STYLE
                 : yaml_reads_as_text(text) ? YAML_PLAIN_SCALAR_STYLE
                                            : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
  }

  void write(const Value& value) {
    yaml_event_t event;
    switch (value.type()) {
      case Type::kNull:
        return scalar("null", YAML_PLAIN_SCALAR_STYLE);
      case Type::kBool:
        return scalar(value.as_bool() ? "true" : "false", YAML_PLAIN_SCALAR_STYLE);
      case Type::kInt:
        return scalar(std::to_string(value.as_int()), YAML_PLAIN_SCALAR_STYLE);
      case Type::kUint:
        return scalar(std::to_string(value.as_uint()), YAML_PLAIN_SCALAR_STYLE);
      case Type::kDouble:
        return scalar(yaml_double(value.as_double()), YAML_PLAIN_SCALAR_STYLE);
      case Type::kString:
        return string(value.as_string());
      case Type::kArray: {
        yaml_sequence_start_event_initialize(&event, nullptr, nullptr, 1,
                                             YAML_BLOCK_SEQUENCE_STYLE);
        emit(event);
        for (const Value& item : value.as_array()) write(item);
        yaml_sequence_end_event_initialize(&event);
        return emit(event);
      }
      case Type::kObject:
        break;
    }
    std::vector<const Object::Member*> members;
    for (const auto& member : value.as_object()) members.push_back(&member);
    std::sort(members.begin(), members.end(),
              [](const auto* a, const auto* b) { return a->first < b->first; });
    yaml_mapping_start_event_initialize(&event, nullptr, nullptr, 1, YAML_BLOCK_MAPPING_STYLE);
    emit(event);
    for (const Object::Member* member : members) {
      key(member->first);
      write(member->second);
    }
    yaml_mapping_end_event_initialize(&event);
    emit(event);
  }

  yaml_emitter_t emitter_ = {};
  std::string out_;
};

}  // namespace

Result<Value> parse_yaml(std::string_view text, const YamlOptions& options) {
  KUEUE_TRY(check_size(text, options));
  size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') {
    auto json = parse(text, {.max_depth = options.max_depth,
                             .max_bytes = options.max_bytes,
                             .reject_duplicate_keys = options.reject_duplicate_keys});
    if (json.ok()) return json;  // otherwise it may still be YAML in flow style
  }
  Reader reader(text, options);
  KUEUE_ASSIGN(std::optional<Value> document, reader.next_document());
  return document ? std::move(*document) : Value();
}

Result<std::vector<Value>> parse_yaml_all(std::string_view text, const YamlOptions& options) {
  KUEUE_TRY(check_size(text, options));
  Reader reader(text, options);
  std::vector<Value> documents;
  for (;;) {
    KUEUE_ASSIGN(std::optional<Value> document, reader.next_document());
    if (!document) return documents;
    if (!document->is_null()) documents.push_back(std::move(*document));
  }
}

std::string write_yaml(const Value& value) { return Writer().run(value); }

}  // namespace kueue::json
