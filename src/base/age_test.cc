#include "base/age.h"

#include <gtest/gtest.h>

namespace kueue {
namespace {

TEST(Age, HumanDuration) {
  struct Case {
    int64_t seconds;
    const char* text;
  };
  const Case cases[] = {{-5, "<invalid>"}, {0, "0s"},       {119, "119s"},      {120, "2m"},
                        {192, "3m12s"},    {599, "9m59s"},  {600, "10m"},       {10799, "179m"},
                        {10800, "3h"},     {18420, "5h7m"}, {28800, "8h"},      {172799, "47h"},
                        {183600, "2d3h"},  {691200, "8d"},  {34560000, "400d"}, {65664000, "2y30d"},
                        {315360000, "10y"}};
  for (const Case& each : cases)
    EXPECT_EQ(human_duration(Duration::seconds(each.seconds)), each.text) << each.seconds;
}

}  // namespace
}  // namespace kueue
