// What the journal is told: the decisions of scheduling cycles, with who takes part in them, and
// what changes in Workload objects, whoever wrote it.
#pragma once

#include "api/kueue.h"
#include "controllers/journal/journal.h"
#include "controllers/stores.h"
#include "engine/engine.h"

namespace kueue::controllers {

// Decisions of a cycle about Workloads that are still there.
void note_plan(Journal& journal, Stores& stores, const engine::Plan& plan, Instant now);
// A decision that could not be written and was taken back.
void note_failed_write(Journal& journal, Stores& stores, const engine::Command& command,
                       Instant now);
// One change of a Workload; null `now` = it was deleted and is forgotten. A Workload that is seen
// for the first time tells nothing.
void note_change(Journal& journal, const v1beta2::Workload* old, const v1beta2::Workload* now,
                 Instant time);

}  // namespace kueue::controllers
