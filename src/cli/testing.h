// A terminal for tests: what was said, and what is to be read. One thread at a time.
#pragma once

#include <string>

#include "cli/terminal.h"

namespace kueue::cli {

class TestTerminal final : public Terminal {
 public:
  void out(std::string_view text) override { out_text += text; }
  void err(std::string_view text) override { err_text += text; }
  std::string read_input() override { return input; }
  bool colours() const override { return false; }
  bool stopped() const override { return false; }
  std::string out_text;
  std::string err_text;
  std::string input;
};

}  // namespace kueue::cli
