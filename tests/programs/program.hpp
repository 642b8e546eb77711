// A lesson's program run as a user runs it, in surroundings that a test makes bad.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/temporary.hpp"

namespace tapestry::test {

/// What a run left behind.
struct Ended {
  int code = -1;    ///< the exit code, or −1 where a signal ended it
  int signal = 0;   ///< that signal
  std::string out;  ///< what it printed; empty for a stream that the test pointed elsewhere
  std::string err;
};

/// A program that has been started; what still runs at the end is killed.
class Program {
 public:
  /// `surroundings` runs in the new process, before the program; its descriptors 1 and 2 are files here.
  Program(std::vector<std::string> words, const std::function<void()>& surroundings = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Ended wait();
  Ended kill();

 private:
  TemporaryFolder folder_;
  pid_t id_;
};

/// Runs a program to its end.
Ended run(std::vector<std::string> words, const std::function<void()>& surroundings = {});

/// What it prints to a terminal that is so wide, both streams together.
Ended run_on_terminal(std::vector<std::string> words, int columns);

/// The program of a lesson, by its folder's name.
std::string lesson(const std::string& name);

/// In the new process: descriptor `descriptor` now leads to `path`.
void lead(int descriptor, const char* path);

}  // namespace tapestry::test
