#include "lessons/grader/process.hpp"

#include <fcntl.h>
#include <poll.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "core/tensor/error.hpp"
#include "lessons/grader/interrupt.hpp"

namespace tapestry::grader {

namespace {

constexpr std::size_t kMostOutput = 1U << 20;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Turns this child process into the program.
[[noreturn]] void become(const std::vector<std::string>& words, int input, int output,
                         const RunOptions& options) {
  setpgid(0, 0);
  dup2(input, 0);
  dup2(output, 1);
  dup2(output, 2);
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  const bool there = options.folder.empty() || chdir(options.folder.c_str()) == 0;
#ifdef __linux__
  const rlimit memory{options.memory, options.memory};
  if (options.memory > 0) setrlimit(RLIMIT_DATA, &memory);
#endif
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  if (there) execvp(arguments[0], arguments.data());
  const std::string message = words[0] + ": " + std::strerror(errno) + "\n";
  [[maybe_unused]] const auto written = ::write(2, message.data(), message.size());
  _exit(127);
}

/// Kills the children of this process until there are none. The children of a killed child become this process's.
void kill_children() {
#ifdef __linux__
  for (int round = 0; round < 1000; ++round) {
    std::ifstream list("/proc/thread-self/children");
    for (pid_t child; list >> child;) kill(child, SIGKILL);
    const pid_t ended = waitpid(-1, nullptr, WNOHANG);
    if (ended < 0 && errno == ECHILD) return;
    if (ended == 0) poll(nullptr, 0, 1);
  }
#endif
}

/// Runs the keeper, a process between the grader and the program. If the grader is killed, the keeper kills the
/// program. It ends when the program has ended, or when `orders` has a byte or no writer, and writes the program's
/// status to `report`. Its copy of a lock's descriptor keeps the folder locked until then.
[[noreturn]] void keep(const std::vector<std::string>& words, const RunOptions& options, int input,
                       int output, int orders, int report) {
  setpgid(0, 0);  // Ctrl-C reaches the grader alone, which then sends an order
#ifdef __linux__
  prctl(PR_SET_CHILD_SUBREAPER, 1);
#endif
  struct sigaction wake = {};
  wake.sa_handler = [](int) {};
  sigaction(SIGCHLD, &wake, nullptr);  // so that poll() returns
  const pid_t program = fork();
  if (program < 0) _exit(1);
  if (program == 0) {
    signal(SIGCHLD, SIG_DFL);
    become(words, input, output, options);
  }
  setpgid(program, program);  // in both processes, since either may run first
  close(output);
  int status = 0;
  while (waitpid(program, &status, WNOHANG) == 0) {
    pollfd waiting{orders, POLLIN, 0};
    if (poll(&waiting, 1, 20) <= 0) continue;
    kill(-program, SIGKILL);
    waitpid(program, &status, 0);
    break;
  }
  kill(-program, SIGKILL);
  kill_children();
  [[maybe_unused]] const auto written = ::write(report, &status, sizeof status);
  _exit(0);
}

/// Both ends of a pipe, closed in programs that this process starts. Throws Error if no pipe can be opened.
struct Pipe {
  Pipe() {
#ifdef __linux__
    if (pipe2(ends, O_CLOEXEC) != 0) fail("cannot open a pipe: {}", std::strerror(errno));
#else
    if (pipe(ends) != 0) fail("cannot open a pipe: {}", std::strerror(errno));
    for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
#endif
  }
  ~Pipe() {
    close(ends[0]);
    close_writer();
  }
  void close_writer() {
    if (ends[1] >= 0) close(std::exchange(ends[1], -1));
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int ends[2];
};

bool is_readable(int descriptor, int milliseconds) {
  pollfd waiting{descriptor, POLLIN, 0};
  return poll(&waiting, 1, milliseconds) > 0;
}

}  // namespace

Run run(const std::vector<std::string>& words, double limit, const RunOptions& options) {
  Pipe input, output, orders, report;
  if (::write(input.ends[1], options.input.data(), options.input.size()) !=
      static_cast<ssize_t>(options.input.size()))
    fail("cannot write the input of {}: {}", words[0], std::strerror(errno));
  input.close_writer();
  const double begin = now();
  const pid_t keeper = fork();
  if (keeper < 0) fail("cannot start {}: {}", words[0], std::strerror(errno));
  if (keeper == 0) {
    orders.close_writer();  // the grader then has the only writer, which closes when it ends
    keep(words, options, input.ends[0], output.ends[1], orders.ends[0], report.ends[1]);
  }

  output.close_writer();
  report.close_writer();
  Run result;
  const auto take = [&] {
    char buffer[4096];
    const ssize_t count = read(output.ends[0], buffer, sizeof buffer);
    if (count > 0 && result.output.size() < kMostOutput)
      result.output.append(buffer,
                           std::min(static_cast<std::size_t>(count), kMostOutput - result.output.size()));
  };
  bool ordered = false;
  pollfd waiting[2] = {{output.ends[0], POLLIN, 0}, {report.ends[0], POLLIN, 0}};
  while (true) {
    const double left = begin + limit - now();
    if (!ordered && (left <= 0 || interrupted())) {
      result.timed_out = left <= 0;
      result.interrupted = !result.timed_out;
      ordered = ::write(orders.ends[1], "k", 1) == 1;
    }
    const int ready =
        poll(waiting, 2, ordered ? 100 : static_cast<int>(std::clamp(left, 0.0, 0.1) * 1000) + 1);
    if (ready <= 0) continue;
    if (waiting[1].revents != 0) break;
    take();
  }
  // Read the rest of the output. All processes that the program started are gone, so nothing more is written.
  for (std::size_t taken = 0; taken < 2 * kMostOutput && is_readable(output.ends[0], 0); taken += 4096)
    take();
  int status = 0;
  if (!is_readable(report.ends[0], 0) || read(report.ends[0], &status, sizeof status) != sizeof status)
    status = SIGKILL;
  waitpid(keeper, nullptr, 0);
  result.seconds = now() - begin;
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace tapestry::grader
