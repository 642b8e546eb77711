#include "tests/programs/program.hpp"

#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace tapestry::test {

namespace {

constexpr unsigned kMostSeconds = 240;  // for a run that hangs; some run under a sanitizer

[[noreturn]] void become(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::alarm(kMostSeconds);
  ::execv(arguments[0], arguments.data());
  std::_Exit(126);
}

Ended ended(pid_t id) {
  int status = 0;
  while (::waitpid(id, &status, 0) < 0 && errno == EINTR) {
  }
  Ended end;
  if (WIFEXITED(status)) end.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

Program::Program(std::vector<std::string> words, const std::function<void()>& surroundings) : id_(::fork()) {
  if (id_ < 0) throw std::runtime_error("cannot fork");
  if (id_ > 0) return;
  lead(0, "/dev/null");
  lead(1, (folder_ / "out").c_str());
  lead(2, (folder_ / "err").c_str());
  if (surroundings) surroundings();
  become(words);
}

Program::~Program() {
  if (id_ > 0) kill();
}

Ended Program::wait() {
  Ended end = ended(std::exchange(id_, 0));
  end.out = content(folder_ / "out");
  end.err = content(folder_ / "err");
  return end;
}

Ended Program::kill() {
  ::kill(id_, SIGKILL);
  return wait();
}

Ended run(std::vector<std::string> words, const std::function<void()>& surroundings) {
  return Program(std::move(words), surroundings).wait();
}

Ended run_on_terminal(std::vector<std::string> words, int columns) {
  winsize size{};
  size.ws_col = static_cast<unsigned short>(columns);
  size.ws_row = 24;
  int screen = -1;
  const pid_t id = ::forkpty(&screen, nullptr, nullptr, &size);
  if (id < 0) throw std::runtime_error("cannot open a terminal");
  if (id == 0) {
    ::setenv("TERM", "xterm-256color", 1);
    become(words);
  }
  std::string shown;
  char piece[4096];
  while (true) {
    const ssize_t bytes = ::read(screen, piece, sizeof piece);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;  // EIO: the program has ended
    shown.append(piece, static_cast<std::size_t>(bytes));
  }
  ::close(screen);
  Ended end = ended(id);
  end.out = std::move(shown);
  return end;
}

std::string lesson(const std::string& name) {
  return std::string(TAPESTRY_LESSONS_FOLDER) + "/" + name + "/lesson";
}

void lead(int descriptor, const char* path) {
  const int file = ::open(path, O_RDWR | O_CREAT | O_APPEND, 0644);
  ::dup2(file, descriptor);
  if (file > 2) ::close(file);
}

}  // namespace tapestry::test
