#include "apiserver/table.h"

#include "apiserver/core.h"
#include "apiserver/json_path.h"
#include "apiserver/json_scan.h"
#include "apiserver/table_cells.h"
#include "apiserver/view.h"
#include "base/age.h"
#include "json/json.h"

namespace kueue::apiserver {

namespace {

json::Value definition(std::string_view name, std::string_view type, std::string_view format,
                       int32_t priority, std::string_view doc) {
  return json::Value::object({{"name", name},
                              {"type", type},
                              {"format", format},
                              {"description", doc},
                              {"priority", priority}});
}

constexpr schema::PrinterColumn kAge{
    .name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"};

// Custom resources without columns of their own show their age.
std::vector<schema::PrinterColumn> printer_columns(const Served& served) {
  if (served.info->columns.empty()) return {kAge};
  return {served.info->columns.begin(), served.info->columns.end()};
}

json::Value custom_cell(const json::Value& object, const schema::PrinterColumn& column,
                        Instant now) {
  const json::Value* found = json_path_first(column.json_path, object);
  if (found == nullptr || found->is_null()) return {};
  if (column.type == "date") {
    const auto time = parse_time(found->string_or(""));
    if (!time.ok()) return json::Value("<invalid>");
    return json::Value(human_duration(now - *time));
  }
  if (column.type == "string") {
    if (found->is_string()) return *found;
    return json::Value(json::write(*found));
  }
  if (column.type == "integer" && found->is_number() && !found->is_int())
    return json::Value(static_cast<int64_t>(found->as_double()));
  if (column.type == "boolean" && !found->is_bool()) return {};
  if ((column.type == "integer" || column.type == "number") && !found->is_number()) return {};
  return *found;
}

}  // namespace

Result<RowObject> row_object(const Call& call) {
  const std::string_view text = call.request.query_value("includeObject");
  if (text.empty() || text == "Metadata") return RowObject::kMetadata;
  if (text == "None") return RowObject::kNone;
  if (text == "Object") return RowObject::kObject;
  return make_error(ErrorCode::kBadRequest,
                    "unrecognized includeObject value: \"" + std::string(text) + "\"");
}

std::string column_definitions(const Served& served) {
  json::Array definitions;
  if (served.resource->custom()) {
    definitions.push_back(definition("Name", "string", "name", 0, ""));
    for (const schema::PrinterColumn& c : printer_columns(served))
      definitions.push_back(definition(c.name, c.type, c.format, c.priority, c.doc));
    return json::write(json::Value(std::move(definitions)));
  }
  if (const BuiltinTable* table = builtin_table(served.info->group, served.info->plural)) {
    for (const schema::PrinterColumn& c : table->columns)
      definitions.push_back(definition(c.name, c.type, c.format, c.priority, c.doc));
  } else {
    definitions.push_back(definition("Name", "string", "name", 0, ""));
    definitions.push_back(definition("Created At", "date", "", 0, ""));
  }
  return json::write(json::Value(std::move(definitions)));
}

std::string table_row(const Served& served, std::string_view text, RowObject include,
                      std::string_view meta_version, Instant now) {
  const auto parsed = json::parse(text);
  json::Array cells;
  if (parsed.ok()) {
    if (served.resource->custom()) {
      cells.emplace_back(parsed->get_string({"metadata", "name"}));
      for (const schema::PrinterColumn& c : printer_columns(served))
        cells.push_back(custom_cell(*parsed, c, now));
    } else if (const BuiltinTable* table = builtin_table(served.info->group, served.info->plural)) {
      cells = table->cells(*parsed, now);
    } else {
      cells.emplace_back(parsed->get_string({"metadata", "name"}));
      cells.emplace_back(parsed->get_string({"metadata", "creationTimestamp"}));
    }
  }
  std::string row = "{\"cells\":" + json::write(json::Value(std::move(cells))) + ",\"object\":";
  switch (include) {
    case RowObject::kMetadata:
      row += partial_text(text, meta_version);
      break;
    case RowObject::kNone:
      row += "null";
      break;
    case RowObject::kObject:
      row += text;
      break;
  }
  return row + "}";
}

std::string table_head(std::string_view meta_version, std::string_view list_metadata,
                       std::string_view definitions) {
  std::string text = "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/";
  text.append(meta_version).append("\",\"metadata\":").append(list_metadata);
  text.append(",\"columnDefinitions\":").append(definitions).append(",\"rows\":[");
  return text;
}

std::string render_form(const Call& call, std::string_view text) {
  if (call.output.form == Output::Form::kPartial) return partial_text(text, call.output.version);
  const std::string metadata =
      "{\"resourceVersion\":" + std::string(scan_path(text, {"metadata", "resourceVersion"})) + "}";
  return table_head(call.output.version, metadata, column_definitions(*call.served)) +
         table_row(*call.served, text, RowObject::kMetadata, call.output.version,
                   call.core->now()) +
         "]}";
}

}  // namespace kueue::apiserver
