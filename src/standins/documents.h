// What all stand-ins share: Pods, Nodes and Jobs as the documents they are, watched by informers,
// and small questions about them. Pure functions, thread safe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "json/value.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "wire/selector.h"

namespace kueue::standins {

struct Document {
  json::Value json;
};

using DocumentInformer = kube::Informer<Document>;
using DocumentPtr = DocumentInformer::Ptr;

kube::Resource pods();
kube::Resource nodes();
kube::Resource jobs();

std::unique_ptr<DocumentInformer> make_informer(std::shared_ptr<kube::Client> client,
                                                kube::Executor& executor, kube::Resource resource);

kube::ObjectKey key_of(const json::Value& object);
std::string uid_of(const json::Value& object);
// uid of the owner with controller: true, "" when there is none.
std::string controller_uid(const json::Value& object);
bool is_deleting(const json::Value& object);
bool has_finalizer(const json::Value& object, std::string_view finalizer);
wire::LabelMap labels_of(const json::Value& object);

std::string_view phase_of(const json::Value& pod);  // "Pending" when absent
// Succeeded or Failed.
bool is_terminal(const json::Value& pod);
// Bound, or "" before.
std::string_view node_of(const json::Value& pod);
// The condition of that type has status True.
bool condition_true(const json::Value& object, std::string_view type);

// Puts the condition into a list of conditions; lastTransitionTime is kept while the status stays.
// True when anything changed. Conditions of Jobs carry the time of the probe too.
bool set_condition(json::Array& conditions, std::string_view type, std::string_view status,
                   std::string_view reason, std::string_view message, Instant now,
                   bool with_probe_time = false);

}  // namespace kueue::standins
