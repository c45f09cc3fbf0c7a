#include "schema/proto.h"

#include <gtest/gtest.h>

#include "schema/test_types.h"

namespace kueue::schema {
namespace {

constexpr Type kInt32List{.kind = Kind::kList, .element = &kInt32Type};
constexpr Type kStringList{.kind = Kind::kList, .element = &kStringType};
constexpr Type kExtraMap{.kind = Kind::kMap, .element = &kStringList};
constexpr Field kSourceFields[] = {
    {.name = "emptyDir", .type = &kQuantityMapType, .proto_number = 3}};
constexpr Type kSource{.kind = Kind::kStruct, .fields = kSourceFields};
constexpr ProtoInline kInlines[] = {{2, &kSource}};
constexpr Field kThingFields[] = {
    {.name = "metadata", .type = &kMetaType, .proto_number = 1},
    {.name = "port", .type = &kIntOrStringType, .proto_number = 4},
    {.name = "amount", .type = &kQuantityType, .proto_number = 5},
    {.name = "micro", .type = &kMicroTimeType, .proto_number = 6},
    {.name = "raw", .type = &kAnyType, .proto_number = 7},
    {.name = "bytes", .type = &kBytesType, .proto_number = 8},
    {.name = "ratio", .type = &kDoubleType, .proto_number = 9},
    {.name = "numbers", .type = &kInt32List, .proto_number = 10},
    {.name = "extra", .type = &kExtraMap, .proto_number = 11},
    {.name = "duration", .type = &kDurationType, .proto_number = 12},
    {.name = "hostNetwork", .type = &kBoolType, .proto_number = 13},
    {.name = "suspend", .type = &kBoolType, .proto_number = 14},
    {.name = "emptyDir", .type = &kQuantityMapType},
};
constexpr Type kThing{
    .kind = Kind::kStruct, .name = "x.v1.Thing", .fields = kThingFields, .proto_inlines = kInlines};

const Type* find_thing(std::string_view version, std::string_view kind) {
  return version == "x/v1" && kind == "Thing" ? &kThing : nullptr;
}

constexpr std::string_view kDocument =
    R"({"kind":"Thing","apiVersion":"x/v1","metadata":{"name":"a","creationTimestamp":"2020-01-01T00:00:00Z",)"
    R"("labels":{"a":"","b":"ö"},"ownerReferences":[{}],"finalizers":["x","y"]},"port":-5,"amount":"1Gi",)"
    R"("micro":"2020-01-01T00:00:00.123456Z","raw":{"q":[1,{"w":null}]},"bytes":"AAEC","ratio":1.5,)"
    R"("numbers":[1,-2],"extra":{"k":["v","w"]},"duration":"1h0m0s","suspend":false,"emptyDir":{"size":"1"}})";

TEST(Proto, DecodesWhatItEncodes) {
  const json::Value document = parse_or_die(kDocument);
  const std::string bytes = encode_protobuf(kThing, document);
  EXPECT_TRUE(is_protobuf(bytes));
  auto decoded = decode_protobuf(bytes, find_thing);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(json::write_sorted(decoded.value()), json::write_sorted(document));
}

TEST(Proto, ZerosOfValuesAreAbsentOfPointersNot) {
  const json::Value document = parse_or_die(
      R"({"hostNetwork":false,"suspend":false,"metadata":{"name":"","generation":0}})");
  auto decoded = decode_message(kThing, encode_message(kThing, document));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(json::write_sorted(decoded.value()), R"({"metadata":{},"suspend":false})");
}

TEST(Proto, StrangeInput) {
  using namespace std::string_literals;
  const std::pair<std::string, std::string> cases[] = {
      {"\x0a"s, "the protobuf of the object is malformed or cut short"},
      {"\x0a\x05\x01"s, "the protobuf of the object is malformed or cut short"},
      {"\x0b"s, "the protobuf of the object is malformed or cut short"},
      {"\x08\x01"s, "the protobuf of metadata has the wrong wire type"},
      {"\x0a\x03\x0a\x01\xff"s, "the protobuf of metadata.name is no UTF-8"},
      {"\x0a\x02\x08\x01"s, "the protobuf of metadata.name has the wrong wire type"},
      {"\x3a\x03\x0a\x01{"s, "the protobuf of raw holds bad JSON"},
      {std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
       "the protobuf of the object is malformed or cut short"},
  };
  for (const auto& [bytes, message] : cases) {
    auto decoded = decode_message(kThing, bytes);
    ASSERT_FALSE(decoded.ok()) << message;
    EXPECT_EQ(decoded.error().message.substr(0, message.size()), message);
    EXPECT_EQ(decoded.error().code, ErrorCode::kBadRequest);
  }
  // Unknown fields of every wire type are passed over; packed numbers are taken.
  auto decoded = decode_message(
      kThing,
      "\xa0\x06\x01\xa1\x06\x01\x02\x03\x04\x05\x06\x07\x08\xa5\x06\x01\x02\x03\x04\xa2\x06\x01x\x52\x02\x01\x02"s);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(json::write(decoded.value()), R"({"numbers":[1,2]})");
}

TEST(Proto, Envelope) {
  using namespace std::string_literals;
  EXPECT_FALSE(decode_protobuf("{}", find_thing).ok());
  EXPECT_FALSE(decode_protobuf("k8s\0\x0a"s, find_thing).ok());
  auto unknown = decode_protobuf(
      encode_protobuf(kThing, parse_or_die(R"({"kind":"Other","apiVersion":"x/v1"})")), find_thing);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().message, "no kind \"Other\" is registered for version \"x/v1\"");
}

}  // namespace
}  // namespace kueue::schema
