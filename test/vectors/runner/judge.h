// Judges: what turns one case of a vector file into a list of differences. A judge is found by the
// case's kind and, for table cases, by the routine it calls or by its area and subject. A case that
// no judge takes is reported as not judged, never as passed. One thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

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

  // By kind (cycle, tasPlacement, …), by "kind call" or by "kind area/subject"; the most exact one
  // is taken.
  void add(const std::string& what, Judge judge) { by_name_[what] = std::move(judge); }

 private:
  std::map<std::string, Judge> by_name_;
};

// Each adds the judges of one part.
void add_scheduling_judges(Judges& judges);
void add_reconcile_judges(Judges& judges);
void add_table_judges(Judges& judges);

// --- shared by judges
// Without null, empty, 0 and false members.
json::Value pruned(const json::Value& value);
// Appends "WHAT:" with the paths at which the values differ; nothing when they are equal.
void differ(Differences& out, const std::string& what, const json::Value& expected,
            const json::Value& actual);

}  // namespace kueue::vectors
