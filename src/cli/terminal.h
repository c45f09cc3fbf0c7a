// Where a command's output goes. Real streams in the program, strings in tests.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kueue::cli {

class Terminal {
 public:
  virtual ~Terminal() = default;
  // Written at once: a watch is followed line by line.
  virtual void out(std::string_view text) = 0;
  virtual void err(std::string_view text) = 0;
  virtual std::string read_input() = 0;  // all of standard input
  // Colours are wanted on standard output: it is a terminal, NO_COLOR is unset and TERM is not
  // "dumb".
  virtual bool colours() const = 0;
  // Columns of standard output, 0 when it is no terminal.
  virtual size_t width() const { return 0; }
  // Somebody pressed Ctrl-C or the reader of our output has gone.
  virtual bool stopped() const = 0;
};

// The process's own streams.
Terminal& system_terminal();

// SGR sequences when wanted, the plain text otherwise.
std::string green(std::string_view text, bool colours);
std::string yellow(std::string_view text, bool colours);
std::string red(std::string_view text, bool colours);
std::string bold(std::string_view text, bool colours);

}  // namespace kueue::cli
