// Writing a file so that a reader sees the old one or the new one, never half of it.
#include "lessons/kit/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "lessons/kit/usage_error.hpp"

namespace tapestry::kit {
namespace {

namespace fs = std::filesystem;

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int value() const { return value_; }
  bool open() const { return value_ >= 0; }

 private:
  int value_;
};

[[noreturn]] void fail(const fs::path& path, const char* what) {
  throw UsageError(fmt::format("cannot {} '{}': {}", what, path.string(), std::strerror(errno)));
}

void write_all(int file, std::string_view content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path, "write");
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

void write_atomically(const fs::path& path, std::string_view content) {
  const fs::path beside = path.string() + fmt::format(".new-{}", ::getpid());
  try {
    const Descriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file.open()) fail(path, "write");
    write_all(file.value(), content, path);
    if (::fsync(file.value()) != 0) fail(path, "sync");
    if (::rename(beside.c_str(), path.c_str()) != 0) fail(path, "write");
  } catch (...) {
    ::unlink(beside.c_str());
    throw;
  }
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const Descriptor open_folder(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (open_folder.open()) ::fsync(open_folder.value());  // some file systems cannot: the rename stands anyway
}

void make_writable_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path, error)) {
    throw UsageError(fmt::format("cannot create the folder '{}': {}", path.string(),
                                 error ? error.message() : "something else has that name"));
  }
  const fs::path trial = path / fmt::format(".trial-{}", ::getpid());
  const Descriptor file(::open(trial.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file.open()) fail(path, "write in the folder");
  ::unlink(trial.c_str());
}

}  // namespace tapestry::kit
