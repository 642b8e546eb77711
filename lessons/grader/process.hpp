// Runs another program to its end or to a time limit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tapestry::grader {

/// The outcome of a run.
struct Run {
  int exit_code = -1;  // −1: a signal ended it
  int signal = 0;      // 0: none ended it
  bool timed_out = false;
  bool interrupted = false;  // Ctrl-C while it ran
  std::string output;        // standard output and standard error in the order written, at most 1 MB
  double seconds = 0;

  bool ok() const { return exit_code == 0; }
};

/// Settings of a run.
struct RunOptions {
  std::map<std::string, std::string> environment = {};  // added to this process's environment
  std::filesystem::path folder = {};                    // working directory; empty: this process's
  std::string input = {};                               // at most the size of a pipe, 4,096 bytes
  std::uint64_t memory = 0;                             // limit on data in bytes; 0: no limit (Linux only)
};

/// Runs a program, with `options.input` on its standard input, and returns when it has ended. `words[0]` is looked up
/// in PATH. The program is killed after `limit` seconds, or when interrupted() becomes true. All processes that it
/// started are killed when it ends, and when this process ends for any reason. (Without /proc, processes that have
/// left the program's process group survive.) Throws Error if the process cannot be created.
Run run(const std::vector<std::string>& words, double limit, const RunOptions& options = {});

}  // namespace tapestry::grader
