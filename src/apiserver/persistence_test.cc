// What is on disk: reopening, killing, full disks, foreign folders.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "apiserver/hub.h"
#include "apiserver/sqlite_log.h"
#include "apiserver/store.h"
#include "apiserver/testing.h"
#include "apiserver/wal_check.h"
#include "base/files.h"
#include "json/json.h"

namespace kueue::apiserver {
namespace {

using testing::Answer;
using testing::Client;
using testing::folder_options;
using testing::TempFolder;

constexpr std::string_view kMaps = "/api/v1/namespaces/default/configmaps";

std::string config_map(const std::string& name) {
  return "{\"metadata\":{\"name\":\"" + name + "\"},\"data\":{\"a\":\"1\"}}";
}

// On the database of a server that does not run.
void edit_database(const std::string& folder, const char* sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((folder + "/state.db").c_str(), &database), SQLITE_OK);
  char* error = nullptr;
  EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, &error), SQLITE_OK) << error;
  sqlite3_close(database);
}

// A folder in which a server has left one ConfigMap, x.
void write_x(const std::string& folder) {
  auto server = Server::open(folder_options(folder));
  ASSERT_TRUE(server.ok()) << server.error().message;
  EXPECT_EQ(Client(**server).post(kMaps, config_map("x")).status, 201);
}

TEST(Persistence, ReopenKeepsObjectsAndVersions) {
  TempFolder folder;
  json::Value before;
  {
    auto server = Server::open(folder_options(folder.path()));
    ASSERT_TRUE(server.ok()) << server.error().message;
    Client client(**server);
    before = client.post(kMaps, config_map("x")).json;
    client.post(kMaps, config_map("y"));
    client.remove(std::string(kMaps) + "/y");
  }
  auto server = Server::open(folder_options(folder.path()));
  ASSERT_TRUE(server.ok()) << server.error().message;
  Client client(**server);
  EXPECT_EQ(client.get(std::string(kMaps) + "/x").json, before);
  EXPECT_EQ(client.get(std::string(kMaps) + "/y").status, 404);
  const Answer next = client.post(kMaps, config_map("z"));
  EXPECT_GT(std::stoull(std::string(next.json.get_string({"metadata", "resourceVersion"}))),
            std::stoull(std::string(before.get_string({"metadata", "resourceVersion"}))));
  // A watch from a version of the earlier life must list again.
  auto stream = client.watch(std::string(kMaps) + "?watch=1&resourceVersion=" +
                             std::string(before.get_string({"metadata", "resourceVersion"})));
  EXPECT_EQ(stream.next().get_int({"object", "code"}), 410);
}

TEST(Persistence, OneProcessPerFolder) {
  TempFolder folder;
  auto server = Server::open(folder_options(folder.path()));
  ASSERT_TRUE(server.ok());
  auto second = Server::open(folder_options(folder.path()));
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("in use by another process"), std::string::npos);
}

TEST(Persistence, NewerFormatIsRefused) {
  TempFolder folder;
  {
    ASSERT_TRUE(Server::open(folder_options(folder.path())).ok());
  }
  edit_database(folder.path(), "PRAGMA user_version=99");
  auto server = Server::open(folder_options(folder.path()));
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(server.error().message.find("newer version"), std::string::npos);
}

TEST(Persistence, ARowThatTheDiskChangedIsRefused) {
  TempFolder folder;
  write_x(folder.path());
  // Still good JSON of the same name and version.
  edit_database(folder.path(),
                R"(UPDATE objects SET value=CAST(replace(CAST(value AS TEXT), '"a":"1"', '"a":"2"')
                   AS BLOB) WHERE key='default/x')");
  auto server = Server::open(folder_options(folder.path()));
  ASSERT_FALSE(server.ok());
  EXPECT_NE(server.error().message.find("default/x of"), std::string::npos)
      << server.error().message;
  EXPECT_NE(server.error().message.find("checksum"), std::string::npos);
}

