// Lock, certificates and atomic files.
#include "app/data_dir.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "cli/kubeconfig.h"

namespace kueue::app {
namespace {

constexpr Duration kDay = Duration::seconds(86400);

Error io_error(const std::string& what, int error) {
  return make_error(ErrorCode::kUnavailable, what + ": " + strerror(error));
}

bool is_address(const std::string& name) {
  in6_addr any{};
  return inet_pton(AF_INET, name.c_str(), &any) == 1 ||
         inet_pton(AF_INET6, name.c_str(), &any) == 1;
}

// Valid for another 30 days and signed by the authority.
bool usable(const net::KeyPair& pair, const std::string& ca_pem, Instant now) {
  const auto facts = net::inspect_cert(pair.cert_pem);
  return facts.ok() && facts->not_after > now + kDay * 30 && facts->not_before <= now &&
         net::check_pair(pair, ca_pem).ok();
}

bool covers(const net::KeyPair& pair, const std::vector<std::string>& names) {
  const auto facts = net::inspect_cert(pair.cert_pem);
  if (!facts.ok()) return false;
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    const auto& list = is_address(name) ? facts->ips : facts->dns_names;
    return std::find(list.begin(), list.end(), name) != list.end();
  });
}

class Store {
 public:
  explicit Store(std::string folder) : folder_(std::move(folder)) {}

  std::string read(const std::string& name) const {
    if (folder_.empty()) return "";
    auto text = cli::read_file(folder_ + "/" + name);
    return text.ok() ? *text : "";
  }
  Result<void> write(const std::string& name, const std::string& text) const {
    if (folder_.empty()) return {};
    return write_file_atomically(folder_ + "/" + name, text);
  }
  net::KeyPair read_pair(const std::string& name) const {
    return {read(name + ".crt"), read(name + ".key")};
  }
  Result<void> write_pair(const std::string& name, const net::KeyPair& pair) const {
    KUEUE_TRY(write(name + ".key", pair.key_pem));
    return write(name + ".crt", pair.cert_pem);
  }

 private:
  std::string folder_;
};

}  // namespace

Result<std::unique_ptr<FolderLock>> FolderLock::take(const std::string& folder) {
  KUEUE_TRY(make_folders(folder));
  const std::string path = folder + "/up.lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return io_error("cannot use data folder " + folder + ": " + path, errno);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    char pid[32] = "";
    const ssize_t n = pread(fd, pid, sizeof pid - 1, 0);
    close(fd);
    if (error != EWOULDBLOCK) return io_error("cannot lock data folder " + folder, error);
    std::string text = "data folder " + folder + " is in use by another kueue";
    if (n > 0) text += " (process " + std::string(pid, strcspn(pid, "\n")) + ")";
    return make_error(ErrorCode::kUnavailable, text + "; end it, or use another --data-dir");
  }
  const std::string pid = std::to_string(getpid()) + "\n";
  if (ftruncate(fd, 0) != 0 || pwrite(fd, pid.data(), pid.size(), 0) < 0) {
    const int error = errno;
    close(fd);
    return io_error("cannot write to data folder " + folder, error);
  }
  return std::unique_ptr<FolderLock>(new FolderLock(fd));
}

FolderLock::~FolderLock() { close(fd_); }

std::vector<std::string> server_names(const std::string& address) {
  std::vector<std::string> names = {"localhost", "127.0.0.1", "::1"};
  const auto add = [&](const std::string& name) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  };
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) == 0) add(host);
  if (address != "0.0.0.0" && address != "::") add(address);
  for (const char* name : {"kubernetes", "kubernetes.default", "kubernetes.default.svc",
                           "kubernetes.default.svc.cluster.local"}) {
    add(name);
  }
  return names;
}

Result<Credentials> load_or_make_credentials(const std::string& folder,
                                             const std::vector<std::string>& names, Instant now) {
  const std::string pki = folder.empty() ? "" : folder + "/pki";
  if (!pki.empty()) KUEUE_TRY(make_folders(pki));
  const Store store(pki);
  Credentials result;
  result.ca = store.read_pair("ca");
  if (!usable(result.ca, result.ca.cert_pem, now)) {
    KUEUE_ASSIGN(result.ca, net::make_ca("kueue-ca", now, kDay * 3650));
    KUEUE_TRY(store.write_pair("ca", result.ca));
  }
  result.server = store.read_pair("server");
  if (!usable(result.server, result.ca.cert_pem, now) || !covers(result.server, names)) {
    net::LeafRequest request{.common_name = "kueue-server", .server = true, .validity = kDay * 365};
    for (const std::string& name : names) {
      (is_address(name) ? request.ips : request.dns_names).push_back(name);
    }
    KUEUE_ASSIGN(result.server, net::make_leaf(result.ca, request, now));
    KUEUE_TRY(store.write_pair("server", result.server));
  }
  result.admin = store.read_pair("admin");
  if (!usable(result.admin, result.ca.cert_pem, now)) {
    const net::LeafRequest request{.common_name = "kubernetes-admin",
                                   .organizations = {"system:masters"},
                                   .client = true,
                                   .validity = kDay * 365};
    KUEUE_ASSIGN(result.admin, net::make_leaf(result.ca, request, now));
    KUEUE_TRY(store.write_pair("admin", result.admin));
  }
  result.token = store.read("token");
  if (result.token.size() < 32) {
    result.token = net::random_hex(24);
    KUEUE_TRY(store.write("token", result.token));
  }
  return result;
}

Result<void> write_file_atomically(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".tmp." + std::to_string(getpid());
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return io_error("cannot write " + path, errno);
  size_t done = 0;
  int error = 0;
  while (done < text.size() && error == 0) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno != EINTR) error = errno;
    if (n > 0) done += static_cast<size_t>(n);
  }
  if (error == 0 && fsync(fd) != 0) error = errno;
  close(fd);
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  unlink(temporary.c_str());
  return io_error("cannot write " + path, error);
}

Result<void> make_folders(const std::string& path) {
  for (size_t at = 1; at <= path.size(); ++at) {
    if (at != path.size() && path[at] != '/') continue;
    const std::string part = path.substr(0, at);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      return io_error("cannot make folder " + part, errno);
    }
  }
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return io_error("cannot use folder " + path, errno);
  if (!S_ISDIR(info.st_mode)) return io_error("cannot use folder " + path, ENOTDIR);
  return {};
}

Result<void> check_kubeconfig(const std::string& path) {
  const auto text = cli::read_file(path);
  if (!text.ok()) {
    if (text.error().code == ErrorCode::kNotFound) return {};
    return make_error(ErrorCode::kUnavailable, text.error().message);
  }
  const bool ours = text->empty() || (text->find("current-context: kueue\n") != std::string::npos &&
                                      text->find("  name: kueue\n") != std::string::npos);
  if (!ours) {
    return make_error(ErrorCode::kUnavailable, path +
                                                   " exists and was not written by 'kueue up'; it "
                                                   "is left alone, give another --kubeconfig");
  }
  return {};
}

Result<void> remove_kubeconfig(const std::string& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return io_error("cannot replace " + path, errno);
  }
  return {};
}

}  // namespace kueue::app
