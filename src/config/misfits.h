// Where a document does not fit the table of its type. Pure; thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "schema/type.h"

namespace kueue::config {

struct Misfit {
  std::string path;       // "metrics.bindAdress", "integrations.frameworks[1]"
  std::string rule;       // "must be a whole number, not the text \"abc\""; "" for unknown fields
  std::string_view near;  // of an unknown field: the name it may mean, "" when none is near
  bool unknown() const { return rule.empty(); }
};

// Every one, unknown fields first, each by path. They are taken out of the document: members
// are removed, items of lists become null.
std::vector<Misfit> take_misfits(const schema::Type& type, json::Value& document);

}  // namespace kueue::config
