// Our own settings beside Kueue's Configuration.
#include "config/extensions.h"

#include <gtest/gtest.h>

#include "config/config.h"

namespace kueue::config {
namespace {

constexpr const char* kFirst = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";
constexpr const char* kHead = "---\napiVersion: config.kueue-cpp.dev/v1alpha1\nkind: Extensions\n";

TEST(Extensions, AreASecondDocument) {
  EXPECT_FALSE(load_extensions("")->extensions.termination_bound);
  EXPECT_FALSE(load_extensions(kFirst)->extensions.termination_bound);
  const std::string text =
      std::string(kFirst) + kHead + "boundedTermination: {after: 10m, conditions: true}\n";
  const auto loaded = load_extensions(text);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->extensions.termination_bound, Duration::seconds(600));
  EXPECT_TRUE(loaded->extensions.termination_conditions);
  // The Configuration is what it is without them.
  ASSERT_TRUE(load(text).ok());
  EXPECT_EQ(load(text)->document, load(kFirst)->document);
  const auto other = load_extensions(std::string(kFirst) + "---\nkind: ConfigMap\n");
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->warnings.size(), 1u);
}

TEST(Extensions, SayWhatIsWrongAndWhere) {
  struct Case {
    const char* text;
    const char* says;
  };
  const Case cases[] = {
      {"boundedTermination: {conditions: true}", "boundedTermination.after: required"},
      {"boundedTermination: {after: soon}", "boundedTermination.after: must be a time"},
      {"boundedTermination: {after: 10}", "boundedTermination.after: must be a time"},
      {"boundedTermination: {after: 0s}", "must be above zero"},
      {"boundedTermination: {after: -5m}", "must be above zero"},
      {"boundedTermination: {after: 5m, conditions: maybe}", "must be a boolean"},
      {"boundedTermination: {after: 5m, condition: true}", "did you mean \"conditions\"?"},
      {"boundedTermination: 5m", "boundedTermination: must be an object"},
      {"boundedTerminatoin: {}", "did you mean \"boundedTermination\"?"},
      {"boundedTermination: {after: 5m}\n---\napiVersion: config.kueue-cpp.dev/v1alpha1\n"
       "kind: Extensions",
       "one document of this kind"},
  };
  for (const Case& c : cases) {
    const auto loaded = load_extensions(std::string(kFirst) + kHead + c.text + "\n");
    ASSERT_FALSE(loaded.ok()) << c.text;
    EXPECT_NE(loaded.error().message.find(c.says), std::string::npos) << loaded.error().message;
  }
  EXPECT_FALSE(load_extensions(std::string(kFirst) +
                               "---\napiVersion: config.kueue-cpp.dev/v9\nkind: Extensions\n")
                   .ok());
}

}  // namespace
}  // namespace kueue::config
