// Folders of a run: tried, and taken over from runs that were killed.
#include "lessons/kit/program/files.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include "tests/catch.hpp"
#include "tests/failing_calls.hpp"
#include "tests/lessons/kit/scratch.hpp"

using Catch::Matchers::ContainsSubstring;

namespace tapestry::kit {

TEST_CASE("runs that are killed while they try a folder leave no heap of files", "[kit]") {
  const Scratch scratch;
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      while (true) make_writable_folder(scratch.folder());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  CHECK(scratch.files() <= 2);
  make_writable_folder(scratch.folder());
  CHECK(scratch.files() == 0);
}

TEST_CASE("text is added to a file, or the reason is told", "[kit]") {
  const Scratch scratch;
  append(scratch.path("log"), "one\n");
  append(scratch.path("log"), "two\n");
  CHECK(scratch.read("log") == "one\ntwo\n");
  CHECK(usage_error([&] { append(scratch.folder() / "none" / "log", "x"); }) ==
        "cannot write '" + scratch.path("none").string() + "/log': No such file or directory");
  CHECK(usage_error([] { append("/dev/full", "x"); }) == "cannot write '/dev/full': No space left on device");
}

#if defined(__linux__)
TEST_CASE("what a signal interrupts is tried again", "[kit]") {
  const Scratch scratch;
  {
    const test::FailingCall interrupted(test::Call::write, EINTR, 3);
    append(scratch.path("log"), "whole");
    CHECK(interrupted.calls() == 4);
  }
  CHECK(scratch.read("log") == "whole");
  const test::FailingCall interrupted(test::Call::flock, EINTR, 3);
  const FolderLock lock(scratch.folder());
  CHECK(interrupted.calls() == 4);
  CHECK_THAT(usage_error([&] { FolderLock second(scratch.folder()); }),
             ContainsSubstring("another run is using the folder"));
}
#endif

}  // namespace tapestry::kit
