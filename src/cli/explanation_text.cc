// The explanation of a Workload as text.
#include <algorithm>

#include "base/age.h"
#include "cli/explanation.h"
#include "cli/table.h"
#include "json/lists.h"

namespace kueue::cli {
namespace {

constexpr size_t kTitles = 12;  // columns of "State:", "Queue:", ...

// One line of the text at blanks; what follows stands under where the line's own text begins.
void wrap_line(std::string_view line, size_t width, size_t hang, std::string& out) {
  if (hang == 0) {
    const size_t blanks = std::min(line.find_first_not_of(' '), line.size());
    hang = blanks == 0 ? kTitles : blanks + 2;
  }
  if (hang + 20 > width) hang = 4;  // a narrow terminal
  for (bool first = true;; first = false) {
    const size_t room = first ? width : width - hang;
    if (!first) out.append(hang, ' ');
    size_t end = line.size();
    if (display_width(line) > room) {
      end = line.rfind(' ', room);
      const size_t text = line.find_first_not_of(' ');
      if (end == std::string_view::npos || end <= text || (first && end < hang))
        end = std::min(line.find(' ', room), line.size());
    }
    (out += line.substr(0, end)) += '\n';
    if (end >= line.size()) return;
    line.remove_prefix(std::min(line.find_first_not_of(' ', end), line.size()));
    if (line.empty()) return;
  }
}

// `hang` 0 = by each line's own indentation.
std::string wrapped(std::string_view text, size_t width, size_t hang = 0) {
  if (width == 0) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    wrap_line(text.substr(0, end), width, hang, out);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string ago(std::string_view time) {
  const auto parsed = parse_time(time);
  return parsed.ok() ? human_duration(system_clock().now() - *parsed) : "<unknown>";
}

std::string in(std::string_view time) {
  const auto parsed = parse_time(time);
  if (!parsed.ok()) return std::string(time);
  const Duration left = *parsed - system_clock().now();
  return std::string(time) + (left.ns > 0 ? " (in " + human_duration(left) + ")" : " (now)");
}

std::string joined(const json::Array& texts, std::string_view between) {
  std::string out;
  for (const json::Value& text : texts)
    out += (out.empty() ? "" : std::string(between)) + std::string(text.string_or(""));
  return out;
}

void add_line(std::string_view title, const std::string& text, std::string& out) {
  std::string line = std::string(title) + ":";
  line.resize(std::max(line.size() + 1, kTitles), ' ');
  out += line + text + "\n";
}

void add_head(const json::Value& e, bool colours, std::string& out) {
  const auto text = [&](std::string_view member) { return std::string(e.get_string({member})); };
  add_line("Workload",
           std::string(e.get_string({"metadata", "namespace"})) + "/" +
               std::string(e.get_string({"metadata", "name"})),
           out);
  const std::string state = text("state");
  add_line("State",
           (state == "Admitted" || state == "Finished" ? green(state, colours)
                                                       : yellow(state, colours)) +
               ": " + text("summary"),
           out);
  std::string queue = text("localQueue");
  if (!text("clusterQueue").empty()) queue += " -> ClusterQueue " + text("clusterQueue");
  if (!queue.empty())
    add_line("Queue", queue + ", priority " + std::to_string(e.get_int({"priority"})), out);
  if (e.find("position") != nullptr) {
    std::string place = std::to_string(e.get_int({"position", "clusterQueue"}) + 1) + " of " +
                        std::to_string(e.get_int({"position", "waiting"})) + ", " +
                        text("standing");
    const json::Array& before = json::list_at(*e.find("position"), {"rightBefore"});
    if (!before.empty()) place += "; right before it: " + joined(before, ", ");
    add_line("Position", place, out);
  }
  if (const std::string_view at = e.get_string({"start", "at"}); !at.empty()) {
    add_line("Starts",
             in(at) + ": " + std::string(e.get_string({"start", "basis"})) + ", if " +
                 std::string(e.get_string({"start", "assumes"})),
             out);
  } else if (const auto never = e.get_string({"start", "never"}); !never.empty()) {
    add_line("Starts", "never with the present quota and flavors: " + std::string(never), out);
  } else if (const auto why = e.get_string({"start", "unknown"}); !why.empty()) {
    add_line("Starts", "unknown: " + std::string(why), out);
  }
}

void add_flavor(const json::Value& set, const json::Value& flavor, std::string& out) {
  const auto text = [](const json::Value& from, std::string_view member) {
    return std::string(from.get_string({member}));
  };
  const std::string failed = text(flavor, "firstFailure");
  out += "  " + text(set, "podSet") + ", flavor " + text(flavor, "flavor") + ": " +
         (failed.empty() ? "fits" : failed) + "\n";
  for (const json::Value& quota : json::list_at(flavor, {"quota"})) {
    out += "    " + text(quota, "resource") + ": wants " + text(quota, "requested") + ", " +
           text(quota, "available") + " free of at most " + text(quota, "capacity");
    std::string holders;
    for (const json::Value& holder : json::list_at(quota, {"holders"})) {
      holders += (holders.empty() ? "; held by " : ", ") + text(holder, "clusterQueue") + " " +
                 text(holder, "used");
      if (text(holder, "borrowed") != "0")
        holders += " (" + text(holder, "borrowed") + " borrowed)";
    }
    out += holders + "\n";
  }
  for (const json::Value& victim : json::list_at(flavor, {"victims"}))
    out += "    may preempt " + text(victim, "workload") + " (" + text(victim, "reason") + ")\n";
  if (const std::string why = text(flavor, "whyNoPreemption"); !why.empty())
    out += "    no preemption: " + why + "\n";
  for (const json::Value& level : json::list_at(flavor, {"levels"}))
    for (const json::Value& domain : json::list_at(level, {"domains"}))
      out += "    " + text(level, "level") + ": room for " +
             std::to_string(domain.get_int({"pods"})) + " pods in " +
             joined(json::list_at(domain, {"values"}), " ") + "\n";
}

void add_history(const json::Value& e, size_t width, std::string& out) {
  const std::string since(e.get_string({"historySince"}));
  if (json::list_at(e, {"history"}).empty() && since.empty()) return;
  out += "\nHistory";
  if (const int64_t dropped = e.get_int({"historyDropped"}); dropped > 0)
    out += " (" + std::to_string(dropped) + " older ones are no longer kept)";
  out += ":\n";
  if (!since.empty())
    out += wrapped("  It goes back to the start of the manager " + ago(since) +
                       " ago; of what was before, conditions and events tell: kueue describe "
                       "workload " +
                       std::string(e.get_string({"metadata", "name"})) + "\n",
                   width);
  if (json::list_at(e, {"history"}).empty()) return;
  std::vector<std::vector<std::string>> rows = {{"  Age", "What", "Message"}};
  for (const json::Value& entry : json::list_at(e, {"history"})) {
    const int64_t count = entry.get_int({"count"}, 1);
    std::string age = "  " + ago(entry.get_string({"time"}));
    if (count > 1)
      age = "  " + ago(entry.get_string({"lastTime"})) + " (x" + std::to_string(count) + " over " +
            ago(entry.get_string({"time"})) + ")";
    std::string message(entry.get_string({"message"}));
    if (const auto other = entry.get_string({"workload"}); !other.empty()) {
      const bool victim = entry.get_string({"what"}) == "Preempted";
      message = (victim ? "for " : "") + std::string(other) + ": " + message;
    }
    rows.push_back({age, std::string(entry.get_string({"what"})), message});
  }
  std::vector<size_t> widths;
  const std::string table = format_rows(rows, &widths);
  out += wrapped(table, width, widths[0] + widths[1] + 6);
}

// Pods that have their quota and no node.
void add_pods(const json::Value& e, std::string& out) {
  const json::Value* pods = e.find("podsWithoutNode");
  if (pods == nullptr) return;
  for (const json::Value& reason : json::list_at(*pods, {"reasons"})) {
    const int64_t count = reason.get_int({"count"});
    add_line("Pods",
             std::to_string(count) + (count == 1 ? " has" : " have") +
                 " no node: " + std::string(reason.get_string({"message"})) + " (" +
                 std::string(reason.get_string({"example"})) + (count > 1 ? ", ..." : "") + ")",
             out);
  }
}

}  // namespace

std::string explanation_text(const json::Value& e, bool colours, size_t width) {
  std::string out;
  add_head(e, colours, out);
  add_pods(e, out);
  for (const json::Value& check : json::list_at(e, {"admissionChecks"})) {
    std::string text =
        std::string(check.get_string({"name"})) + " is " + std::string(check.get_string({"state"}));
    for (const char* member : {"message", "problem"})
      if (const auto more = check.get_string({member}); !more.empty())
        text += ": " + std::string(more);
    add_line("Check", text, out);
  }
  for (const json::Value& victim : json::list_at(e, {"preempting"}))
    add_line("Preempting",
             std::string(victim.get_string({"workload"})) + ", told to go " +
                 ago(victim.get_string({"since"})) + " ago" +
                 (victim.get_bool({"givenUp"}) ? ", given up on" : ""),
             out);
  std::string flavors;
  for (const json::Value& set : json::list_at(e, {"podSets"}))
    for (const json::Value& flavor : json::list_at(set, {"flavors"}))
      add_flavor(set, flavor, flavors);
  if (!flavors.empty()) out += "\nFlavors, in the order they are tried:\n" + flavors;
  if (!json::list_at(e, {"changes"}).empty()) out += "\nWould help:\n";
  for (const json::Value& change : json::list_at(e, {"changes"}))
    out += "  - " + std::string(change.string_or("")) + "\n";
  out = wrapped(out, width);
  add_history(e, width, out);
  return out;
}

}  // namespace kueue::cli
