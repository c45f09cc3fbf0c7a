#include "apiserver/sqlite_log.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "apiserver/wal_check.h"
#include "base/files.h"

namespace kueue::apiserver {

namespace {

// Tells rows that the disk has changed. Each step is a bijection of the state, so a change within
// eight bytes is always seen, and any other but once in 2^64. Only for this file, on machines of
// this byte order.
class Checksum {
 public:
  void add(std::string_view text) {
    add_number(text.size());
    while (text.size() >= sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, text.data(), sizeof word);
      add_number(word);
      text.remove_prefix(sizeof word);
    }
    uint64_t rest = 0;
    if (!text.empty()) std::memcpy(&rest, text.data(), text.size());
    add_number(rest);
  }
  void add_number(uint64_t word) { state_ = std::rotl(state_ ^ word, 27) * 0x9E3779B97F4A7C15u; }
  int64_t value() const { return static_cast<int64_t>(state_ ^ (state_ >> 32)); }

 private:
  uint64_t state_ = 0x51ED270B9F4C2A6Du;
};

int64_t row_sum(std::string_view collection, std::string_view key, uint64_t revision,
                std::string_view value) {
  Checksum sum;
  sum.add(collection);
  sum.add(key);
  sum.add_number(revision);
  sum.add(value);
  return sum.value();
}

// Of a row's place: what the table and its index both hold.
uint64_t place_sum(std::string_view collection, std::string_view key, int64_t row) {
  Checksum sum;
  sum.add(collection);
  sum.add(key);
  sum.add_number(static_cast<uint64_t>(row));
  return static_cast<uint64_t>(sum.value());
}

}  // namespace

Result<std::unique_ptr<SqliteLog>> SqliteLog::open(const std::string& folder) {
  std::unique_ptr<SqliteLog> log(new SqliteLog);
  KUEUE_TRY(log->prepare(folder));
  return log;
}

SqliteLog::~SqliteLog() {
  sqlite3_finalize(put_);
  sqlite3_finalize(remove_);
  sqlite3_finalize(meta_);
  sqlite3_close(db_);
  if (lock_ >= 0) ::close(lock_);
}

Error SqliteLog::error(std::string_view doing) const {
  const int code = sqlite3_errcode(db_);
  std::string text = "data folder " + folder_ + ": " + std::string(doing) + ": ";
  if (code == SQLITE_FULL)
    text += "no space left on the disk";
  else
    text += sqlite3_errmsg(db_);
  return make_error(code == SQLITE_FULL ? ErrorCode::kInternal : ErrorCode::kUnavailable, text);
}

Error SqliteLog::damaged(const std::string& what) const {
  return make_error(ErrorCode::kUnavailable,
                    "data folder " + folder_ + ": state.db is damaged: " + what +
                        "; nothing was changed: put a copy back, or use another folder");
}

Result<void> SqliteLog::execute(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return error(sql);
  return {};
}

