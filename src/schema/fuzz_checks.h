// What must hold for any input of the schema algorithms. Used by the fuzzers and by the test that
// replays their corpus.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/check.h"
#include "json/json.h"
#include "schema/compare.h"
#include "schema/crd.h"
#include "schema/defaults.h"
#include "schema/equal.h"
#include "schema/managed_fields.h"
#include "schema/merge.h"
#include "schema/openapi.h"
#include "schema/proto.h"
#include "schema/prune.h"
#include "schema/test_types.h"
#include "schema/validate.h"

namespace kueue::schema {

// A Type with one of everything.
namespace fuzz {

constexpr std::string_view kNameKey[] = {"name", "port"};
constexpr Type kInts{.kind = Kind::kList, .element = &kInt32Type};
constexpr Type kTexts{.kind = Kind::kList, .element = &kStringType};
constexpr Type kTextLists{.kind = Kind::kMap, .element = &kTexts};
constexpr Type kDeduced{.kind = Kind::kAny, .preserve_unknown = true};
constexpr Type kAtomicMap{.kind = Kind::kMap, .element = &kStringType, .atomic_map = true};
inline constexpr Field kItemFields[] = {
    {.name = "name", .type = &kStringType, .required = true, .proto_number = 1},
    {.name = "port", .type = &kInt32Type, .proto_number = 2, .default_json = "80"},
    {.name = "value", .type = &kStringType, .proto_number = 3},
    {.name = "labels", .type = &kStringMapType, .proto_number = 4},
    {.name = "args",
     .type = &kStringSetType,
     .proto_number = 5,
     .patch_strategy = PatchStrategy::kMerge},
};
inline constexpr Type kItem{.kind = Kind::kStruct, .fields = kItemFields};
inline constexpr Type kItems{
    .kind = Kind::kList, .element = &kItem, .list_type = ListType::kMap, .list_map_keys = kNameKey};
inline constexpr Field kInlineFields[] = {
    {.name = "emptyDir", .type = &kQuantityMapType, .proto_number = 1}};
inline constexpr Type kInline{.kind = Kind::kStruct, .fields = kInlineFields};
inline constexpr ProtoInline kInlines[] = {{15, &kInline}};
inline constexpr Field kSpecFields[] = {
    {.name = "a", .type = &kStringType, .proto_number = 1, .default_json = "\"x\""},
    {.name = "items",
     .type = &kItems,
     .proto_number = 2,
     .patch_strategy = PatchStrategy::kMerge,
     .patch_merge_key = "name"},
    {.name = "set",
     .type = &kStringSetType,
     .proto_number = 3,
     .patch_strategy = PatchStrategy::kMerge},
    {.name = "ints", .type = &kInts, .proto_number = 4},
    {.name = "extra", .type = &kTextLists, .proto_number = 5},
    {.name = "atomic", .type = &kAtomicMap, .proto_number = 6},
    {.name = "any", .type = &kAnyType, .proto_number = 7},
    {.name = "free", .type = &kDeduced},
    {.name = "port", .type = &kIntOrStringType, .proto_number = 8},
    {.name = "amount", .type = &kQuantityType, .proto_number = 9},
    {.name = "when", .type = &kTimeType, .proto_number = 10},
    {.name = "exactly", .type = &kMicroTimeType, .proto_number = 11},
    {.name = "lasts", .type = &kDurationType, .proto_number = 12},
    {.name = "bytes", .type = &kBytesType, .proto_number = 13},
    {.name = "suspend", .type = &kBoolType, .proto_number = 14},
    {.name = "emptyDir", .type = &kQuantityMapType},
};
inline constexpr Type kSpec{
    .kind = Kind::kStruct, .fields = kSpecFields, .proto_inlines = kInlines};
inline constexpr Field kThingFields[] = {
    {.name = "apiVersion", .type = &kStringType},
    {.name = "kind", .type = &kStringType},
    {.name = "metadata", .type = &kMetaType, .proto_number = 1},
    {.name = "spec", .type = &kSpec, .proto_number = 2},
};
inline constexpr Type kThing{.kind = Kind::kStruct, .name = "x.v1.Thing", .fields = kThingFields};

}  // namespace fuzz

inline void check_proto_bytes(std::string_view bytes) {
  auto find = [](std::string_view, std::string_view) { return &fuzz::kThing; };
  (void)decode_protobuf(bytes, find).ok();
  auto decoded = decode_message(fuzz::kThing, bytes);
  if (!decoded.ok()) return;
  auto again = decode_message(fuzz::kThing, encode_message(fuzz::kThing, decoded.value()));
  KUEUE_CHECK(again.ok(), "own protobuf is read");
  auto third = decode_message(fuzz::kThing, encode_message(fuzz::kThing, again.value()));
  KUEUE_CHECK(third.ok() && json::write_sorted(third.value()) == json::write_sorted(again.value()),
              "protobuf round trip");
}

// Lines of JSON; false when there are fewer than `count` that parse.
inline bool read_lines(std::string_view text, size_t count, std::vector<json::Value>& out) {
  while (out.size() < count) {
    const size_t end = text.find('\n');
    auto value = json::parse(text.substr(0, end), {.max_depth = 64});
    if (!value.ok()) return false;
    out.push_back(std::move(value).value());
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out.size() == count;
}

// A document and a strategic merge patch.
inline void check_strategic_text(std::string_view text) {
  std::vector<json::Value> lines;
  if (!read_lines(text, 2, lines)) return;
  auto merged = strategic_merge(fuzz::kThing, lines[0], lines[1]);
  if (merged.ok()) json::write(merged.value());
  auto same = strategic_merge(fuzz::kThing, lines[0], json::Value::object());
  if (lines[0].is_object())
    KUEUE_CHECK(same.ok() && same.value() == lines[0], "an empty patch changes nothing");
  const bool equal = semantic_equal(fuzz::kThing, lines[0], lines[1]);
  KUEUE_CHECK(equal == semantic_equal(fuzz::kThing, lines[1], lines[0]), "equality is symmetric");
  KUEUE_CHECK(equal == diff_paths(fuzz::kThing, lines[0], lines[1]).empty(),
              "what differs has paths");
  const Comparison nothing = compare(fuzz::kThing, lines[0], lines[0]);
  KUEUE_CHECK(nothing.empty(), "nothing differs from itself");
}

// Two configurations that are applied in turn by two managers, and an update.
inline void check_apply_text(std::string_view text) {
  std::vector<json::Value> lines;
  if (!read_lines(text, 3, lines)) return;
  const WriteContext one{.type = fuzz::kThing, .api_version = "x/v1", .manager = "one"};
  const WriteContext two{.type = fuzz::kThing, .api_version = "x/v1", .manager = "two"};
  auto first = server_side_apply(nullptr, lines[0], false, one);
  if (!first.ok()) return;
  auto again = server_side_apply(&first.value(), lines[0], false, one);
  KUEUE_CHECK(again.ok() && json::write(again.value()) == json::write(first.value()),
              "applying again changes nothing");
  auto second = server_side_apply(&first.value(), lines[1], true, two);
  if (!second.ok()) return;
  const json::Value updated = track_update(&second.value(), lines[2], one);
  const json::Value settled = track_update(&updated, updated, two);
  KUEUE_CHECK(json::write_sorted(settled) == json::write_sorted(updated),
              "an update without changes changes no manager");
  auto back = server_side_apply(&second.value(), lines[0], true, one);
  KUEUE_CHECK(back.ok(), "a forced apply has no conflicts");
  auto once_more = server_side_apply(&back.value(), lines[0], false, one);
  KUEUE_CHECK(once_more.ok(), "what was taken by force is owned");
}

// A schema and a document.
inline void check_schema_text(std::string_view text) {
  std::vector<json::Value> lines;
  if (!read_lines(text, 2, lines)) return;
  const CrdCheckOptions options{.object_meta = &kMetaType};
  const Path root;
  const bool structural = validate_structural(lines[0], root.child("schema"), options).empty();
  const auto built = DynamicSchema::build(lines[0], &kMetaType, "ex.com", "v1", "Thing");
  const Type& type = built->root();
  json::Value document = lines[1];
  const std::vector<std::string> unknown = find_unknown(type, document);
  KUEUE_CHECK(prune(type, document) == unknown, "what is pruned is what is unknown");
  KUEUE_CHECK(find_unknown(type, document).empty(), "nothing unknown is left");
  for (const std::string& path : unknown) explain_unknown(type, path);
  drop_nulls(type, document);
  apply_defaults(type, document);
  json::Value again = document;
  apply_defaults(type, again);
  KUEUE_CHECK(again == document, "defaults settle");
  validate(type, document);
  validate(type, document, {.old = &lines[1]});
  validate(type, document, {.old = &document});
  std::vector<const Type*> referred;
  const json::Value written = openapi_schema(type, OpenApiStyle::kCustom, referred);
  if (structural) {
    const auto rebuilt = DynamicSchema::build(written, &kMetaType, "ex.com", "v1", "Thing");
    KUEUE_CHECK(find_unknown(rebuilt->root(), lines[1]) == unknown,
                "a written schema means the same");
  }
  owned_fields(type, document);
  apply_problems(type, document);
}

}  // namespace kueue::schema
