// A text in place of standard input, for one test.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

#include "tests/catch.hpp"

namespace tapestry::kit {

class StandardInput {
 public:
  explicit StandardInput(const std::string& text) : before_(::dup(STDIN_FILENO)), file_(std::tmpfile()) {
    REQUIRE(before_ >= 0);
    REQUIRE(file_ != nullptr);
    REQUIRE(std::fwrite(text.data(), 1, text.size(), file_) == text.size());
    std::rewind(file_);  // flushes, too
    REQUIRE(::dup2(::fileno(file_), STDIN_FILENO) == STDIN_FILENO);
  }
  ~StandardInput() {
    ::dup2(before_, STDIN_FILENO);
    ::close(before_);
    std::fclose(file_);
  }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

 private:
  int before_;
  std::FILE* file_;
};

}  // namespace tapestry::kit
