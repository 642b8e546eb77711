// Runs another program to its end or to a time limit.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tapestry::grader {

struct Run {
  int exit_code = -1;  // −1: it was ended by a signal
  int signal = 0;
  bool timed_out = false;
  bool interrupted = false;  // Ctrl-C while it ran
  std::string output;        // standard output and standard error, as they came, at most 1 MB
  double seconds = 0;

  bool ok() const { return exit_code == 0; }
};

/// `words[0]` is looked up in PATH; `environment` is added to this process's. The program and all that it
/// starts are ended at the limit (in seconds), and when this process is told to stop. It gets no input.
/// Throws Error if it cannot be started.
Run run(const std::vector<std::string>& words, double limit,
        const std::map<std::string, std::string>& environment = {});

}  // namespace tapestry::grader
