// Command lines: the table of commands with their flags, parsing, help texts. Flags may stand
// anywhere behind the command, as "--name=value", "--name value", "-n value" or "-nvalue"; "--"
// ends them. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kueue::cli {

enum class FlagKind : uint8_t {
  kBool,
  kText,
  kInt,
  kList
};  // kList: may be given again, or with commas

struct Flag {
  std::string_view name;
  char letter = 0;
  FlagKind kind = FlagKind::kText;
  std::string_view value_name = {};  // "FILE"
  std::string_view fallback = {};    // when not given; shown in help
  std::string_view help = {};
  std::span<const std::string_view> choices = {};  // the only values, when not empty
};

struct Command {
  std::string_view name;
  std::string_view arguments = {};  // "TYPE [NAME..]" for the usage line
  std::string_view summary = {};
  std::string_view text = {};  // further help
  std::string_view examples = {};
  std::span<const Flag> flags = {};
  size_t min_arguments = 0;
  size_t max_arguments = SIZE_MAX;
  bool cluster = true;  // takes the flags about the server to talk to
  bool raw = false;     // everything behind it is passed on unparsed
};

class Arguments {
 public:
  bool given(std::string_view flag) const { return values_.contains(flag); }
  // The last value given, or the flag's fallback.
  std::string text(std::string_view flag) const;
  bool is_set(std::string_view flag) const { return text(flag) == "true"; }
  int64_t number(std::string_view flag) const;
  // Every value, split at commas.
  std::vector<std::string> list(std::string_view flag) const;
  const std::vector<std::string>& positional() const { return positional_; }

 private:
  friend Result<Arguments> parse_arguments(const Command&, std::span<const Flag>,
                                           std::span<const std::string>);
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::map<std::string, std::string, std::less<>> fallbacks_;
  std::vector<std::string> positional_;
};

// kInvalid with a text for the user: unknown flag (with the nearest one), missing or bad value,
// wrong number of arguments. `common` are flags that every cluster command has besides its own;
// "help" is always known.
Result<Arguments> parse_arguments(const Command& command, std::span<const Flag> common,
                                  std::span<const std::string> arguments);

// The nearest of the candidates by edit distance, "" when none is near.
std::string nearest(std::string_view word, const std::vector<std::string_view>& candidates);

std::string command_help(std::string_view program, const Command& command,
                         std::span<const Flag> common);

}  // namespace kueue::cli
