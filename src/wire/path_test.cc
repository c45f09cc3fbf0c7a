#include "wire/path.h"

#include <gtest/gtest.h>

namespace kueue::wire {
namespace {

TEST(Path, ResourcePaths) {
  struct Case {
    const char* path;
    const char* want;  // group|version|namespace|resource|name|subresource, "" = no resource path
  };
  const Case cases[] = {
      {"/api/v1/pods", "|v1||pods||"},
      {"/api/v1/namespaces/a/pods/b", "|v1|a|pods|b|"},
      {"/api/v1/namespaces/a/pods/b/status", "|v1|a|pods|b|status"},
      {"/api/v1/namespaces/a/pods/b/proxy/x/y", "|v1|a|pods|b|proxy/x/y"},
      {"/api/v1/namespaces", "|v1||namespaces||"},
      {"/api/v1/namespaces/a", "|v1||namespaces|a|"},
      {"/api/v1/namespaces/a/status", "|v1||namespaces|a|status"},
      {"/api/v1/namespaces/a/finalize", "|v1||namespaces|a|finalize"},
      {"/apis/batch/v1/namespaces/a/jobs", "batch|v1|a|jobs||"},
      {"/apis/kueue.x-k8s.io/v1beta2/clusterqueues/c%3Ad",
       "kueue.x-k8s.io|v1beta2||clusterqueues|c:d|"},
      {"/api/v1/watch/namespaces/a/pods", "|v1|a|pods||"},
      {"/api/v1/nodes/n/", "|v1||nodes|n|"},
      {"/api", ""},
      {"/api/v1", ""},
      {"/apis/batch/v1", ""},
      {"/healthz", ""},
      {"", ""},
  };
  for (const Case& c : cases) {
    auto p = parse_resource_path(c.path);
    std::string got = p ? p->group + "|" + p->version + "|" + p->namespace_ + "|" + p->resource +
                              "|" + p->name + "|" + p->subresource
                        : "";
    EXPECT_EQ(got, c.want) << c.path;
    if (p && !std::string_view(c.path).ends_with('/')) EXPECT_EQ(resource_path(*p), c.path);
  }
  EXPECT_TRUE(parse_resource_path("/api/v1/watch/pods")->watch_prefix);
}

TEST(Path, PercentAndQuery) {
  EXPECT_EQ(percent_encode("a b/%~"), "a%20b%2F%25~");
  EXPECT_EQ(percent_decode("a%20b%2f+%zz%2", false), "a b/+%zz%2");
  EXPECT_EQ(percent_decode("a+b", true), "a b");
  std::vector<std::pair<std::string, std::string>> query = {{"labelSelector", "a=b,c in (d)"},
                                                            {"watch", ""}};
  EXPECT_EQ(parse_query(format_query(query)), query);
  EXPECT_EQ(parse_query("a&b=1&&c=x%3Dy"), (std::vector<std::pair<std::string, std::string>>{
                                               {"a", ""}, {"b", "1"}, {"c", "x=y"}}));
}

}  // namespace
}  // namespace kueue::wire
