// What goes to standard output or standard error, past all streams, for one test.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdio>
#include <iostream>
#include <string>

#include "tests/catch.hpp"

namespace tapestry::kit {

/// While it lives, a file is in the place of the descriptor (STDOUT_FILENO or STDERR_FILENO). Check nothing
/// while it lives: a failure could not be read.
class Printed {
 public:
  explicit Printed(int descriptor)
      : descriptor_(descriptor), before_((flush(), ::dup(descriptor))), file_(std::tmpfile()) {
    REQUIRE(before_ >= 0);
    REQUIRE(file_ != nullptr);
    REQUIRE(::dup2(::fileno(file_), descriptor) == descriptor);
  }
  ~Printed() {
    flush();
    ::dup2(before_, descriptor_);
    ::close(before_);
    std::fclose(file_);
  }
  Printed(const Printed&) = delete;
  Printed& operator=(const Printed&) = delete;

  /// All of it so far.
  std::string text() const {
    flush();
    std::string all;
    std::array<char, 4096> piece{};
    for (ssize_t got;
         (got = ::pread(::fileno(file_), piece.data(), piece.size(), static_cast<off_t>(all.size()))) > 0;)
      all.append(piece.data(), static_cast<std::size_t>(got));
    return all;
  }

 private:
  static void flush() {
    std::cout.flush();
    std::cerr.flush();
    std::fflush(stdout);
    std::fflush(stderr);
  }

  int descriptor_, before_;
  std::FILE* file_;
};

}  // namespace tapestry::kit
