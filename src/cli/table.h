// Tables as the API server makes them (meta.k8s.io/v1 Table), printed in columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace kueue::cli {

struct TableOptions {
  bool wide = false;  // columns of lower priority too
  bool show_namespace = false;
  bool headers = true;
  bool show_labels = false;
  bool colours = false;
  std::vector<std::string> label_columns = {};
  std::string name_prefix = {};  // "job.batch/"
};

// Keeps the columns' widths from one table to the next, as a watch prints row by row.
class TablePrinter {
 public:
  explicit TablePrinter(TableOptions options) : options_(std::move(options)) {}
  // Text of the table's rows, with headers the first time. Column definitions may be left out of
  // later tables.
  std::string print(const json::Value& table);

 private:
  std::vector<std::string> header_of(const json::Value& columns);
  std::vector<std::string> cells_of(const json::Value& row);

  TableOptions options_;
  std::vector<bool> shown_;
  std::vector<std::string> header_;
  std::vector<size_t> widths_;
  bool header_printed_ = false;
};

// Columns padded to the widest cell, three blanks between, no blanks at the end of a line. `widths`
// grow.
std::string format_rows(const std::vector<std::vector<std::string>>& rows,
                        std::vector<size_t>* widths);
// Code points, good enough for columns.
size_t display_width(std::string_view text);

}  // namespace kueue::cli
