#include "schema/pattern.h"

#include <re2/re2.h>

#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>

namespace kueue::schema {
namespace {

// Schemas hold a few hundred patterns; a user who installs CRDs without end must not fill the
// memory.
constexpr size_t kMaxKept = 4096;

struct Cache {
  std::shared_mutex mutex;
  std::map<std::string, std::unique_ptr<const RE2>, std::less<>> patterns;
};

Cache& cache() {
  static Cache* const the_cache = new Cache();  // never destroyed: threads may outlive main
  return *the_cache;
}

std::unique_ptr<const RE2> compile(std::string_view pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  return std::make_unique<const RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
}

bool matches(const RE2& re, std::string_view text) {
  return re.ok() && RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), re);
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view text) {
  Cache& kept = cache();
  {
    std::shared_lock lock(kept.mutex);
    const auto found = kept.patterns.find(pattern);
    if (found != kept.patterns.end()) return matches(*found->second, text);
  }
  std::unique_ptr<const RE2> re = compile(pattern);
  std::unique_lock lock(kept.mutex);
  if (kept.patterns.size() >= kMaxKept) return matches(*re, text);
  const auto [at, inserted] = kept.patterns.try_emplace(std::string(pattern), std::move(re));
  return matches(*at->second, text);
}

std::string pattern_problem(std::string_view pattern) {
  const std::unique_ptr<const RE2> re = compile(pattern);
  if (re->ok()) return {};
  std::string what;
  switch (re->error_code()) {
    case RE2::ErrorMissingParen:
      what = "missing closing )";
      break;
    case RE2::ErrorMissingBracket:
      what = "missing closing ]";
      break;
    case RE2::ErrorRepeatArgument:
      what = "missing argument to repetition operator";
      break;
    case RE2::ErrorTrailingBackslash:
      what = "trailing backslash at end of expression";
      break;
    case RE2::ErrorBadPerlOp:
      what = "invalid or unsupported Perl syntax";
      break;
    case RE2::ErrorBadEscape:
      what = "invalid escape sequence";
      break;
    case RE2::ErrorBadCharRange:
      what = "invalid character class range";
      break;
    case RE2::ErrorRepeatSize:
      what = "invalid repeat count";
      break;
    default:
      return "error parsing regexp: " + re->error();
  }
  const std::string argument = re->error_arg().empty() ? std::string(pattern) : re->error_arg();
  return "error parsing regexp: " + what + ": `" + argument + "`";
}

}  // namespace kueue::schema
