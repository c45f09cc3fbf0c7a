// Reading objects of the simulated cluster. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "json/value.h"
#include "sim/cluster.h"

namespace kueue::sim {

// flavor, resource -> amount; cpu in millicores.
using Amounts = std::map<std::pair<std::string, std::string>, int64_t>;

std::string name_of(const json::Value& object);
std::string namespace_of(const json::Value& object);
std::string uid_of(const json::Value& object);
bool deleting(const json::Value& object);
// nullptr when there is none.
const json::Value* condition(const json::Value& object, std::string_view type);
bool is_true(const json::Value& object, std::string_view type);
std::string reason(const json::Value& object, std::string_view type);  // "" when absent
// As JSON, without the parts that are long and say little.
std::string brief(const json::Value& object);
// 0 when it has none of it.
int64_t of(const Amounts& amounts, const Amounts::key_type& key);
// "3" -> 3000 for cpu.
int64_t amount(const json::Value* quantity, std::string_view resource);
// Holds quota: QuotaReserved and an admission, not finished.
bool reserves(const json::Value& workload);
// As far as ClusterQueues count: that of a deactivated Workload is free at once, as in Kueue,
// though its pods still end.
bool counts(const json::Value& workload);
bool unfinished(const json::Value& workload);
// Of a ClusterQueue or LocalQueue: its stopPolicy holds.
bool stopped(const json::Value& queue);
// Pods of the pod set that have ended and give back what they got.
int64_t reclaimed(const json::Value& workload, std::string_view pod_set);
// Pods of the pod set that its spec asks for, without those that have ended; 0 when it has no such.
int64_t count_to_run(const json::Value& workload, std::string_view pod_set);
// What its admission charges after reclaimable pods.
Amounts charge(const json::Value& workload);
// The Workload that a job owns and that is not finished, else any that it owns; nullptr.
const json::Value* workload_of(const Cluster& cluster, const json::Value& job);
const json::Value* job_of(const Cluster& cluster, const json::Value& workload);
bool job_finished(const json::Value& job);

}  // namespace kueue::sim
