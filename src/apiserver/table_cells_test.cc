#include "apiserver/table_cells.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace kueue::apiserver {
namespace {

const Instant kNow = parse_time("2026-03-01T12:00:00Z").value();

// The cells joined by " | ".
std::string row(std::string_view group, std::string_view plural, std::string_view object) {
  Result<json::Value> parsed = json::parse(object);
  EXPECT_TRUE(parsed.ok()) << object;
  const BuiltinTable* table = builtin_table(group, plural);
  EXPECT_NE(table, nullptr);
  std::vector<json::Value> cells = table->cells(*parsed, kNow);
  EXPECT_EQ(cells.size(), table->columns.size());
  std::string text;
  for (const json::Value& cell : cells)
    text += (text.empty() ? "" : " | ") + (cell.is_string() ? cell.as_string() : json::write(cell));
  return text;
}

TEST(Cells, Pods) {
  EXPECT_EQ(row("", "pods", R"({"metadata":{"name":"p","creationTimestamp":"2026-03-01T11:59:00Z"},
      "spec":{"nodeName":"n1","containers":[{"name":"a"},{"name":"b"}]},
      "status":{"phase":"Running","podIP":"10.0.0.1","containerStatuses":[
        {"name":"a","ready":true,"restartCount":2,"state":{"running":{}},"lastState":{"terminated":{"finishedAt":"2026-03-01T11:59:50Z"}}},
        {"name":"b","ready":false,"restartCount":0,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}})"),
            "p | 1/2 | CrashLoopBackOff | 2 (10s ago) | 60s | 10.0.0.1 | n1 | <none> | <none>");
  EXPECT_EQ(row("", "pods", R"({"metadata":{"name":"p","creationTimestamp":"2026-03-01T11:59:00Z"},
      "spec":{"containers":[{"name":"a"}]},"status":{"phase":"Pending","conditions":[
        {"type":"PodScheduled","status":"False","reason":"SchedulingGated"}]}})"),
            "p | 0/1 | SchedulingGated | 0 | 60s | <none> | <none> | <none> | <none>");
  EXPECT_EQ(row("", "pods", R"({"metadata":{"name":"p","creationTimestamp":"2026-03-01T11:59:00Z"},
      "spec":{"containers":[{"name":"a"}]},"status":{"phase":"Succeeded","containerStatuses":[
        {"name":"a","state":{"terminated":{"exitCode":0,"reason":"Completed"}}}]}})"),
            "p | 0/1 | Completed | 0 | 60s | <none> | <none> | <none> | <none>");
  EXPECT_EQ(row("", "pods", R"({"metadata":{"name":"p","creationTimestamp":"2026-03-01T11:59:00Z"},
      "spec":{"initContainers":[{"name":"i"},{"name":"j"}],"containers":[{"name":"a"}]},
      "status":{"phase":"Pending","initContainerStatuses":[
        {"name":"i","state":{"terminated":{"exitCode":0}}},{"name":"j","state":{"running":{}}}]}})"),
            "p | 0/1 | Init:1/2 | 0 | 60s | <none> | <none> | <none> | <none>");
}

TEST(Cells, Jobs) {
  EXPECT_EQ(
      row("batch", "jobs", R"({"metadata":{"name":"j","creationTimestamp":"2026-03-01T11:00:00Z"},
      "spec":{"parallelism":3,"completions":6,"selector":{"matchLabels":{"u":"1"}},
              "template":{"spec":{"containers":[{"name":"main","image":"busybox"}]}}},
      "status":{"succeeded":2,"startTime":"2026-03-01T11:59:30Z"}})"),
      "j | Running | 2/6 | 30s | 60m | main | busybox | u=1");
  EXPECT_EQ(
      row("batch", "jobs", R"({"metadata":{"name":"j","creationTimestamp":"2026-03-01T11:00:00Z"},
      "spec":{"parallelism":3},"status":{"conditions":[{"type":"Suspended","status":"True"}]}})"),
      "j | Suspended | 0/1 of 3 |  | 60m |  |  | <none>");
}

TEST(Cells, OtherKinds) {
  EXPECT_EQ(
      row("", "configmaps",
          R"({"metadata":{"name":"c","creationTimestamp":"2026-03-01T11:59:00Z"},"data":{"a":"1","b":"2"}})"),
      "c | 2 | 60s");
  EXPECT_EQ(
      row("", "nodes",
          R"({"metadata":{"name":"n","creationTimestamp":"2026-03-01T11:59:00Z","labels":{"node-role.kubernetes.io/gpu":""}},
      "spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready","status":"True"}],"nodeInfo":{"kubeletVersion":"v1.36.3"}}})"),
      "n | Ready,SchedulingDisabled | gpu | 60s | v1.36.3 | <none> | <none> | <unknown> | "
      "<unknown> | <unknown>");
  EXPECT_EQ(
      row("", "services", R"({"metadata":{"name":"s","creationTimestamp":"2026-03-01T11:59:00Z"},
      "spec":{"type":"NodePort","clusterIP":"10.0.0.7","ports":[{"port":80,"nodePort":30000,"protocol":"TCP"}],"selector":{"app":"web"}}})"),
      "s | NodePort | 10.0.0.7 | <none> | 80:30000/TCP | 60s | app=web");
  EXPECT_EQ(
      row("events.k8s.io", "events",
          R"({"metadata":{"name":"e"},"eventTime":"2026-03-01T11:59:50.000000Z","type":"Normal","reason":"R",
      "regarding":{"kind":"Job","name":"j"},"note":"done","reportingController":"c","reportingInstance":"i","series":{"count":3,"lastObservedTime":"2026-03-01T11:59:58.000000Z"}})"),
      "2s | Normal | R | job/j |  | c, i | done | 10s | 3 | e");
  EXPECT_EQ(builtin_table("", "nothing"), nullptr);
}

}  // namespace
}  // namespace kueue::apiserver
