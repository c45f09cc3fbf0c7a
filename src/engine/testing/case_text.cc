// Words and options of a case line, and the settings that stand among them.
#include <algorithm>
#include <cctype>
#include <sstream>

#include "engine/testing/case_script.h"

namespace kueue::engine::testing {
namespace {

// Words end at blanks; double quotes keep blanks together.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out;
  std::string word;
  bool quoted = false, any = false;
  for (char c : text) {
    if (c == '"') {
      quoted = !quoted;
      any = true;
    } else if (c == ' ' && !quoted) {
      if (any) out.push_back(word);
      word.clear();
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  if (any) out.push_back(word);
  return out;
}

}  // namespace

std::string CaseLine::get(const std::string& key, const std::string& fallback) const {
  for (const auto& [k, v] : options)
    if (k == key) return v;
  return fallback;
}

bool CaseLine::has(const std::string& key) const {
  return std::any_of(options.begin(), options.end(),
                     [&](const auto& option) { return option.first == key; });
}

std::vector<CaseLine> parse_case(const std::string& text) {
  std::vector<CaseLine> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    CaseLine parsed;
    parsed.text = line;
    for (const std::string& word : words_of(line)) {
      size_t equals = word.find('=');
      if (parsed.verb.empty())
        parsed.verb = word;
      else if (equals == std::string::npos)
        parsed.words.push_back(word);
      else
        parsed.options.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    }
    if (!parsed.verb.empty()) out.push_back(std::move(parsed));
  }
  return out;
}

namespace {

void fair_settings(const CaseLine& line, Settings& settings, std::vector<std::string>& errors) {
  FairSharing& fair = settings.fair_sharing.emplace();
  for (const std::string& word : line.words) {
    if (word == "final")
      fair.strategies.push_back(FairPreemptionStrategy::kLessThanOrEqualToFinalShare);
    else if (word == "initial")
      fair.strategies.push_back(FairPreemptionStrategy::kLessThanInitialShare);
    else
      errors.push_back("unknown strategy " + word);
  }
}

void afs_settings(const CaseLine& line, Settings& settings) {
  AdmissionFairSharing& afs = settings.admission_fair_sharing.emplace();
  afs.half_life = Duration::seconds(std::stoll(line.get("half-life", "0")));
  afs.sampling_interval = Duration::seconds(std::stoll(line.get("sampling", "300")));
  for (const auto& [key, value] : line.options)
    if (key == "weight") {
      size_t colon = value.find(':');
      afs.resource_weights.emplace_back(value.substr(0, colon), std::stod(value.substr(colon + 1)));
    }
}

}  // namespace

Settings settings_of(const std::vector<CaseLine>& lines, std::vector<std::string>& errors) {
  Settings settings;
  for (const CaseLine& line : lines) {
    if (line.verb == "fair") fair_settings(line, settings, errors);
    if (line.verb == "afs") afs_settings(line, settings);
    if (line.verb == "gate")
      for (const auto& [name, value] : line.options) {
        const GateSpec* gate = find_gate(name);
        if (gate == nullptr)
          errors.push_back("unknown gate " + name);
        else
          settings.gates.force(gate->gate, value == "true");
      }
    if (line.verb != "settings") continue;
    for (const std::string& word : line.words) {
      if (word == "ignore-undeclared")
        settings.ignore_undeclared = true;
      else if (word == "block-admission")
        settings.block_admission = true;
      else if (word == "by-creation")
        settings.requeue_by_creation = true;
      else
        errors.push_back("unknown setting " + word);
    }
  }
  return settings;
}

}  // namespace kueue::engine::testing
