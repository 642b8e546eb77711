// Reads, maps and writes whole files with POSIX calls, because the standard library can neither map nor sync.
#include "core/io/file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "core/io/text.hpp"
#include "core/tensor/error.hpp"

namespace tapestry {

namespace {

namespace fs = std::filesystem;

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  operator int() const { return number_; }

 private:
  int number_;
};

[[noreturn]] void refuse(const char* what, const fs::path& path, int error = errno) {
  fail("cannot {} '{}': {}", what, printable(path.native(), 500), std::generic_category().message(error));
}

/// Linux transfers at most about 2 GiB in one call.
constexpr std::size_t kLongest = std::size_t{1} << 30;

void write_all(int file, std::span<const std::byte> bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), std::min(bytes.size(), kLongest));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse("write", path);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

/// Follows a chain of symbolic links to its end, which need not exist, so that a write replaces the file and not the
/// link to it.
fs::path end_of_links(const fs::path& path) {
  constexpr int kMostLinks = 40;  // as in Linux
  fs::path end = path;
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(end, error)); ++links) {
    if (links == kMostLinks) refuse("write", path, ELOOP);
    const fs::path next = fs::read_symlink(end, error);
    if (error) refuse("write", path, error.value());
    end = end.parent_path() / next;  // an absolute target replaces the whole path
  }
  return end;
}

/// Opens the file `temporary` for exclusive writing. The name is fixed, so that a killed process leaves at most one
/// file, which the next write reuses; a lock excludes other writers.
Descriptor open_alone(const fs::path& temporary, const fs::path& path) {
  while (true) {
    // O_NONBLOCK: do not wait for a pipe without a reader. O_NOFOLLOW: rename() would replace the link, not its target.
    Descriptor file(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0644));
    if (file < 0 && errno != ENXIO && errno != ELOOP) refuse("write", path);
    struct stat ours {
    }, there{};
    if (file >= 0 && ::fstat(file, &ours) != 0) refuse("write", path);
    if (file < 0 || !S_ISREG(ours.st_mode))
      fail("cannot write '{}': '{}' exists and is not a regular file; move it elsewhere",
           printable(path.native(), 500), printable(temporary.native(), 500));
    while (::flock(file, LOCK_EX) != 0) {
      if (errno == EOPNOTSUPP || errno == ENOLCK) return file;  // a file system without locks
      if (errno != EINTR) refuse("lock", temporary);
    }
    // While we waited, the other writer may have renamed this file into place. Then we must not write to it.
    if (::stat(temporary.c_str(), &there) == 0 && ours.st_ino == there.st_ino && ours.st_dev == there.st_dev)
      return file;
  }
}

/// Opens a regular file for reading; returns its descriptor and its size.
std::pair<Descriptor, std::size_t> open_regular(const fs::path& path) {
  // Without O_NONBLOCK, opening a pipe without a writer would block forever.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file < 0) refuse("read", path);
  struct stat status {};
  if (::fstat(file, &status) != 0) refuse("read", path);
  if (S_ISDIR(status.st_mode)) refuse("read", path, EISDIR);
  if (!S_ISREG(status.st_mode))
    fail("cannot read '{}': it is not a regular file", printable(path.native(), 500));
  return {std::move(file), static_cast<std::size_t>(status.st_size)};
}

int open_folder_of(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) refuse("open the folder of", path);
  return descriptor;
}

}  // namespace

std::vector<std::byte> read_file(const fs::path& path) {
  const auto [file, size] = open_regular(path);
  std::vector<std::byte> bytes(size);
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::read(file, bytes.data() + have, std::min(bytes.size() - have, kLongest));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse("read", path);
    if (got == 0)
      fail("cannot read '{}': it ended at byte {} of {}; is it still being written?",
           printable(path.native(), 500), have, bytes.size());
    have += static_cast<std::size_t>(got);
  }
  return bytes;
}

MappedFile map_file(const fs::path& path) {
  const auto [file, size] = open_regular(path);
  if (size == 0) return {};  // a mapping has at least one byte
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (start == MAP_FAILED) refuse("map", path);
  const std::size_t length = size;
  return {std::shared_ptr<const void>(start, [start, length](const void*) { ::munmap(start, length); }),
          {static_cast<const std::byte*>(start), length}};
}

void write_file(const fs::path& given, std::span<const std::span<const std::byte>> parts) {
  const fs::path path = end_of_links(given);
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (fs::exists(there) && !fs::is_regular_file(there) && !fs::is_directory(there))
    fail("cannot write '{}': it is not a regular file", printable(given.native(), 500));
  const fs::path temporary = path.native() + ".new";
  const Descriptor folder(open_folder_of(path));  // first, to fail before anything is written
  Descriptor file = open_alone(temporary, path);
  try {
    if (::ftruncate(file, 0) != 0) refuse("write", path);
    for (const auto& part : parts) write_all(file, part, path);
    if (::fsync(file) != 0) refuse("sync", path);
    if (::rename(temporary.c_str(), path.c_str()) != 0) refuse("write", path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  // Some file systems cannot sync a directory and return EINVAL. The rename has succeeded anyway.
  if (::fsync(folder) != 0 && errno != EINVAL) refuse("sync the folder of", path);
}

void write_file(const fs::path& path, std::span<const std::byte> bytes) {
  write_file(path, std::span<const std::span<const std::byte>>(&bytes, 1));
}

}  // namespace tapestry