Result<void> SqliteLog::prepare(const std::string& folder) {
  folder_ = folder;
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure)
    return make_error(ErrorCode::kUnavailable, "data folder " + folder + ": " + failure.message());
  lock_ = ::open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0)
    return make_error(ErrorCode::kUnavailable,
                      "data folder " + folder + ": cannot open the lock file: " + strerror(errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0)
    return make_error(ErrorCode::kUnavailable,
                      "data folder " + folder + " is in use by another process");
  const std::string file = folder + "/state.db";
  if (auto newest = read_file(file + "-wal"); newest.ok() && log_is_damaged(*newest))
    return damaged("its newest writes, in state.db-wal, do not match their checksums");
  if (sqlite3_open_v2(file.c_str(), &db_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                      nullptr) != SQLITE_OK)
    return error("open state.db");
  ::chmod(file.c_str(), 0600);
  sqlite3_busy_timeout(db_, 5000);
  int format = 0;
  sqlite3_stmt* query = nullptr;
  if (sqlite3_prepare_v2(db_, "PRAGMA user_version", -1, &query, nullptr) != SQLITE_OK)
    return error("read the format");
  const int stepped = sqlite3_step(query);
  if (stepped == SQLITE_ROW) format = sqlite3_column_int(query, 0);
  sqlite3_finalize(query);
  if (stepped != SQLITE_ROW) return error("read the format");
  if (format > kFormat)
    return make_error(ErrorCode::kUnavailable,
                      "data folder " + folder + " was written by a newer version (format " +
                          std::to_string(format) + ", this program knows up to " +
                          std::to_string(kFormat) + "); use that version or another folder");
  KUEUE_TRY(execute("PRAGMA journal_mode=WAL"));
  KUEUE_TRY(execute("PRAGMA synchronous=FULL"));
  KUEUE_TRY(execute("PRAGMA wal_autocheckpoint=4000"));
  KUEUE_TRY(execute("PRAGMA journal_size_limit=67108864"));
  if (format == 0) {
    KUEUE_TRY(
        execute("BEGIN; CREATE TABLE IF NOT EXISTS objects(collection TEXT NOT NULL, key TEXT NOT "
                "NULL, revision INTEGER NOT NULL, value BLOB NOT NULL, PRIMARY KEY(collection, "
                "key)); CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value BLOB NOT "
                "NULL); PRAGMA user_version=1; COMMIT"));
    format = 1;
  }
  // Rows of format 1 have no checksum until they are written again.
  if (format == 1)
    KUEUE_TRY(execute(
        "BEGIN; ALTER TABLE objects ADD COLUMN sum INTEGER; PRAGMA user_version=2; COMMIT"));
  const struct {
    sqlite3_stmt** statement;
    const char* sql;
  } statements[] = {
      {&put_,
       "INSERT INTO objects(collection,key,revision,value,sum) VALUES(?1,?2,?3,?4,?5) "
       "ON CONFLICT(collection,key) DO UPDATE SET revision=excluded.revision, "
       "value=excluded.value, sum=excluded.sum"},
      {&remove_, "DELETE FROM objects WHERE collection=?1 AND key=?2"},
      {&meta_,
       "INSERT INTO meta VALUES(?1,?2) ON CONFLICT(key) DO UPDATE SET value=excluded.value"},
  };
  for (const auto& s : statements)
    if (sqlite3_prepare_v3(db_, s.sql, -1, SQLITE_PREPARE_PERSISTENT, s.statement, nullptr) !=
        SQLITE_OK)
      return error("prepare");
  return {};
}

