// Small texts that several kinds' table cells share. Pure, thread safe.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "json/value.h"

namespace kueue::apiserver {

const json::Array& table_list(const json::Value& object,
                              std::initializer_list<std::string_view> path);
// Text or number at the path; `fallback` when absent or empty.
std::string table_text(const json::Value& object, std::initializer_list<std::string_view> path,
                       std::string_view fallback = "");
std::string object_name(const json::Value& object);
std::string object_age(const json::Value& object, Instant now);
// "a,b" of one member of each element of a list.
std::string joined(const json::Value& object, std::initializer_list<std::string_view> path,
                   std::string_view member);
// "a=1,b in (x,y)" of a LabelSelector or of a plain map; "<none>" when it is empty.
std::string selector_text(const json::Value* selector);

std::vector<json::Value> pod_cells(const json::Value& pod, Instant now);
std::vector<json::Value> node_cells(const json::Value& node, Instant now);
std::vector<json::Value> service_cells(const json::Value& service, Instant now);
std::vector<json::Value> event_cells(const json::Value& event, Instant now);
std::vector<json::Value> job_cells(const json::Value& job, Instant now);
std::vector<json::Value> cron_job_cells(const json::Value& job, Instant now);

}  // namespace kueue::apiserver
