// Structured logging in the shape of Kueue's zap output: one line per message with level, time,
// logger, place, message and key/values, as JSON or as tab-separated text. Thread safe; a line is
// written at once and whole.
//
//   Logger log = Logger("scheduler").with({{"schedulingCycle", 7}});
//   log.v(2, "Obtained heads", {{"headCount", 1}, {"workload", LogValue::ref("lab", "job-1")}});
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace kueue {

enum class LogEncoding : uint8_t { kJson, kText };

struct LogOptions {
  LogEncoding encoding = LogEncoding::kJson;
  // Messages of v(n) appear when n <= verbosity. Below 0 hides info too, errors always appear.
  int verbosity = 0;
  const Clock* clock = nullptr;  // null = the wall clock
  // Receives each line with its line break, one at a time; null = stderr.
  std::function<void(std::string_view line)> write = {};
};

// Sets where and how every Logger writes. May be called again at any time.
void configure_logging(LogOptions options);
bool log_enabled(int verbosity);

// A value in the making of a log line, rendered to JSON at once.
class LogValue {
 public:
  LogValue(bool b);                   // NOLINT: implicit by intent
  LogValue(int n);                    // NOLINT: implicit by intent
  LogValue(int64_t n);                // NOLINT: implicit by intent
  LogValue(uint64_t n);               // NOLINT: implicit by intent
  LogValue(double d);                 // NOLINT: implicit by intent
  LogValue(const char* text);         // NOLINT: implicit by intent
  LogValue(std::string_view text);    // NOLINT: implicit by intent
  LogValue(const std::string& text);  // NOLINT: implicit by intent
  LogValue(Duration d);               // NOLINT: implicit by intent; seconds, as zap has it
  LogValue(Instant t);                // NOLINT: implicit by intent
  // {"name": ..., "namespace": ...}, without the namespace when that is "".
  static LogValue ref(std::string_view namespace_, std::string_view name);
  // Any JSON text.
  static LogValue raw(std::string json);
  const std::string& json() const { return json_; }

 private:
  LogValue() = default;
  std::string json_;
};

struct LogField {
  std::string_view key;
  LogValue value;
};

// Cheap to copy. Values are rendered even when the line is dropped: ask log_enabled() before costly
// ones.
class Logger {
 public:
  explicit Logger(std::string_view name = {});
  // The same name with further key/values on each line.
  Logger with(std::initializer_list<LogField> fields) const;
  // "parent.name".
  Logger named(std::string_view name) const;

  void info(std::string_view message, std::initializer_list<LogField> fields = {},
            std::source_location where = std::source_location::current()) const;
  // Info of a detail level; 0 is info().
  void v(int verbosity, std::string_view message, std::initializer_list<LogField> fields = {},
         std::source_location where = std::source_location::current()) const;
  void error(std::string_view message, std::string_view error,
             std::initializer_list<LogField> fields = {},
             std::source_location where = std::source_location::current()) const;
  void error(std::string_view message, const Error& error,
             std::initializer_list<LogField> fields = {},
             std::source_location where = std::source_location::current()) const {
    this->error(message, error.message, fields, where);
  }

 private:
  std::string name_;
  std::shared_ptr<const std::string> fields_;  // ,"key":value,...
};

}  // namespace kueue
