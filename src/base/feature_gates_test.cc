#include "base/feature_gates.h"

#include <gtest/gtest.h>

namespace kueue {
namespace {

TEST(FeatureGates, HasTheDefaultsOfTheTable) {
  FeatureGates gates;
  for (const GateSpec& spec : feature_gate_table())
    EXPECT_EQ(gates.on(spec.gate), spec.default_on) << spec.name;
  EXPECT_EQ(feature_gate_table().size(), 80u);
  EXPECT_EQ(gates.non_default(), "");
  EXPECT_TRUE(gates.check_dependencies().ok());
}

TEST(FeatureGates, ParsesAndReports) {
  FeatureGates gates;
  ASSERT_TRUE(gates.parse(" PriorityBoost=true, PartialAdmission=F ").ok());
  EXPECT_TRUE(gates.on(Gate::kPriorityBoost));
  EXPECT_FALSE(gates.on(Gate::kPartialAdmission));
  EXPECT_EQ(gates.non_default(), "PartialAdmission=false,PriorityBoost=true");
}

TEST(FeatureGates, RefusesBadInputAndKeepsTheOldValue) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"PriorityBost=true", "unknown feature gate: PriorityBost, did you mean PriorityBoost?"},
      {"Zzz=true", "unknown feature gate: Zzz"},
      {"PriorityBoost", "missing bool value for feature gate PriorityBoost: want NAME=true|false"},
      {"PriorityBoost=maybe",
       "invalid value of feature gate PriorityBoost: \"maybe\", want true or false"},
      {"TLSOptions=false",
       "cannot set feature gate TLSOptions to false, feature is locked to true"},
      {"FlavorFungibility=false",
       "feature gate FlavorFungibilityPreserveScanProgress is enabled, but depends on "
       "FlavorFungibility, which is "
       "disabled"},
  };
  for (const Case& c : cases) {
    FeatureGates gates;
    Result<void> result = gates.parse(std::string("TASBalancedPlacement=true,") + c.text);
    ASSERT_FALSE(result.ok()) << c.text;
    EXPECT_EQ(result.error().message, c.message);
    EXPECT_EQ(gates, FeatureGates()) << c.text;
  }
}

TEST(FeatureGates, AllAlphaIsAppliedFirst) {
  FeatureGates gates;
  ASSERT_TRUE(gates.parse("PriorityBoost=false,AllAlpha=true").ok());
  EXPECT_FALSE(gates.on(Gate::kPriorityBoost));
  EXPECT_TRUE(gates.on(Gate::kConcurrentAdmission));
}

}  // namespace
}  // namespace kueue
