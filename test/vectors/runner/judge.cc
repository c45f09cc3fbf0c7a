#include "judge.h"

#include "base/check.h"
#include "json/json.h"
#include "replay.h"

namespace kueue::vectors {
namespace {

bool nothing(const json::Value& v) {
  switch (v.type()) {
    case json::Type::kNull:
      return true;
    case json::Type::kBool:
      return !v.as_bool();
    case json::Type::kInt:
    case json::Type::kUint:
    case json::Type::kDouble:
      return v.as_double() == 0;
    case json::Type::kString:
      return v.as_string().empty();
    case json::Type::kArray:
      return v.as_array().empty();
    case json::Type::kObject:
      return v.as_object().empty();
  }
  return false;
}

void diff_paths(const std::string& path, const json::Value& a, const json::Value& b,
                std::string& out) {
  if (a == b) return;
  if (a.is_object() && b.is_object()) {
    for (const auto& [name, member] : a.as_object()) {
      const json::Value* other = b.find(name);
      diff_paths(path + "." + name, member, other == nullptr ? json::Value() : *other, out);
    }
    for (const auto& [name, member] : b.as_object())
      if (a.find(name) == nullptr) diff_paths(path + "." + name, json::Value(), member, out);
    return;
  }
  if (a.is_array() && b.is_array() && a.as_array().size() == b.as_array().size()) {
    for (size_t i = 0; i < a.as_array().size(); ++i)
      diff_paths(path + "[" + std::to_string(i) + "]", a.as_array()[i], b.as_array()[i], out);
    return;
  }
  out += "\n    " + path + "\n      expected " + json::write_sorted(a) + "\n      actual   " +
         json::write_sorted(b);
}

}  // namespace

Judges::Judges() {
  add_scheduling_judges(*this);
  add_reconcile_judges(*this);
  add_table_judges(*this);
  add_hook_judges(*this);
  add_configuration_judges(*this);
  add_quota_judges(*this);
  add_queue_judges(*this);
  add_amount_judges(*this);
  add_ledger_judges(*this);
  add_workload_judges(*this);
  add_job_judges(*this);
  add_pending_judges(*this);
  add_slice_judges(*this);
}

std::vector<std::string> Judges::names_of(const Case& test) {
  return {test.kind + " " + test.subject, test.kind + " " + test.call,
          test.kind + " " + test.subject.substr(0, test.subject.find('/')), test.kind};
}

const Judge* Judges::find(const Case& test) const {
  for (const std::string& name : names_of(test))
    if (auto it = by_name_.find(name); it != by_name_.end()) return &it->second;
  return nullptr;
}

const json::Value& at(const json::Value& value, std::initializer_list<std::string_view> path) {
  static const json::Value kNothing;
  const json::Value* found = value.find_path(path);
  return found == nullptr ? kNothing : *found;
}

const json::Value& argument(const json::Value& test, std::string_view name) {
  return at(test, {"input", "args", name});
}

const json::Array& items(const json::Value& value) {
  static const json::Array kNone;
  return value.is_array() ? value.as_array() : kNone;
}

const json::Object& members(const json::Value& value) {
  static const json::Object kNone;
  return value.is_object() ? value.as_object() : kNone;
}

json::Array steps_of(const json::Value& test) {
  json::Array steps = items(at(test, {"steps"}));
  if (!steps.empty()) return steps;
  steps.push_back(at(test, {"input"}));
  steps.back()["expect"] = at(test, {"expect"});
  return steps;
}

Amount amount_of(const json::Value& value) {
  return value.is_string() ? Amount::unlimited() : Amount(value.int_or(0));
}

json::Value amount_json(Amount amount) {
  return amount.is_unlimited() ? json::Value("unlimited") : json::Value(amount.value());
}

double number(const json::Value& value) { return value.is_number() ? value.as_double() : 0; }

FeatureGates gates_of(const json::Value& test) {
  FeatureGates gates;
  if (const json::Value& given = at(test, {"featureGates"}); given.is_object())
    for (const auto& [name, value] : given.as_object())
      KUEUE_CHECK(gates.set(name, value.as_bool()).ok(), "bad gate");
  return gates;
}

Differences compared(const json::Value& expected, const json::Value& actual) {
  auto plain = [](const json::Value& v) {
    json::Value out = pruned(v);
    return nothing(out) && !out.is_number() ? json::Value() : out;
  };
  Differences out;
  differ(out, "result", plain(expected), plain(actual));
  return out;
}

Differences compared_result(const json::Value& test, const json::Value& actual) {
  return compared(at(test, {"expect", "result"}), actual);
}

Differences compared_errors(const json::Value& expected, const std::vector<ErrorCause>& actual) {
  Differences out;
  json::Array theirs, ours;
  for (const json::Value& e : items(expected))
    theirs.emplace_back(std::string(e.get_string({"type"})) + " " +
                        std::string(e.get_string({"field"})));
  for (const ErrorCause& cause : actual) ours.emplace_back(cause.reason + " " + cause.field);
  differ(out, "errors", theirs, ours);
  if (!out.empty()) return out;
  for (size_t i = 0; i < actual.size(); ++i) {
    std::string_view detail = items(expected)[i].get_string({"detail"});
    if (!actual[i].message.ends_with(detail))
      differ(out, "detail of " + actual[i].field, json::Value(detail), actual[i].message);
  }
  return out;
}

bool compared_error(const json::Value& test, const Result<void>& actual, Differences& out) {
  const json::Value& expected = at(test, {"expect", "error"});
  if (actual.ok() && expected.is_null()) return false;
  if (actual.ok()) out.push_back("no error; expected " + json::write(expected));
  if (!actual.ok() && expected.is_null()) out.push_back("error: " + actual.error().message);
  return true;
}

bool compared_error_text(const json::Value& test, const Result<void>& actual, Differences& out) {
  if (!compared_error(test, actual, out)) return false;
  if (!actual.ok())
    differ(out, "error", at(test, {"expect", "error", "text"}), actual.error().message);
  return true;
}

void add_scheduling_judges(Judges& judges) {
  judges.add("cycle", [](const json::Value& test) { return CycleReplay(test).run(); });
  judges.add("preemptionTargets", replay_preemption_targets);
  judges.add("tasPlacement", replay_placement);
}

json::Value pruned(const json::Value& value) {
  if (value.is_object()) {
    json::Value out = json::Value::object();
    for (const auto& [name, member] : value.as_object()) {
      json::Value kept = pruned(member);
      if (!nothing(kept)) out[name] = std::move(kept);
    }
    return out;
  }
  if (value.is_array()) {
    json::Array out;
    for (const json::Value& item : value.as_array()) out.push_back(pruned(item));
    return out;
  }
  return value;
}

void differ(Differences& out, const std::string& what, const json::Value& expected,
            const json::Value& actual) {
  if (expected == actual) return;
  std::string paths;
  diff_paths("", expected, actual, paths);
  out.push_back(what + ":" + paths);
}

}  // namespace kueue::vectors
