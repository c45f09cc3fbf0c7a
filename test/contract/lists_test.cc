// Lists and watches.
#include "contract.h"

namespace kueue::contract {
namespace {

std::string names(const kube::ListResult& list) {
  std::string text;
  for (const json::Value& item : list.items)
    text += (text.empty() ? "" : " ") + std::string(item.get_string({"metadata", "name"}));
  return text;
}

class ListTest : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    for (int i = 0; i < 5; ++i) {
      json::Value object = config_map("m" + std::to_string(i));
      object.at_path({"metadata", "labels", "n"}) = std::to_string(i);
      object.at_path({"metadata", "labels", "odd"}) = i % 2 ? "yes" : "no";
      make(kConfigMaps, object);
    }
  }
  // What the server itself puts into every namespace is left out.
  std::string list(kube::ListOptions options) {
    options.label_selector += options.label_selector.empty() ? "n" : ",n";
    auto found = client().list(kConfigMaps, ns_, options);
    return found.ok() ? names(*found) : "refused: " + found.error().message;
  }
};

TEST_F(ListTest, Selectors) {
  EXPECT_EQ(list({}), "m0 m1 m2 m3 m4");
  EXPECT_EQ(list({.label_selector = "odd=yes"}), "m1 m3");
  EXPECT_EQ(list({.label_selector = "odd!=yes,n in (0,1,4)"}), "m0 m4");
  EXPECT_EQ(list({.label_selector = "n notin (0,1),n>2"}), "m3 m4");
  EXPECT_EQ(list({.label_selector = "!odd"}), "");
  EXPECT_EQ(list({.field_selector = "metadata.name=m2"}), "m2");
  EXPECT_EQ(list({.field_selector = "metadata.name!=m2"}), "m0 m1 m3 m4");
  EXPECT_REFUSED(client().list(kConfigMaps, ns_, {.label_selector = "a in"}),
                 ErrorCode::kBadRequest, "unable to parse requirement");
  EXPECT_REFUSED(
      client().list(kConfigMaps, ns_, {.field_selector = "data.x=1"}), ErrorCode::kBadRequest,
      "\"data.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"");
  EXPECT_REFUSED(client().list(kPods, ns_, {.field_selector = "spec.nonsense=1"}),
                 ErrorCode::kBadRequest, "field label not supported: spec.nonsense");
}

TEST_F(ListTest, Pages) {
  kube::ListOptions options{.label_selector = "n", .limit = 2};
  auto one = client().list(kConfigMaps, ns_, options);
  ASSERT_OK(one);
  EXPECT_EQ(names(*one), "m0 m1");
  ASSERT_FALSE(one->continue_token.empty());
  make(kConfigMaps, [&] {
    json::Value object = config_map("m2x");
    object.at_path({"metadata", "labels", "n"}) = "9";
    return object;
  }());
  options.continue_token = one->continue_token;
  auto two = client().list(kConfigMaps, ns_, options);
  ASSERT_OK(two);
  EXPECT_EQ(names(*two), "m2 m3") << "a list in pages shows one moment";
  EXPECT_EQ(two->resource_version, one->resource_version);
  options.continue_token = two->continue_token;
  auto three = client().list(kConfigMaps, ns_, options);
  ASSERT_OK(three);
  EXPECT_EQ(names(*three), "m4");
  EXPECT_TRUE(three->continue_token.empty());
  EXPECT_REFUSED(client().list(kConfigMaps, ns_, {.limit = 2, .continue_token = "nonsense"}),
                 ErrorCode::kBadRequest, "continue key is not valid");
}

TEST_F(ListTest, RemainingItems) {
  auto page = client().list(kConfigMaps, ns_, {.limit = 2});
  ASSERT_OK(page);
  ASSERT_TRUE(page->remaining.has_value());
  EXPECT_GE(*page->remaining, 3);
}

TEST_F(ListTest, WatchFromAVersion) {
  auto now = client().list(kConfigMaps, ns_);
  ASSERT_OK(now);
  Watch watch(kConfigMaps, ns_, {.label_selector = "n", .resource_version = now->resource_version});
  ASSERT_OK(
      client().patch(kConfigMaps, {ns_, "m1"}, kube::PatchType::kMerge, doc("{'data':{'k':'v'}}")));
  EXPECT_EQ(watch.take(), "MODIFIED m1");
  EXPECT_EQ(watch.last().get_string({"data", "k"}), "v");
  EXPECT_EQ(watch.last().get_string({"kind"}), "ConfigMap");
  // Into and out of what the selector selects.
  ASSERT_OK(client().patch(kConfigMaps, {ns_, "m1"}, kube::PatchType::kMerge,
                           doc("{'metadata':{'labels':{'n':null}}}")));
  EXPECT_EQ(watch.take(), "DELETED m1");
  ASSERT_OK(client().patch(kConfigMaps, {ns_, "m1"}, kube::PatchType::kMerge,
                           doc("{'metadata':{'labels':{'n':'1'}}}")));
  EXPECT_EQ(watch.take(), "ADDED m1");
  auto removed = client().remove(kConfigMaps, {ns_, "m2"});
  ASSERT_OK(removed);
  EXPECT_EQ(watch.take(), "DELETED m2");
  EXPECT_GT(std::stoull(std::string(watch.last().get_string({"metadata", "resourceVersion"}))),
            std::stoull(now->resource_version));
}

TEST_F(ListTest, WatchWithoutVersionStartsWithWhatIsThere) {
  Watch watch(kConfigMaps, ns_, {.label_selector = "odd=yes"});
  EXPECT_EQ(watch.take(), "ADDED m1");
  EXPECT_EQ(watch.take(), "ADDED m3");
}

TEST_F(ListTest, WatchListEndsWithABookmark) {
  Watch watch(kConfigMaps, ns_, {.label_selector = "odd=yes", .send_initial_events = true});
  EXPECT_EQ(watch.take(), "ADDED m1");
  EXPECT_EQ(watch.take(), "ADDED m3");
  EXPECT_EQ(watch.take(), "BOOKMARK");
  EXPECT_EQ(watch.last().get_string({"metadata", "annotations", "k8s.io/initial-events-end"}),
            "true");
  EXPECT_FALSE(watch.last().get_string({"metadata", "resourceVersion"}).empty());
}

TEST_F(ListTest, WatchEndsAfterItsTime) {
  auto now = client().list(kConfigMaps, ns_);
  Watch watch(kConfigMaps, ns_,
              {.resource_version = now->resource_version,
               .bookmarks = false,
               .timeout = Duration::seconds(1)});
  EXPECT_EQ(watch.take(), "END");
}

TEST_F(ListTest, OldVersions) {
  // Version 1 is before everything: it is compacted on a real server, beyond the history on ours.
  auto future =
      client().list(kConfigMaps, ns_,
                    {.resource_version = "99999999999", .resource_version_match = "NotOlderThan"});
  ASSERT_FALSE(future.ok());
  EXPECT_EQ(future.error().code, ErrorCode::kTimeout);
  EXPECT_THAT(future.error().message, testing::HasSubstr("Too large resource version"));
  EXPECT_REFUSED(client().list(kConfigMaps, ns_, {.resource_version = "x"}), ErrorCode::kBadRequest,
                 "Invalid value");
}

TEST_F(ListTest, AllNamespaces) {
  auto all =
      client().list(kConfigMaps, "",
                    {.label_selector = "odd=yes", .field_selector = "metadata.namespace=" + ns_});
  ASSERT_OK(all);
  EXPECT_EQ(names(*all), "m1 m3");
}

}  // namespace
}  // namespace kueue::contract
