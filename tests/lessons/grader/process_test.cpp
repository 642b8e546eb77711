// Programs that the grader runs: they end in time, with all that they started, and so does what outlives the grader.
#include "lessons/grader/process.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "lessons/grader/compiler.hpp"
#include "lessons/grader/folder_lock_guard.hpp"
#include "tests/catch.hpp"
#include "tests/temporary.hpp"

namespace tapestry::grader {

namespace {

/// The number that a program has written to a file, once it is there; 0 after 20 seconds.
pid_t number_in(const std::filesystem::path& file) {
  for (int i = 0; i < 2000; ++i) {
    std::ifstream in(file);
    pid_t number = 0;
    if (in >> number) return number;
    poll(nullptr, 0, 10);
  }
  return 0;
}

/// Waits up to 20 seconds.
bool is_gone(pid_t process) {
  for (int i = 0; i < 2000; ++i) {
    if (kill(process, 0) != 0) return true;
    poll(nullptr, 0, 10);
  }
  return false;
}

}  // namespace

TEST_CASE("a program is run to its end, or to the limit, with all that it started", "[grader]") {
  const Run fine = run({"sh", "-c", "echo out; echo err >&2; echo $TAPESTRY_WORD; exit 3"}, 10,
                       {.environment = {{"TAPESTRY_WORD", "w"}}});
  CHECK(fine.exit_code == 3);
  CHECK(fine.output == "out\nerr\nw\n");
  CHECK_FALSE(fine.timed_out);
  CHECK(run({"sh", "-c", "kill -SEGV $$"}, 10).signal == SIGSEGV);
  const Run slow = run({"sh", "-c", "echo before; sleep 60 & sleep 60"}, 0.3);
  CHECK(slow.timed_out);
  CHECK(slow.output == "before\n");
  CHECK(slow.seconds < 20);
  const Run silent = run({"sh", "-c", "exec >&- 2>&-; sleep 60"}, 0.3);  // closes its output and goes on
  CHECK(silent.timed_out);
  CHECK(run({"/nowhere/program"}, 10).exit_code == 127);
  CHECK(run({"sh", "-c", "cat; echo end"}, 10).output == "end\n");  // there is no input
  CHECK(run({"cat"}, 10, {.input = "one\ntwo"}).output == "one\ntwo");
}

TEST_CASE("a program that has ended is not kept waiting by what it started", "[grader]") {
  const test::TemporaryFolder folder;
  const std::string started = (folder / "started").string();
  const Run left = run({"sh", "-c", "sleep 60 & echo $! >\"$0\"; echo done", started}, 20);
  CHECK(left.exit_code == 0);
  CHECK_FALSE(left.timed_out);
  CHECK(left.output == "done\n");
  CHECK(is_gone(number_in(started)));
}

#ifdef __linux__
TEST_CASE("no process survives its program by leaving the group", "[grader]") {
  const test::TemporaryFolder folder;
  const std::string started = (folder / "started").string();
  const Run left = run({"sh", "-c",
                        "setsid sh -c 'echo $$ >\"$0\"; exec sleep 60' \"$0\" & "
                        "while [ ! -s \"$0\" ]; do sleep 0.01; done",
                        started},
                       20);
  CHECK(left.exit_code == 0);
  CHECK(is_gone(number_in(started)));
}

TEST_CASE("a program gets no more memory than it may have", "[grader]") {
  const char* const most = "ulimit -d";  // in units of 1,024 bytes
  CHECK(run({"sh", "-c", most}, 10, {.memory = 2'048'000}).output == "2000\n");
  CHECK(run({"sh", "-c", most}, 10).output != "2000\n");
}
#endif

TEST_CASE("a program ends with the grader, and holds its folder until then", "[grader]") {
  const test::TemporaryFolder folder;
  const std::string started = (folder / "started").string();
  const pid_t grader = fork();
  if (grader == 0) {
    const FolderLockGuard turn(folder / "turn");
    run({"sh", "-c", "echo $$ >\"$0\"; sleep 60 & wait", started}, 60);
    _exit(0);
  }
  const pid_t program = number_in(started);
  REQUIRE(program > 0);
  kill(grader, SIGKILL);
  waitpid(grader, nullptr, 0);
  const FolderLockGuard turn(folder / "turn");
  CHECK(kill(program, 0) != 0);  // by the time the folder is free
}

TEST_CASE("output is taken to its last line and cut at a megabyte", "[grader]") {
  const Run loud = run({"sh", "-c", "i=0; while [ $i -lt 6000 ]; do echo line $i; i=$((i+1)); done"}, 60);
  CHECK(loud.output.ends_with("line 5999\n"));
  const Run endless = run({"sh", "-c", "yes"}, 1);
  CHECK(endless.timed_out);
  CHECK(endless.output.size() == 1U << 20);
}

TEST_CASE("a program runs in the folder that it is given", "[grader]") {
  const test::TemporaryFolder folder;
  std::filesystem::create_directories(folder / "tap ëstry 'q");
  CHECK(run({"sh", "-c", "basename \"$PWD\""}, 10, {.folder = folder / "tap ëstry 'q"}).output ==
        "tap ëstry 'q\n");
  CHECK(run({"true"}, 10, {.folder = folder / "none"}).exit_code == 127);
}

TEST_CASE("of several threads one at a time has a folder", "[grader]") {
  const test::TemporaryFolder folder;
  int inside = 0, most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        const FolderLockGuard turn(folder / "turn");
        most = std::max(most, ++inside);
        std::this_thread::yield();
        --inside;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(most == 1);
}

}  // namespace tapestry::grader
