#include "base/names.h"

#include <gtest/gtest.h>

namespace kueue {
namespace {

TEST(Names, Table) {
  struct Case {
    const char* text;
    bool label, subdomain, dns1035, qualified, value;
  };
  const std::string long64(64, 'a'), long254(254, 'a');
  const Case cases[] = {
      {"a", true, true, true, true, true},
      {"1", true, true, false, true, true},
      {"", false, false, false, false, true},
      {"a-b", true, true, true, true, true},
      {"-a", false, false, false, false, false},
      {"a-", false, false, false, false, false},
      {"A", false, false, false, true, true},
      {"a.b", false, true, false, true, true},
      {"a..b", false, false, false, true, true},
      {"a_b", false, false, false, true, true},
      {"example.com/x", false, false, false, true, false},
      {"example.com/", false, false, false, false, false},
      {"/x", false, false, false, false, false},
      {"a/b/c", false, false, false, false, false},
      {"@k", false, false, false, false, false},
      {long64.c_str(), false, true, false, false, false},
      {long254.c_str(), false, false, false, false, false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(dns1123_label_problems(c.text).empty(), c.label) << c.text;
    EXPECT_EQ(dns1123_subdomain_problems(c.text).empty(), c.subdomain) << c.text;
    EXPECT_EQ(dns1035_label_problems(c.text).empty(), c.dns1035) << c.text;
    EXPECT_EQ(qualified_name_problems(c.text).empty(), c.qualified) << c.text;
    EXPECT_EQ(label_value_problems(c.text).empty(), c.value) << c.text;
  }
}

TEST(Names, Texts) {
  EXPECT_EQ(qualified_name_problems("").front(), "name part must be non-empty");
  EXPECT_EQ(qualified_name_problems("").size(), 2u);
  EXPECT_EQ(qualified_name_problems("/x").front(), "prefix part must be non-empty");
  EXPECT_EQ(dns1123_label_problems("a.b").front(), "must not contain dots");
}

}  // namespace
}  // namespace kueue
