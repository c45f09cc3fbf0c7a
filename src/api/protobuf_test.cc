// Protobuf bodies and objects as a real kube-apiserver v1.36 answered them for the same writes
// (schema/testdata/protobuf.json): the tables' field numbers must lead from one to the other.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "api/registry.h"
#include "base/base64.h"
#include "json/json.h"
#include "schema/equal.h"
#include "schema/proto.h"
#include "schema/prune.h"

namespace kueue::api {
namespace {

const schema::Type* type_of(std::string_view api_version, std::string_view kind) {
  const schema::ResourceInfo* info = find_kind(api_version, kind);
  return info != nullptr ? &*info->type : nullptr;
}

json::Value recorded() {
  std::ifstream in(KUEUE_SOURCE_DIR "/src/schema/testdata/protobuf.json");
  std::stringstream text;
  text << in.rdbuf();
  auto parsed = json::parse(text.str());
  KUEUE_CHECK(parsed.ok(), "recorded protobuf bodies");
  return std::move(parsed).value();
}

// What differs between two writes.
void forget(json::Value& object) {
  for (std::string_view name : {"uid", "creationTimestamp", "managedFields", "resourceVersion"})
    object.erase_path({"metadata", name});
  for (std::string_view label : {"batch.kubernetes.io/controller-uid", "controller-uid"}) {
    object.erase_path({"metadata", "labels", label});
    object.erase_path({"spec", "selector", "matchLabels", label});
    object.erase_path({"spec", "template", "metadata", "labels", label});
  }
  object.erase_path({"spec", "clusterIP"});
  object.erase_path({"spec", "clusterIPs"});
}

TEST(Protobuf, DecodesWhatKubeApiserverSends) {
  const json::Value data = recorded();
  for (const json::Value& test : data.as_array()) {
    SCOPED_TRACE(std::string(test.get_string({"type"})));
    auto bytes = base64_decode(test.get_string({"protobuf"}));
    ASSERT_TRUE(bytes.ok());
    auto decoded = schema::decode_protobuf(bytes.value(), type_of);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    json::Value found = std::move(decoded).value();
    json::Value expected = *test.find("object");
    forget(found);
    forget(expected);
    // The pod of a service account gets a volume of random name.
    if (found.get_string({"kind"}) == "Pod") {
      found.erase_path({"spec", "volumes"});
      expected.erase_path({"spec", "volumes"});
    }
    const schema::Type& type =
        *type_of(found.get_string({"apiVersion"}), found.get_string({"kind"}));
    EXPECT_EQ(schema::diff_paths(type, expected, found), std::vector<std::string>());
    EXPECT_EQ(schema::find_unknown(type, expected), std::vector<std::string>());
    // And back.
    auto again = schema::decode_protobuf(schema::encode_protobuf(type, found), type_of);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(schema::diff_paths(type, found, again.value()), std::vector<std::string>());
  }
}

}  // namespace
}  // namespace kueue::api
