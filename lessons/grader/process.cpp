#include "lessons/grader/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "core/tensor/error.hpp"
#include "lessons/grader/interrupt.hpp"

namespace tapestry::grader {

namespace {

constexpr std::size_t kMostOutput = 1U << 20;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// In the child: never returns.
[[noreturn]] void become(const std::vector<std::string>& words, int output,
                         const std::map<std::string, std::string>& environment) {
  setpgid(0, 0);  // so that what it starts ends with it
  const int input = open("/dev/null", O_RDONLY);
  dup2(input, 0);
  dup2(output, 1);
  dup2(output, 2);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const std::string message = words[0] + ": " + std::strerror(errno) + "\n";
  [[maybe_unused]] const auto written = write(2, message.data(), message.size());
  _exit(127);
}

}  // namespace

Run run(const std::vector<std::string>& words, double limit,
        const std::map<std::string, std::string>& environment) {
  int ends[2];
  if (pipe(ends) != 0) fail("no pipe to {}: {}", words[0], std::strerror(errno));
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  const double begin = now();
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]), close(ends[1]);
    fail("{} cannot be started: {}", words[0], std::strerror(errno));
  }
  if (child == 0) become(words, ends[1], environment);
  setpgid(child, child);  // whichever of the two comes first
  close(ends[1]);

  Run result;
  char buffer[4096];
  while (true) {
    const double left = begin + limit - now();
    if (left <= 0 || interrupted()) {
      result.timed_out = left <= 0;
      result.interrupted = !result.timed_out;
      kill(-child, SIGKILL);
      break;
    }
    pollfd waiting{ends[0], POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::min(left, 0.1) * 1000) + 1);
    if (ready <= 0) continue;
    const ssize_t count = read(ends[0], buffer, sizeof buffer);
    if (count <= 0) break;  // all that could write to it have ended
    if (result.output.size() < kMostOutput) result.output.append(buffer, static_cast<std::size_t>(count));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {  // it may have closed its output and go on
    if (now() - begin > limit) {
      result.timed_out = true;
      kill(-child, SIGKILL);
    }
    poll(nullptr, 0, 2);
  }
  kill(-child, SIGKILL);  // what it left behind
  result.seconds = now() - begin;
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace tapestry::grader