// Otherwise a replaced row would stay beside its successor, and a removed one would be back.
TEST(Persistence, AnIndexThatTheDiskChangedIsRefused) {
  TempFolder folder;
  {
    auto server = Server::open(folder_options(folder.path()));
    ASSERT_TRUE(server.ok());
    Client client(**server);
    client.post(kMaps, config_map("x"));
  }
  edit_database(folder.path(), "PRAGMA wal_checkpoint(TRUNCATE)");
  const std::string file = folder.path() + "/state.db";
  auto read = read_file(file);
  ASSERT_TRUE(read.ok());
  std::string bytes = std::move(*read);
  // The key in the row is followed by the row's value, the one in the index is not.
  constexpr std::string_view kKey = "/configmapsdefault/x";
  size_t changed = 0;
  for (size_t at = bytes.find(kKey); at != std::string::npos; at = bytes.find(kKey, at + 1)) {
    if (bytes.substr(at + kKey.size(), 64).find('{') != std::string::npos) continue;
    bytes[at + kKey.size() - 1] = 'y';
    ++changed;
  }
  ASSERT_EQ(changed, 1u);
  std::ofstream(file, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  auto server = Server::open(folder_options(folder.path()));
  ASSERT_FALSE(server.ok());
  EXPECT_NE(server.error().message.find("index"), std::string::npos) << server.error().message;
}

// SQLite drops what follows a wrong frame of its log; a crash may leave one, but only at the end.
TEST(Persistence, ALogThatTheDiskChangedIsRefused) {
  TempFolder folder;
  const std::string file = folder.path() + "/state.db-wal";
  std::string bytes;
  {
    auto server = Server::open(folder_options(folder.path()));
    ASSERT_TRUE(server.ok());
    Client client(**server);
    for (int i = 0; i < 20; ++i) client.post(kMaps, config_map("x" + std::to_string(i)));
    auto read = read_file(file);  // as a killed server leaves it
    ASSERT_TRUE(read.ok());
    bytes = std::move(*read);
  }
  constexpr size_t kFrame = 4096 + 24;
  ASSERT_EQ(bytes.size() % kFrame, 32u);
  const size_t frames = bytes.size() / kFrame;
  ASSERT_GT(frames, 20u);
  EXPECT_FALSE(log_is_damaged(bytes));
  EXPECT_FALSE(log_is_damaged(""));
  EXPECT_FALSE(log_is_damaged(bytes.substr(0, bytes.size() - kFrame / 2)));  // torn
  const auto changed = [&](size_t at) {
    std::string copy = bytes;
    copy[at] = static_cast<char>(copy[at] ^ 1);
    return copy;
  };
  EXPECT_FALSE(log_is_damaged(changed(bytes.size() - 100)));  // as torn
  EXPECT_TRUE(log_is_damaged(changed(17)));
  EXPECT_TRUE(log_is_damaged(changed(32 + kFrame * (frames / 2) + 5)));
  const std::string middle = changed(32 + kFrame * (frames / 2) + 2000);
  EXPECT_TRUE(log_is_damaged(middle));
  std::ofstream(file, std::ios::binary)
      .write(middle.data(), static_cast<std::streamsize>(middle.size()));
  auto server = Server::open(folder_options(folder.path()));
  ASSERT_FALSE(server.ok());
  EXPECT_NE(server.error().message.find("state.db-wal"), std::string::npos)
      << server.error().message;
}

TEST(Persistence, AFolderOfFormatOneIsTakenOver) {
  TempFolder folder;
  write_x(folder.path());
  edit_database(folder.path(), "ALTER TABLE objects DROP COLUMN sum; PRAGMA user_version=1");
  for (int round = 0; round < 2; ++round) {
    auto server = Server::open(folder_options(folder.path()));
    ASSERT_TRUE(server.ok()) << server.error().message;
    Client client(**server);
    EXPECT_EQ(client.get(std::string(kMaps) + "/x").status, 200);
    EXPECT_EQ(client.post(kMaps, config_map("y" + std::to_string(round))).status, 201);
  }
}

// A child creates objects and tells each acknowledged name through a pipe until it is killed.
TEST(Persistence, KillLosesNoAcknowledgedWrite) {
  TempFolder folder;
  for (int round = 0; round < 5; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(ends[0]);
      auto server = Server::open(folder_options(folder.path()));
      if (!server.ok()) _exit(1);
      Client client(**server);
      for (int i = 0;; ++i) {
        const std::string name = "r" + std::to_string(round) + "-" + std::to_string(i);
        if (client.post(kMaps, config_map(name)).status != 201) _exit(2);
        if (write(ends[1], (name + "\n").c_str(), name.size() + 1) < 0) _exit(3);
      }
    }
    close(ends[1]);
    std::string acknowledged;
    char buffer[4096];
    while (acknowledged.size() < 300 + static_cast<size_t>(round) * 97) {
      const ssize_t n = read(ends[0], buffer, sizeof buffer);
      if (n <= 0) break;
      acknowledged.append(buffer, static_cast<size_t>(n));
    }
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    while (true) {
      const ssize_t n = read(ends[0], buffer, sizeof buffer);
      if (n <= 0) break;
      acknowledged.append(buffer, static_cast<size_t>(n));
    }
    close(ends[0]);
    auto server = Server::open(folder_options(folder.path()));
    ASSERT_TRUE(server.ok()) << server.error().message;
    Client client(**server);
    size_t start = 0;
    for (size_t end = acknowledged.find('\n'); end != std::string::npos;
         start = end + 1, end = acknowledged.find('\n', start)) {
      const std::string name = acknowledged.substr(start, end - start);
      EXPECT_EQ(client.get(std::string(kMaps) + "/" + name).status, 200) << name;
    }
  }
}

