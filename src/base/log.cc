#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cmath>
#include <mutex>

namespace kueue {
namespace {

struct Sink {
  std::mutex mutex;
  LogOptions options;
  std::atomic<int> verbosity{0};
};

// Never destroyed: threads may log until the process ends.
Sink& sink() {
  static Sink* const instance = new Sink;
  return *instance;
}

void append_quoted(std::string& out, std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  out += '"';
  for (char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<uint8_t>(c) < 0x20) {
          out += "\\u00";
          out += kDigits[static_cast<uint8_t>(c) >> 4];
          out += kDigits[c & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void append_fields(std::string& out, std::initializer_list<LogField> fields) {
  for (const LogField& field : fields) {
    out += ',';
    append_quoted(out, field.key);
    out += ':';
    out += field.value.json();
  }
}

// "dir/file.cc:12".
std::string place(const std::source_location& where) {
  std::string_view file = where.file_name();
  size_t slash = file.rfind('/');
  if (slash != std::string_view::npos && slash > 0) {
    size_t before = file.rfind('/', slash - 1);
    if (before != std::string_view::npos) file.remove_prefix(before + 1);
  }
  return std::string(file) + ":" + std::to_string(where.line());
}

void write_all(std::string_view line) {
  while (!line.empty()) {
    ssize_t n = ::write(STDERR_FILENO, line.data(), line.size());
    if (n <= 0) return;  // nobody is left to tell
    line.remove_prefix(static_cast<size_t>(n));
  }
}

struct Line {
  std::string_view json_level;
  std::string_view text_level;
  std::string_view name;
  std::string_view message;
  std::string_view fields;  // ,"key":value,...
};

void put(const Line& line, const std::source_location& where) {
  Sink& s = sink();
  std::lock_guard lock(s.mutex);
  const Clock& clock = s.options.clock ? *s.options.clock : system_clock();
  std::string time = format_nano_time(clock.now());
  std::string out;
  out.reserve(160 + line.message.size() + line.fields.size());
  if (s.options.encoding == LogEncoding::kJson) {
    out.append("{\"level\":\"")
        .append(line.json_level)
        .append("\",\"ts\":\"")
        .append(time)
        .append("\"");
    if (!line.name.empty()) {
      out += ",\"logger\":";
      append_quoted(out, line.name);
    }
    out += ",\"caller\":";
    append_quoted(out, place(where));
    out += ",\"msg\":";
    append_quoted(out, line.message);
    out.append(line.fields).append("}\n");
  } else {
    out.append(time).append("\t").append(line.text_level).append("\t");
    if (!line.name.empty()) out.append(line.name).append("\t");
    out.append(place(where)).append("\t").append(line.message);
    if (!line.fields.empty()) out.append("\t{").append(line.fields.substr(1)).append("}");
    out += '\n';
  }
  if (s.options.write) {
    s.options.write(out);
  } else {
    write_all(out);
  }
}

template <typename Number>
std::string number_text(Number n) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, n).ptr);
}

}  // namespace

void configure_logging(LogOptions options) {
  Sink& s = sink();
  std::lock_guard lock(s.mutex);
  s.verbosity = options.verbosity;
  s.options = std::move(options);
}

bool log_enabled(int verbosity) {
  return verbosity <= sink().verbosity.load(std::memory_order_relaxed);
}

LogValue::LogValue(bool b) : json_(b ? "true" : "false") {}
LogValue::LogValue(int n) : json_(number_text(n)) {}
LogValue::LogValue(int64_t n) : json_(number_text(n)) {}
LogValue::LogValue(uint64_t n) : json_(number_text(n)) {}
LogValue::LogValue(double d) : json_(std::isfinite(d) ? number_text(d) : "null") {}
LogValue::LogValue(const char* text) : LogValue(std::string_view(text)) {}
LogValue::LogValue(std::string_view text) { append_quoted(json_, text); }
LogValue::LogValue(const std::string& text) : LogValue(std::string_view(text)) {}
LogValue::LogValue(Duration d) : LogValue(d.as_seconds()) {}
LogValue::LogValue(Instant t) : LogValue(format_nano_time(t)) {}

LogValue LogValue::ref(std::string_view namespace_, std::string_view name) {
  LogValue value;
  value.json_ = "{\"name\":";
  append_quoted(value.json_, name);
  if (!namespace_.empty()) {
    value.json_ += ",\"namespace\":";
    append_quoted(value.json_, namespace_);
  }
  value.json_ += '}';
  return value;
}

LogValue LogValue::raw(std::string json) {
  LogValue value;
  value.json_ = std::move(json);
  return value;
}

Logger::Logger(std::string_view name) : name_(name) {}

Logger Logger::with(std::initializer_list<LogField> fields) const {
  std::string all = fields_ ? *fields_ : std::string();
  append_fields(all, fields);
  Logger copy = *this;
  copy.fields_ = std::make_shared<const std::string>(std::move(all));
  return copy;
}

Logger Logger::named(std::string_view name) const {
  Logger copy = *this;
  if (!copy.name_.empty()) copy.name_ += '.';
  copy.name_ += name;
  return copy;
}

void Logger::info(std::string_view message, std::initializer_list<LogField> fields,
                  std::source_location where) const {
  v(0, message, fields, where);
}

void Logger::v(int verbosity, std::string_view message, std::initializer_list<LogField> fields,
               std::source_location where) const {
  if (!log_enabled(verbosity)) return;
  std::string all = fields_ ? *fields_ : std::string();
  append_fields(all, fields);
  std::string level = "Level(-" + std::to_string(verbosity) + ")";
  put({.json_level = verbosity <= 0   ? "info"
                     : verbosity == 1 ? "debug"
                                      : level,
       .text_level = verbosity <= 0   ? "INFO"
                     : verbosity == 1 ? "DEBUG"
                                      : level,
       .name = name_,
       .message = message,
       .fields = all},
      where);
}

void Logger::error(std::string_view message, std::string_view error,
                   std::initializer_list<LogField> fields, std::source_location where) const {
  std::string all = fields_ ? *fields_ : std::string();
  append_fields(all, fields);
  all += ",\"error\":";
  append_quoted(all, error);
  put({.json_level = "error",
       .text_level = "ERROR",
       .name = name_,
       .message = message,
       .fields = all},
      where);
}

}  // namespace kueue
