#include "base/files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <cstdio>
#include <memory>

namespace kueue {
namespace {

constexpr size_t kMostBytes = 64u << 20;

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

Result<std::string> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rbe"));
  if (!file) {
    return make_error(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
                      path + ": " + strerror(errno));
  }
  struct stat info{};
  if (fstat(fileno(file.get()), &info) == 0 && S_ISDIR(info.st_mode)) {
    return make_error(ErrorCode::kUnavailable, path + ": is a directory");
  }
  std::string text;
  char buffer[65536];
  size_t n = 0;
  while ((n = std::fread(buffer, 1, sizeof buffer, file.get())) > 0) {
    text.append(buffer, n);
    if (text.size() > kMostBytes) {
      return make_error(ErrorCode::kUnavailable, path + ": is larger than 64 MiB");
    }
  }
  if (std::ferror(file.get()) != 0) {
    return make_error(ErrorCode::kUnavailable, path + ": cannot be read");
  }
  return text;
}

}  // namespace kueue
