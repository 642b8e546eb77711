// Runs another program to its end or to a time limit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tapestry::grader {

struct Run {
  int exit_code = -1;  // −1: it was ended by a signal
  int signal = 0;
  bool timed_out = false;
  bool interrupted = false;  // Ctrl-C while it ran
  std::string output;        // standard output and standard error in the order written, at most 1 MB
  double seconds = 0;

  bool ok() const { return exit_code == 0; }
};

struct RunOptions {
  std::map<std::string, std::string> environment = {};  // added to this process's
  std::filesystem::path folder = {};                    // working directory; empty: this process's
  std::string input = {};                               // at most a pipe's size, 4,096 bytes
  std::uint64_t memory = 0;                             // most bytes of data; 0: no limit (Linux only)
};

/// Runs a program, with `options.input` on its standard input, and returns when it has ended. `words[0]` is looked
/// up in PATH. The program is killed at `limit` (in seconds) and when interrupted() becomes true. Every process
/// that it has started is killed when it ends, and when this process ends, however that happens. (Where there is
/// no /proc, processes that have left the program's process group survive.) Throws Error if no process can be
/// created.
Run run(const std::vector<std::string>& words, double limit, const RunOptions& options = {});

}  // namespace tapestry::grader
