// The folder of a playground: its lock, certificates, token and kubeconfig. One process at a time
// uses a folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/certs.h"

namespace kueue::app {

// Holds the folder until it is destroyed; the lock goes with the process, however it ends.
class FolderLock {
 public:
  // Makes the folder when it is absent (for the owner only). kUnavailable: another process has it,
  // or it cannot be written; the text says which and why.
  static Result<std::unique_ptr<FolderLock>> take(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;
};

struct Credentials {
  net::KeyPair ca;
  net::KeyPair server;
  net::KeyPair admin;  // user "kubernetes-admin", group system:masters
  std::string token;   // of the same user
};

// Names and addresses that the server's certificate must be good for, "localhost" and loopback
// among them.
std::vector<std::string> server_names(const std::string& address);

// Makes what is absent, expired within 30 days, or does not fit `names`; keeps the rest. `folder`
// "" keeps everything in memory only.
Result<Credentials> load_or_make_credentials(const std::string& folder,
                                             const std::vector<std::string>& names, Instant now);

// Replaces the file in one step; readable for the owner only.
Result<void> write_file_atomically(const std::string& path, const std::string& text);
// Folder and its parents.
Result<void> make_folders(const std::string& path);
// kUnavailable when the file exists and was not written by `kueue up`: it may be somebody's only
// one.
Result<void> check_kubeconfig(const std::string& path);
// So that nobody takes the one of an earlier run for a sign that the server is ready. Absent is
// fine.
Result<void> remove_kubeconfig(const std::string& path);

}  // namespace kueue::app
