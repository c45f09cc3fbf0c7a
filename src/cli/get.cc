// kueue get: tables made by the server, or the objects themselves; once or followed by a watch.
#include <condition_variable>
#include <mutex>

#include "cli/actions.h"
#include "cli/table.h"
#include "json/json.h"
#include "wire/status.h"

namespace kueue::cli {
namespace {

constexpr const char* kTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

Query query_of(const Context& context, const std::string& name) {
  Query query;
  if (!name.empty()) return query;
  if (context.arguments.given("selector")) {
    query.emplace_back("labelSelector", context.arguments.text("selector"));
  }
  if (context.arguments.given("field-selector")) {
    query.emplace_back("fieldSelector", context.arguments.text("field-selector"));
  }
  return query;
}

std::string scope_of(const Context& context, const Target& target) {
  if (!target.type.namespaced) return "";
  if (context.arguments.is_set("all-namespaces")) return "";
  return namespace_of(context);
}

TableOptions table_options(const Context& context, const Target& target, bool many) {
  TableOptions options;
  options.wide = context.arguments.text("output") == "wide";
  options.show_namespace = context.arguments.is_set("all-namespaces") && target.type.namespaced;
  options.headers = !context.arguments.is_set("no-headers");
  options.show_labels = context.arguments.is_set("show-labels");
  options.label_columns = context.arguments.list("label-columns");
  options.colours = context.terminal.colours();
  if (many) options.name_prefix = target.type.object_name("");
  return options;
}

// Items of a list or the object itself, with apiVersion and kind.
void append_objects(const json::Value& answer, const Target& target, json::Array* out) {
  const json::Value* items = target.name.empty() ? answer.find("items") : nullptr;
  if (items == nullptr || !items->is_array()) {
    out->push_back(answer);
    return;
  }
  for (const json::Value& item : items->as_array()) {
    json::Value object = json::Value::object(
        {{"apiVersion", target.type.api_version()}, {"kind", target.type.kind}});
    for (const auto& [key, value] : item.as_object()) object[key] = value;
    out->push_back(std::move(object));
  }
}

std::string render(const json::Value& value, const std::string& format) {
  return format == "json" ? json::write_pretty(value) + "\n" : json::write_yaml(value);
}

// kubectl hides managedFields unless asked.
void hide_managed_fields(json::Value* object) { object->erase_path({"metadata", "managedFields"}); }

int print_objects(const Context& context, const std::vector<Target>& targets) {
  const std::string format = context.arguments.text("output");
  json::Array objects;
  int code = kOk;
  bool single = targets.size() == 1 && !targets[0].name.empty();
  for (const Target& target : targets) {
    auto answer = context.cluster.request(
        "GET", Cluster::path(target.type, scope_of(context, target), target.name),
        query_of(context, target.name));
    if (!answer.ok()) {
      if (answer.error().code == ErrorCode::kNotFound &&
          context.arguments.is_set("ignore-not-found")) {
        continue;
      }
      code = fail(context.terminal, answer.error());
      continue;
    }
    const size_t before = objects.size();
    append_objects(*answer, target, &objects);
    if (format == "name") {
      for (size_t i = before; i < objects.size(); ++i) {
        context.terminal.out(target.type.object_name(objects[i].get_string({"metadata", "name"})) +
                             "\n");
      }
    }
  }
  if (format == "name") return code;
  if (!context.arguments.is_set("show-managed-fields")) {
    for (json::Value& object : objects) hide_managed_fields(&object);
  }
  if (single) {
    if (!objects.empty()) context.terminal.out(render(objects[0], format));
    return code;
  }
  context.terminal.out(
      render(json::Value::object({{"apiVersion", "v1"},
                                  {"kind", "List"},
                                  {"metadata", json::Value::object({{"resourceVersion", ""}})},
                                  {"items", std::move(objects)}}),
             format));
  return code;
}

// Reads a watch's lines. The command's thread waits in `wait`.
class WatchPrinter final : public wire::StreamReceiver {
 public:
  WatchPrinter(const Context& context, const Target& target, TablePrinter* printer)
      : context_(context), target_(target), printer_(printer) {}

  void on_head(const wire::Response& head) override { status_ = head.status; }
  void on_data(std::string_view chunk) override {
    pending_ += chunk;
    if (status_ != 200) return;
    size_t start = 0;
    for (size_t end; (end = pending_.find('\n', start)) != std::string::npos; start = end + 1) {
      print(std::string_view(pending_).substr(start, end - start));
    }
    pending_.erase(0, start);
    if (context_.terminal.stopped()) finish({});
  }
  void on_end(Result<void> result) override {
    if (status_ != 200 && status_ != 0 && result.ok()) {
      wire::Response response;
      response.status = status_;
      response.body = pending_;
      return finish(wire::error_from_response(response));
    }
    finish(std::move(result));
  }

  Result<void> wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
    return result_;
  }
  const std::string& resource_version() const { return resource_version_; }

 private:
  void finish(Result<void> result) {
    std::lock_guard lock(mutex_);
    if (done_) return;
    done_ = true;
    result_ = std::move(result);
    changed_.notify_all();
  }

