// Parsing flags and printing help.
#include "cli/args.h"

#include <algorithm>
#include <charconv>

namespace kueue::cli {
namespace {

constexpr Flag kHelpFlag{
    .name = "help", .letter = 'h', .kind = FlagKind::kBool, .help = "Show this help."};

std::vector<const Flag*> all_flags(const Command& command, std::span<const Flag> common) {
  std::vector<const Flag*> flags;
  for (const Flag& flag : command.flags) flags.push_back(&flag);
  if (command.cluster) {
    for (const Flag& flag : common) flags.push_back(&flag);
  }
  flags.push_back(&kHelpFlag);
  return flags;
}

Error usage(std::string text) { return make_error(ErrorCode::kInvalid, std::move(text)); }

std::string shown(const Flag& flag, bool by_letter) {
  return by_letter ? std::string("-") + flag.letter : "--" + std::string(flag.name);
}

Result<std::string> checked_value(const Flag& flag, std::string value, bool by_letter) {
  if (flag.kind == FlagKind::kBool) {
    if (value == "1" || value == "t" || value == "True" || value == "TRUE") value = "true";
    if (value == "0" || value == "f" || value == "False" || value == "FALSE") value = "false";
    if (value != "true" && value != "false") {
      return usage("invalid value '" + value + "' for " + shown(flag, by_letter) +
                   ": must be true or false");
    }
  } else if (flag.kind == FlagKind::kInt) {
    int64_t number = 0;
    const char* end = value.data() + value.size();
    const auto [at, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc{} || at != end) {
      return usage("invalid value '" + value + "' for " + shown(flag, by_letter) +
                   ": must be a whole number");
    }
  }
  if (!flag.choices.empty() &&
      std::find(flag.choices.begin(), flag.choices.end(), value) == flag.choices.end()) {
    std::string text;
    for (const auto choice : flag.choices) text += (text.empty() ? "" : ", ") + std::string(choice);
    return usage("invalid value '" + value + "' for " + shown(flag, by_letter) +
                 ": must be one of " + text);
  }
  return value;
}

void append_flags(std::string* out, std::string_view title, const std::vector<const Flag*>& flags) {
  if (flags.empty()) return;
  *out += "\n";
  *out += title;
  *out += ":\n";
  for (const Flag* flag : flags) {
    std::string left = flag->letter != 0 ? std::string("  -") + flag->letter + ", --" : "      --";
    left += flag->name;
    if (flag->kind != FlagKind::kBool) {
      left += "=";
      left += flag->value_name.empty() ? "VALUE" : flag->value_name;
    }
    if (left.size() < 30) left.resize(30, ' ');
    *out += left + "  " + std::string(flag->help);
    if (!flag->fallback.empty() && flag->fallback != "false") {
      *out += " (default " + std::string(flag->fallback) + ")";
    }
    *out += "\n";
  }
}

}  // namespace

std::string Arguments::text(std::string_view flag) const {
  if (const auto it = values_.find(flag); it != values_.end()) return it->second.back();
  const auto it = fallbacks_.find(flag);
  return it == fallbacks_.end() ? "" : it->second;
}

int64_t Arguments::number(std::string_view flag) const {
  const std::string value = text(flag);
  int64_t number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

std::vector<std::string> Arguments::list(std::string_view flag) const {
  std::vector<std::string> result;
  const auto it = values_.find(flag);
  if (it == values_.end()) return result;
  for (const std::string& value : it->second) {
    size_t start = 0;
    while (start <= value.size()) {
      const size_t end = std::min(value.find(',', start), value.size());
      if (end > start) result.push_back(value.substr(start, end - start));
      start = end + 1;
    }
  }
  return result;
}

std::string nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  std::string best;
  size_t best_distance = word.size() <= 4 ? 2 : 3;  // exclusive
  for (const std::string_view candidate : candidates) {
    std::vector<size_t> row(candidate.size() + 1);
    for (size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j < row.size(); ++j) {
        const size_t change = diagonal + (word[i - 1] == candidate[j - 1] ? 0u : 1u);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

Result<Arguments> parse_arguments(const Command& command, std::span<const Flag> common,
                                  std::span<const std::string> arguments) {
  const std::vector<const Flag*> flags = all_flags(command, common);
  Arguments result;
  for (const Flag* flag : flags) result.fallbacks_.emplace(flag->name, flag->fallback);
  bool flags_ended = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (flags_ended || argument.size() < 2 || argument[0] != '-') {
      result.positional_.push_back(argument);
      continue;
    }
    if (argument == "--") {
      flags_ended = true;
      continue;
    }
    const bool by_letter = argument[1] != '-';
    const Flag* found = nullptr;
    std::optional<std::string> value;
    if (by_letter) {
      for (const Flag* flag : flags) {
        if (flag->letter == argument[1]) found = flag;
      }
      if (argument.size() > 2) value = argument.substr(argument[2] == '=' ? 3 : 2);
      if (found == nullptr) return usage(std::string("unknown flag -") + argument[1]);
    } else {
      const size_t equal = argument.find('=');
      const std::string name = argument.substr(2, equal == std::string::npos ? equal : equal - 2);
      if (equal != std::string::npos) value = argument.substr(equal + 1);
      std::vector<std::string_view> names;
      for (const Flag* flag : flags) {
        if (flag->name == name) found = flag;
        names.push_back(flag->name);
      }
      if (found == nullptr) {
        const std::string near = nearest(name, names);
        return usage("unknown flag --" + name +
                     (near.empty() ? "" : "; did you mean --" + near + "?"));
      }
    }
    if (!value && found->kind == FlagKind::kBool) value = "true";
    // "-Aw": letters without a value may stand together.
    if (by_letter && found->kind == FlagKind::kBool && argument.size() > 2 && argument[2] != '=') {
      for (size_t k = 1; k < argument.size(); ++k) {
        const auto it = std::find_if(flags.begin(), flags.end(), [&](const Flag* f) {
          return f->letter == argument[k] && f->kind == FlagKind::kBool;
        });
        if (it == flags.end()) return usage(std::string("unknown flag -") + argument[k]);
        result.values_[std::string((*it)->name)].push_back("true");
      }
      continue;
    }
    if (!value) {
      if (i + 1 >= arguments.size())
        return usage("flag " + shown(*found, by_letter) + " needs a value");
      value = arguments[++i];
    }
    KUEUE_ASSIGN(std::string checked, checked_value(*found, *std::move(value), by_letter));
    result.values_[std::string(found->name)].push_back(std::move(checked));
  }
  if (result.is_set("help")) return result;
  const size_t n = result.positional_.size();
  if (n < command.min_arguments) {
    return usage("missing arguments: " + std::string(command.name) + " " +
                 std::string(command.arguments));
  }
  if (n > command.max_arguments) {
    return usage("unexpected argument '" + result.positional_[command.max_arguments] + "'");
  }
  return result;
}

std::string command_help(std::string_view program, const Command& command,
                         std::span<const Flag> common) {
  std::string out(command.summary);
  out += "\n\nUsage:\n  ";
  out += program;
  out += " " + std::string(command.name);
  if (!command.arguments.empty()) out += " " + std::string(command.arguments);
  out += " [flags]\n";
  if (!command.text.empty()) out += "\n" + std::string(command.text) + "\n";
  if (!command.examples.empty()) out += "\nExamples:\n" + std::string(command.examples) + "\n";
  std::vector<const Flag*> own;
  for (const Flag& flag : command.flags) own.push_back(&flag);
  own.push_back(&kHelpFlag);
  append_flags(&out, "Flags", own);
  if (command.cluster) {
    std::vector<const Flag*> shared;
    for (const Flag& flag : common) shared.push_back(&flag);
    append_flags(&out, "Flags about the cluster", shared);
  }
  return out;
}

}  // namespace kueue::cli