namespace {

std::string_view column_text(sqlite3_stmt* query, int column) {
  const void* data = sqlite3_column_blob(query, column);
  const int size = sqlite3_column_bytes(query, column);
  return data == nullptr
             ? std::string_view()
             : std::string_view(static_cast<const char*>(data), static_cast<size_t>(size));
}

void bind_text(sqlite3_stmt* statement, int index, std::string_view text) {
  sqlite3_bind_text(statement, index, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

}  // namespace

Result<void> SqliteLog::load(
    const std::function<void(const Row&)>& row,
    const std::function<void(std::string_view key, std::string_view value)>& meta) {
  sqlite3_stmt* query = nullptr;
  if (sqlite3_prepare_v2(db_, "SELECT collection,key,revision,value,sum,rowid FROM objects", -1,
                         &query, nullptr) != SQLITE_OK)
    return error("load objects");
  int stepped = 0;
  places_ = 0;
  while ((stepped = sqlite3_step(query)) == SQLITE_ROW) {
    Row read{.collection = column_text(query, 0),
             .key = column_text(query, 1),
             .revision = static_cast<uint64_t>(sqlite3_column_int64(query, 2)),
             .value = column_text(query, 3)};
    if (sqlite3_column_type(query, 4) != SQLITE_NULL)
      read.sum = row_sum(read.collection, read.key, read.revision, read.value) ==
                         sqlite3_column_int64(query, 4)
                     ? Sum::kRight
                     : Sum::kWrong;
    // A sum has no order, and the index has another one than the table.
    places_ += place_sum(read.collection, read.key, sqlite3_column_int64(query, 5));
    row(read);
  }
  sqlite3_finalize(query);
  if (stepped != SQLITE_DONE) return error("load objects");
  if (sqlite3_prepare_v2(db_, "SELECT key,value FROM meta", -1, &query, nullptr) != SQLITE_OK)
    return error("load meta");
  while ((stepped = sqlite3_step(query)) == SQLITE_ROW)
    meta(column_text(query, 0), column_text(query, 1));
  sqlite3_finalize(query);
  if (stepped != SQLITE_DONE) return error("load meta");
  return {};
}

Result<void> SqliteLog::check_index() const {
  sqlite3_stmt* query = nullptr;
  // The index alone answers this.
  if (sqlite3_prepare_v2(db_, "SELECT collection,key,rowid FROM objects ORDER BY collection,key",
                         -1, &query, nullptr) != SQLITE_OK)
    return error("check the index");
  uint64_t places = 0;
  bool in_order = true;
  std::string last_collection;
  std::string last_key;
  bool first = true;
  int stepped = 0;
  while ((stepped = sqlite3_step(query)) == SQLITE_ROW) {
    const std::string_view collection = column_text(query, 0);
    const std::string_view key = column_text(query, 1);
    places += place_sum(collection, key, sqlite3_column_int64(query, 2));
    const int order = first ? -1 : std::string_view(last_collection).compare(collection);
    in_order = in_order && (order < 0 || (order == 0 && last_key < key));
    first = false;
    if (order != 0) last_collection = collection;
    last_key = key;
  }
  sqlite3_finalize(query);
  if (stepped != SQLITE_DONE) return error("check the index");
  if (places != places_ || !in_order) return damaged("its index does not match its rows");
  return {};
}

Result<void> SqliteLog::step_done(sqlite3_stmt* statement, std::string_view doing) {
  const int stepped = sqlite3_step(statement);
  Result<void> result;
  if (stepped != SQLITE_DONE) result = error(doing);
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  return result;
}

Result<void> SqliteLog::write(const std::vector<Write>& writes, uint64_t revision) {
  KUEUE_TRY(execute("BEGIN IMMEDIATE"));
  Result<void> result;
  for (const Write& w : writes) {
    sqlite3_stmt* statement = w.value != nullptr ? put_ : remove_;
    bind_text(statement, 1, *w.collection);
    bind_text(statement, 2, *w.key);
    if (w.value != nullptr) {
      sqlite3_bind_int64(statement, 3, static_cast<sqlite3_int64>(w.revision));
      sqlite3_bind_blob(statement, 4, w.value->data(), static_cast<int>(w.value->size()),
                        SQLITE_STATIC);
      sqlite3_bind_int64(statement, 5, row_sum(*w.collection, *w.key, w.revision, *w.value));
    }
    result = step_done(statement, "write");
    // What is removed is there, unless the index does not find it; then it would be back later.
    if (result.ok() && w.value == nullptr && sqlite3_changes(db_) != 1)
      result = damaged(*w.key + " of " + *w.collection + " is not found");
    if (!result.ok()) break;
  }
  if (result.ok()) result = set_meta("revision", std::to_string(revision));
  if (result.ok()) result = execute("COMMIT");
  // After some failures SQLite has rolled back by itself; then this ROLLBACK fails, which is fine.
  if (!result.ok() && sqlite3_get_autocommit(db_) == 0)
    sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  return result;
}

Result<void> SqliteLog::set_meta(std::string_view key, std::string_view value) {
  bind_text(meta_, 1, key);
  bind_text(meta_, 2, value);
  return step_done(meta_, "write meta");
}

void SqliteLog::limit_pages(int pages) {
  (void)execute(("PRAGMA max_page_count=" + std::to_string(pages)).c_str());
}

}  // namespace kueue::apiserver
