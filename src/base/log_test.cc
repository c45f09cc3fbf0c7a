#include "base/log.h"

#include <gtest/gtest.h>

namespace kueue {
namespace {

class FixedClock final : public Clock {
 public:
  Instant now() const override { return {1'772'366'400'500'000'000}; }
};

TEST(Log, JsonAndText) {
  FixedClock clock;
  std::string out;
  LogOptions options{
      .verbosity = 2, .clock = &clock, .write = [&](std::string_view line) { out += line; }};
  auto line_of = [&](const auto& log) {
    out.clear();
    log();
    size_t caller = out.find("base/log_test.cc:");
    if (caller != std::string::npos)
      out.erase(caller + 17, out.find_first_of("\"\t", caller) - caller - 17);
    return out;
  };
  configure_logging(options);
  Logger log = Logger("scheduler").with({{"replica-role", "standalone"}});
  EXPECT_EQ(
      line_of([&] {
        log.v(2, "Obtained heads",
              {{"headCount", 1},
               {"took", Duration::millis(1500)},
               {"workload", LogValue::ref("lab", "a\"b\n")}});
      }),
      "{\"level\":\"Level(-2)\",\"ts\":\"2026-03-01T12:00:00.5Z\",\"logger\":\"scheduler\","
      "\"caller\":\"base/log_test.cc:\",\"msg\":\"Obtained heads\",\"replica-role\":\"standalone\","
      "\"headCount\":1,\"took\":1.5,\"workload\":{\"name\":\"a\\\"b\\n\",\"namespace\":\"lab\"}}"
      "\n");
  EXPECT_EQ(line_of([&] { log.v(3, "hidden"); }), "");
  EXPECT_EQ(
      line_of([&] { Logger().error("Reconciler error", "no", {{"name", "x"}}); }),
      "{\"level\":\"error\",\"ts\":\"2026-03-01T12:00:00.5Z\",\"caller\":\"base/log_test.cc:\","
      "\"msg\":\"Reconciler error\",\"name\":\"x\",\"error\":\"no\"}\n");
  options.encoding = LogEncoding::kText;
  configure_logging(options);
  EXPECT_EQ(line_of([&] { log.named("sub").info("Hello"); }),
            "2026-03-01T12:00:00.5Z\tINFO\tscheduler.sub\tbase/"
            "log_test.cc:\tHello\t{\"replica-role\":\"standalone\"}\n");
  EXPECT_EQ(line_of([&] { Logger("a").v(1, "Plain"); }),
            "2026-03-01T12:00:00.5Z\tDEBUG\ta\tbase/log_test.cc:\tPlain\n");
  configure_logging({});
}

}  // namespace
}  // namespace kueue
