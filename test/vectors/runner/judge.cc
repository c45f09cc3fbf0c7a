#include "judge.h"

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
}

const Judge* Judges::find(const Case& test) const {
  for (const std::string& name :
       {test.kind + " " + test.subject, test.kind + " " + test.call, test.kind})
    if (auto it = by_name_.find(name); it != by_name_.end()) return &it->second;
  return nullptr;
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
