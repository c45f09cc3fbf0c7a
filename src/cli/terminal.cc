// Standard streams without buffering of our own.
#include "cli/terminal.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace kueue::cli {
namespace {

class SystemTerminal final : public Terminal {
 public:
  void out(std::string_view text) override {
    if (!write_all(1, text)) broken_.store(true);
  }
  void err(std::string_view text) override { write_all(2, text); }
  std::string read_input() override {
    std::string text;
    char buffer[65536];
    for (;;) {
      const ssize_t n = read(0, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return text;
      text.append(buffer, static_cast<size_t>(n));
    }
  }
  bool colours() const override {
    if (isatty(1) == 0) return false;
    const char* no_color = getenv("NO_COLOR");
    if (no_color != nullptr && no_color[0] != '\0') return false;
    const char* term = getenv("TERM");
    return term != nullptr && std::string_view(term) != "dumb";
  }
  size_t width() const override {
    winsize size{};
    if (isatty(1) == 0) return 0;
    return ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  }
  bool stopped() const override { return broken_.load(); }

 private:
  static bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = write(fd, text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      text.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  std::atomic<bool> broken_{false};
};

std::string paint(std::string_view code, std::string_view text, bool colours) {
  if (!colours) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

}  // namespace

Terminal& system_terminal() {
  static SystemTerminal terminal;
  return terminal;
}

std::string green(std::string_view text, bool colours) { return paint("32", text, colours); }
std::string yellow(std::string_view text, bool colours) { return paint("33", text, colours); }
std::string red(std::string_view text, bool colours) { return paint("31", text, colours); }
std::string bold(std::string_view text, bool colours) { return paint("1", text, colours); }

}  // namespace kueue::cli
