// Judges: what turns one case of a vector file into a list of differences. A judge is found by the
// case's kind and, for table cases, by the routine it calls or by its area and subject. A case that
// no judge takes is reported as not judged, never as passed. One thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/amount.h"
#include "base/feature_gates.h"
#include "base/result.h"
#include "json/value.h"

namespace kueue::vectors {

// What differs, one text each: "step 3 usage: …". Empty = as recorded.
using Differences = std::vector<std::string>;
using Judge = std::function<Differences(const json::Value& test)>;

struct Case {
  std::string id;
  std::string kind;     // of the case, or of its file
  std::string subject;  // "area/subject" of a table case, by its id; "" otherwise
  std::string call;     // input.call, input.controller or "" (several steps)
};

class Judges {
 public:
  Judges();
  // nullptr when nobody can judge it.
  const Judge* find(const Case& test) const;
  // Under which names a judge is looked for, the most exact first.
  static std::vector<std::string> names_of(const Case& test);

  // By "kind area/subject", "kind call", "kind area" or kind (cycle, tasPlacement, …); the most
  // exact one is taken.
  void add(const std::string& what, Judge judge) { by_name_[what] = std::move(judge); }

 private:
  std::map<std::string, Judge> by_name_;
};

// Each adds the judges of one part.
void add_scheduling_judges(Judges& judges);
void add_reconcile_judges(Judges& judges);
void add_table_judges(Judges& judges);
void add_hook_judges(Judges& judges);
void add_configuration_judges(Judges& judges);
void add_quota_judges(Judges& judges);
void add_queue_judges(Judges& judges);
void add_amount_judges(Judges& judges);
void add_ledger_judges(Judges& judges);
void add_workload_judges(Judges& judges);
void add_job_judges(Judges& judges);
void add_pending_judges(Judges& judges);
void add_slice_judges(Judges& judges);

// --- shared by judges
// The value at a path; null when there is none.
const json::Value& at(const json::Value& value, std::initializer_list<std::string_view> path);
// An argument of the routine that a case calls.
const json::Value& argument(const json::Value& test, std::string_view name);
// Its items; none for null and for what is absent.
const json::Array& items(const json::Value& value);
// Its members; none for null and for what is absent.
const json::Object& members(const json::Value& value);
// The calls of a case, each with "call", "args" and "expect"; a case of one call is that call.
json::Array steps_of(const json::Value& test);
// An amount as vectors write it: a number, or a text for an unlimited one.
Amount amount_of(const json::Value& value);
json::Value amount_json(Amount amount);
// 0 when it is no number.
double number(const json::Value& value);
// Gates that the case sets, on top of the defaults.
FeatureGates gates_of(const json::Value& test);
// What is pruned counts as equal.
Differences compared(const json::Value& expected, const json::Value& actual);
// Against expect.result.
Differences compared_result(const json::Value& test, const json::Value& actual);
// Field errors: types, fields and order, then the detail that ends each message.
Differences compared_errors(const json::Value& expected, const std::vector<ErrorCause>& actual);
// Against expect.error: both or none. True when there is nothing more to compare.
bool compared_error(const json::Value& test, const Result<void>& actual, Differences& out);
// The same, and the message is that of expect.error.text.
bool compared_error_text(const json::Value& test, const Result<void>& actual, Differences& out);
// Without null, empty, 0 and false members.
json::Value pruned(const json::Value& value);
// Appends "WHAT:" with the paths at which the values differ; nothing when they are equal.
void differ(Differences& out, const std::string& what, const json::Value& expected,
            const json::Value& actual);

}  // namespace kueue::vectors
