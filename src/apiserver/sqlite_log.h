// SqliteLog: the current objects in a SQLite file (WAL, synchronous=FULL), written in transactions.
// One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace kueue::apiserver {

class SqliteLog {
 public:
  // The layout of the file that this program writes.
  static constexpr int kFormat = 2;

  // Opens or makes `folder`/state.db and takes the folder's lock. kUnavailable: cannot be
  // used, is in use, has a newer format, or is not ours.
  static Result<std::unique_ptr<SqliteLog>> open(const std::string& folder);
  ~SqliteLog();

  // What its checksum says of a row.
  enum class Sum : uint8_t { kNone, kRight, kWrong };
  struct Row {
    std::string_view collection;
    std::string_view key;
    uint64_t revision = 0;
    std::string_view value;
    Sum sum = Sum::kNone;
  };
  Result<void> load(const std::function<void(const Row&)>& row,
                    const std::function<void(std::string_view key, std::string_view value)>& meta);
  // After load(). kUnavailable: the index by which rows are found when they are replaced or removed
  // is not that of the rows that were loaded, or rows are missing.
  Result<void> check_index() const;

  // One transaction; a value that is null removes.
  struct Write {
    const std::string* collection = nullptr;
    const std::string* key = nullptr;
    uint64_t revision = 0;
    const std::string* value = nullptr;
  };
  // Durable when it returns ok; nothing of it is kept otherwise.
  Result<void> write(const std::vector<Write>& writes, uint64_t revision);
  Result<void> set_meta(std::string_view key, std::string_view value);

  // kUnavailable: the folder's name, what is damaged and what can be done.
  Error damaged(const std::string& what) const;

  // Refuses to grow beyond `pages`, as a full disk does. For tests.
  void limit_pages(int pages);

 private:
  SqliteLog() = default;
  Result<void> prepare(const std::string& folder);
  Result<void> execute(const char* sql);
  Error error(std::string_view doing) const;
  Result<void> step_done(sqlite3_stmt* statement, std::string_view doing);

  sqlite3* db_ = nullptr;
  sqlite3_stmt* put_ = nullptr;
  sqlite3_stmt* remove_ = nullptr;
  sqlite3_stmt* meta_ = nullptr;
  int lock_ = -1;
  uint64_t places_ = 0;  // checksum of where the loaded rows are
  std::string folder_;
};

}  // namespace kueue::apiserver