  void print(std::string_view line) {
    auto event = json::parse(line, {.max_bytes = 1u << 30});
    if (!event.ok()) return finish(std::move(event).error());
    json::Value* object = event->find("object");
    if (object == nullptr) return;
    const std::string_view type = event->get_string({"type"});
    if (type == "ERROR") {
      wire::Response response;
      response.status = static_cast<int>(object->get_int({"code"}, 500));
      response.body = json::write(*object);
      return finish(wire::error_from_response(response));
    }
    remember_version(*object);
    if (type == "BOOKMARK") return;
    if (printer_ != nullptr) {
      context_.terminal.out(printer_->print(*object));
      return;
    }
    const std::string format = context_.arguments.text("output");
    if (format == "name") {
      context_.terminal.out(target_.type.object_name(object->get_string({"metadata", "name"})) +
                            "\n");
      return;
    }
    hide_managed_fields(object);
    context_.terminal.out((format == "yaml" ? "---\n" : "") + render(*object, format));
  }

  void remember_version(const json::Value& object) {
    std::string_view version = object.get_string({"metadata", "resourceVersion"});
    const json::Value* rows = object.find("rows");
    if (version.empty() && rows != nullptr && rows->is_array() && !rows->as_array().empty()) {
      version = rows->as_array().back().get_string({"object", "metadata", "resourceVersion"});
    }
    if (!version.empty()) resource_version_ = version;
  }

  const Context& context_;
  const Target& target_;
  TablePrinter* printer_;
  int status_ = 0;
  std::string pending_;
  std::string resource_version_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  Result<void> result_;
};

int watch(const Context& context, const Target& target, TablePrinter* printer,
          std::string version) {
  for (;;) {
    wire::Request request;
    request.path = Cluster::path(target.type, scope_of(context, target), "");
    request.query = query_of(context, target.name);
    if (!target.name.empty())
      request.query.emplace_back("fieldSelector", "metadata.name=" + target.name);
    request.query.emplace_back("watch", "true");
    request.query.emplace_back("allowWatchBookmarks", "true");
    request.query.emplace_back("resourceVersion", version);
    request.headers.set("Accept", printer != nullptr ? kTable : "application/json");
    auto receiver = std::make_shared<WatchPrinter>(context, target, printer);
    const auto handle = context.cluster.transport().open_stream(request, receiver);
    const Result<void> result = receiver->wait();
    if (context.terminal.stopped()) return kOk;
    if (!result.ok()) return fail(context.terminal, result.error());
    // The server ends watches now and then; go on from where it ended.
    if (!receiver->resource_version().empty()) version = receiver->resource_version();
  }
}

int print_tables(const Context& context, const std::vector<Target>& targets) {
  int code = kOk;
  bool printed = false;
  bool several_types = false;
  for (const Target& target : targets) {
    several_types = several_types || target.type.full_name() != targets[0].type.full_name();
  }
  std::optional<TablePrinter> printer;
  std::string last_type;
  for (const Target& target : targets) {
    auto answer = context.cluster.request(
        "GET", Cluster::path(target.type, scope_of(context, target), target.name),
        query_of(context, target.name), kTable);
    if (!answer.ok()) {
      const bool ignored = answer.error().code == ErrorCode::kNotFound &&
                           context.arguments.is_set("ignore-not-found");
      if (!ignored) code = fail(context.terminal, answer.error());
      continue;
    }
    if (!printer || last_type != target.type.full_name()) {
      printer.emplace(table_options(context, target, several_types));
    }
    const std::string text = printer->print(*answer);
    if (!text.empty()) {
      if (printed && last_type != target.type.full_name()) context.terminal.out("\n");
      context.terminal.out(text);
      printed = true;
    }
    last_type = target.type.full_name();
    if (context.arguments.is_set("watch")) {
      return watch(context, target, &*printer,
                   std::string(answer->get_string({"metadata", "resourceVersion"})));
    }
  }
  if (!printed && code == kOk && !context.arguments.is_set("ignore-not-found")) {
    const bool everywhere =
        context.arguments.is_set("all-namespaces") || !targets[0].type.namespaced;
    context.terminal.err(everywhere
                             ? "No resources found\n"
                             : "No resources found in " + namespace_of(context) + " namespace.\n");
  }
  return code;
}

}  // namespace

int run_get(const Context& context) {
  auto targets = read_targets(context.cluster, context.arguments.positional());
  if (!targets.ok()) return fail(context.terminal, targets.error());
  const std::string format = context.arguments.text("output");
  const bool table = format.empty() || format == "wide";
  if (context.arguments.is_set("watch")) {
    if (targets->size() != 1) {
      return usage_error(context.terminal, "--watch follows one resource type or one object");
    }
    if (!table) {
      const Target& target = targets->front();
      auto list = context.cluster.request(
          "GET", Cluster::path(target.type, scope_of(context, target), ""), query_of(context, ""));
      if (!list.ok()) return fail(context.terminal, list.error());
      const int code = print_objects(context, *targets);
      if (code != kOk) return code;
      return watch(context, target, nullptr,
                   std::string(list->get_string({"metadata", "resourceVersion"})));
    }
  }
  for (const Target& target : *targets) {
    if (!target.name.empty() && context.arguments.is_set("all-namespaces") &&
        target.type.namespaced) {
      return usage_error(context.terminal,
                         "a resource cannot be retrieved by name across all namespaces");
    }
  }
  return table ? print_tables(context, *targets) : print_objects(context, *targets);
}

}  // namespace kueue::cli
