#include "app/replay.h"

#include <fstream>
#include <sstream>

#include "bridge/snapshot_json.h"
#include "cli/commands.h"
#include "json/json.h"

namespace kueue::app {
namespace {

Result<std::string> read_input(const std::string& path, cli::Terminal& terminal) {
  if (path == "-") return terminal.read_input();
  std::ifstream in(path, std::ios::binary);
  if (!in) return make_error(ErrorCode::kNotFound, path + ": cannot be read");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Result<bridge::Dump> load(const std::string& path, cli::Terminal& terminal) {
  KUEUE_ASSIGN(const std::string text, read_input(path, terminal));
  KUEUE_ASSIGN(const json::Value document, json::parse(text));
  return bridge::read_dump(document);
}

}  // namespace

int run_replay(const cli::Arguments& arguments, cli::Terminal& terminal) {
  Result<bridge::Dump> dump = load(arguments.positional().front(), terminal);
  if (!dump.ok()) {
    terminal.err("error: " + dump.error().message + "\n");
    return cli::kFailed;
  }
  std::unique_ptr<engine::State> state = engine::restore(dump->snapshot);
  if (dump->input.now.is_zero()) dump->input.now = dump->snapshot.now;
  engine::Plan plan = engine::plan(*state, dump->input);
  // What stood against those that wait, in the state before the cycle.
  std::unique_ptr<engine::State> before = engine::restore(dump->snapshot);
  const bool as_json = arguments.text("output") == "json";
  json::Value document = bridge::plan_json(plan);
  std::string text = bridge::plan_text(plan);
  json::Array whys;
  for (const engine::Decision& d : plan.why.decisions) {
    if (d.status == engine::EntryStatus::kAssumed) continue;
    engine::Why why = engine::explain(*before, d.key);
    if (as_json)
      whys.push_back(bridge::why_json(why));
    else
      text += "\n" + bridge::why_text(why);
  }
  document["explanations"] = std::move(whys);
  terminal.out(as_json ? json::write(document) + "\n" : text);
  return cli::kOk;
}

}  // namespace kueue::app
