#include "lessons/kit/program/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <string>
#include <system_error>

#include "core/io/file.hpp"
#include "core/tensor/error.hpp"
#include "lessons/kit/program/usage_error.hpp"

namespace tapestry::kit {

namespace fs = std::filesystem;

void write_atomically(const fs::path& path, std::string_view content) {
  try {
    write_file(path, std::as_bytes(std::span(content.data(), content.size())));
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

bool create_atomically(const fs::path& path, std::string_view content) {
  const fs::path beside = path.string() + fmt::format(".{}.new", ::getpid());
  write_atomically(beside, content);
  const int linked = ::link(beside.c_str(), path.c_str());  // unlike rename(), it never replaces a file
  const int error = errno;
  std::error_code none;
  if (linked != 0 && error != EEXIST && !fs::exists(fs::symlink_status(path, none)))
    fs::rename(beside, path);  // the file system has no hard links
  else
    fs::remove(beside, none);
  return linked == 0 || error != EEXIST;
}

void make_writable_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path, error)) {
    throw UsageError(fmt::format("cannot create the folder '{}': {}", path.string(),
                                 error ? error.message() : "a file with that name exists"));
  }
  // All processes use the same name, so a killed process leaves at most one file, which the next one removes.
  const fs::path trial = path / ".trial";
  write_atomically(trial, "");
  fs::remove(trial, error);
}

void append(const fs::path& path, std::string_view text) {
  const auto refuse = [&](int error) {
    throw UsageError(
        fmt::format("cannot write '{}': {}", path.string(), std::generic_category().message(error)));
  };
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0644);
  if (file < 0) refuse(errno);
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error = errno;
      ::close(file);
      refuse(error);
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::close(file) != 0) refuse(errno);  // a network file system may report a full disk only here
}

FolderLock::FolderLock(const fs::path& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0) return;
  int result = 0;
  do {
    result = ::flock(descriptor_, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  if (result == 0 || errno != EWOULDBLOCK) return;
  ::close(descriptor_);
  throw UsageError(fmt::format(
      "another run is using the folder '{}'; wait until it ends, or choose another --out", folder.string()));
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace tapestry::kit
