// Laying out tables.
#include "cli/table.h"

#include <algorithm>

#include "cli/terminal.h"
#include "json/json.h"

namespace kueue::cli {
namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  }
  return out;
}

std::string cell_text(const json::Value& cell) {
  if (cell.is_null()) return "";
  if (cell.is_string()) {
    // A cell is one line.
    std::string text = cell.as_string();
    const size_t line_break = text.find_first_of("\r\n");
    if (line_break != std::string::npos) text = text.substr(0, line_break) + "...";
    return text;
  }
  return json::write(cell);
}

std::string label_text(const json::Value* labels) {
  if (labels == nullptr || !labels->is_object() || labels->as_object().empty()) return "<none>";
  std::vector<std::string> parts;
  for (const auto& [key, value] : labels->as_object()) {
    parts.push_back(key + "=" + std::string(value.string_or("")));
  }
  std::sort(parts.begin(), parts.end());
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

}  // namespace

size_t display_width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string format_rows(const std::vector<std::vector<std::string>>& rows,
                        std::vector<size_t>* widths) {
  for (const auto& row : rows) {
    if (widths->size() < row.size()) widths->resize(row.size());
    for (size_t i = 0; i < row.size(); ++i) {
      (*widths)[i] = std::max((*widths)[i], display_width(row[i]));
    }
  }
  std::string out;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out.append((*widths)[i] - display_width(row[i]) + 3, ' ');
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
    out += '\n';
  }
  return out;
}

std::vector<std::string> TablePrinter::header_of(const json::Value& columns) {
  std::vector<std::string> header;
  shown_.clear();
  if (options_.show_namespace) header.emplace_back("NAMESPACE");
  for (const json::Value& column : columns.as_array()) {
    const bool shown = options_.wide || column.get_int({"priority"}) == 0;
    shown_.push_back(shown);
    if (shown) header.push_back(upper(column.get_string({"name"})));
  }
  for (const std::string& label : options_.label_columns) {
    header.push_back(upper(label.substr(label.rfind('/') + 1)));
  }
  if (options_.show_labels) header.emplace_back("LABELS");
  return header;
}

std::vector<std::string> TablePrinter::cells_of(const json::Value& row) {
  std::vector<std::string> cells;
  const json::Value* object = row.find("object");
  static const json::Value none;
  if (object == nullptr) object = &none;
  if (options_.show_namespace) cells.emplace_back(object->get_string({"metadata", "namespace"}));
  const json::Value* values = row.find("cells");
  bool first = true;
  for (size_t i = 0; i < shown_.size(); ++i) {
    if (!shown_[i]) continue;
    std::string text = values != nullptr && values->is_array() && i < values->as_array().size()
                           ? cell_text(values->as_array()[i])
                           : "";
    if (first) text = options_.name_prefix + text;
    first = false;
    cells.push_back(std::move(text));
  }
  const json::Value* labels = object->find_path({"metadata", "labels"});
  for (const std::string& label : options_.label_columns) {
    cells.emplace_back(labels != nullptr ? labels->get_string({label}) : "");
  }
  if (options_.show_labels) cells.push_back(label_text(labels));
  return cells;
}

std::string TablePrinter::print(const json::Value& table) {
  const json::Value* columns = table.find("columnDefinitions");
  if (columns != nullptr && columns->is_array() && !columns->as_array().empty()) {
    header_ = header_of(*columns);
  }
  std::vector<std::vector<std::string>> rows;
  const bool print_header = options_.headers && !header_printed_;
  if (print_header) rows.push_back(header_);
  const json::Value* list = table.find("rows");
  if (list != nullptr && list->is_array()) {
    for (const json::Value& row : list->as_array()) rows.push_back(cells_of(row));
  }
  if (rows.size() == (print_header ? 1u : 0u)) return "";
  header_printed_ = true;
  std::string text = format_rows(rows, &widths_);
  if (print_header && options_.colours) {
    const size_t end = text.find('\n');
    text = bold(text.substr(0, end), true) + text.substr(end);
  }
  return text;
}

}  // namespace kueue::cli