TEST(Persistence, FullDiskRefusesWritesAndKeepsReading) {
  TempFolder folder;
  auto log = SqliteLog::open(folder.path());
  ASSERT_TRUE(log.ok());
  SqliteLog* raw = log->get();
  std::atomic<int> resets = 0;
  auto store =
      Store::open(std::move(log).value(), [](std::vector<Change>) {}, [&](uint64_t) { ++resets; });
  ASSERT_TRUE(store.ok());
  const auto put = [&](const std::string& key, size_t size) {
    json::Value object = json::Value::object({{"data", std::string(size, 'x')}});
    std::mutex mutex;
    std::condition_variable ready;
    std::optional<Result<void>> outcome;
    const auto written = (*store)->put("/configmaps", key, 0, Draft(object),
                                       [&](const Result<void>& r, const StoredPtr&) {
                                         std::lock_guard lock(mutex);
                                         outcome = r;
                                         ready.notify_all();
                                       });
    if (!written.ok()) return false;
    std::unique_lock lock(mutex);
    ready.wait(lock, [&] { return outcome.has_value(); });
    return outcome->ok();
  };
  ASSERT_TRUE(put("a", 1000));
  raw->limit_pages(50);
  EXPECT_FALSE(put("b", 1 << 20));
  EXPECT_EQ(resets, 1);
  EXPECT_EQ((*store)->get("/configmaps", "b"), nullptr);
  EXPECT_NE((*store)->get("/configmaps", "a"), nullptr);
  raw->limit_pages(100000);
  EXPECT_TRUE(put("b", 1 << 20));
}

TEST(Persistence, TenThousandObjectsOpenWithinASecond) {
  TempFolder folder;
  {
    auto log = SqliteLog::open(folder.path());
    ASSERT_TRUE(log.ok());
    auto store = Store::open(std::move(log).value(), [](std::vector<Change>) {}, [](uint64_t) {});
    ASSERT_TRUE(store.ok());
    for (int i = 0; i < 10000; ++i) {
      json::Value object = json::Value::object(
          {{"apiVersion", "v1"},
           {"kind", "ConfigMap"},
           {"metadata",
            json::Value::object({{"name", "m" + std::to_string(i)}, {"namespace", "default"}})},
           {"data", json::Value::object({{"text", std::string(2800, 'x')}})}});
      ASSERT_TRUE(
          (*store)->put("/configmaps", "default/m" + std::to_string(i), 0, Draft(object), {}).ok());
    }
    (*store)->flush_and_wait();
  }
  const auto start = std::chrono::steady_clock::now();
  auto server = Server::open(folder_options(folder.path()));
  ASSERT_TRUE(server.ok());
  Client client(**server);
  EXPECT_EQ(client.get("/readyz").status, 200);
  const auto took = std::chrono::steady_clock::now() - start;
  // Generous for unoptimised builds on a busy machine; the target is a second.
  EXPECT_LT(std::chrono::duration<double>(took).count(), 5.0);
  EXPECT_EQ(client.get(std::string(kMaps) + "/m9999").status, 200);
}

}  // namespace
}  // namespace kueue::apiserver
