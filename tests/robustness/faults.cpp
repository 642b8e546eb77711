// Preloaded into a lesson (LD_PRELOAD): makes one system call on the files under a folder fail, do half of
// its work or kill the process, and moves the clock so that checkpoints come every few steps. All is said by
// the environment:
//
//   TAPESTRY_FAULT_UNDER  the folder; its files' calls are numbered from 1
//   TAPESTRY_FAULT_LOG    a file that gets a line "call path" for each of them, in order
//   TAPESTRY_FAULT_AT     the number of the call to spoil
//   TAPESTRY_FAULT_DO     how: kill (before it), kill_half (a write: after half of it), kill_after, short (a read
//                         or write of half the bytes), or the error number that it fails with
//   TAPESTRY_FAULT_STAYS  1: every later call that wants to write fails alike, as on a full disk
//   TAPESTRY_FAULT_TICK   seconds by which the first thread's monotonic clock moves at each look
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

namespace {

/// The function that this library stands in front of.
template <class Function>
Function* behind(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

std::string_view setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

enum class Kind { read, write, tidy };  // tidy: what a program may try and need not succeed in
struct Verdict {
  int error = 0;
  bool half = false, kill_after = false;
};

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  while (true) ::pause();
}

/// Numbers the call, writes it down, and says what is to become of it.
Verdict judge(const char* call, const std::string& path, Kind kind) {
  static const std::string under(setting("TAPESTRY_FAULT_UNDER")), log(setting("TAPESTRY_FAULT_LOG")),
      how(setting("TAPESTRY_FAULT_DO"));
  static const long at = std::atol(std::string(setting("TAPESTRY_FAULT_AT")).c_str());
  static const bool stays = !setting("TAPESTRY_FAULT_STAYS").empty();
  static std::atomic<long> calls{0};
  if (under.empty() || path.compare(0, under.size(), under) != 0) return {};
  const long number = ++calls;
  if (!log.empty()) {
    static const int file = behind<int(const char*, int, ...)>("open")(
        log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const std::string line = std::string(call) + ' ' + path + '\n';
    if (behind<ssize_t(int, const void*, size_t)>("write")(file, line.data(), line.size()) < 0) std::abort();
  }
  const bool here = number == at, later = stays && at > 0 && number > at && kind == Kind::write;
  if (!here && !later) return {};
  if (how == "kill") die();
  if (how == "kill_half") return {0, true, true};
  if (how == "kill_after") return {0, false, true};
  if (how == "short") return {0, true, false};
  return {std::atoi(how.c_str()), false, false};
}

/// The call, spoiled or not: `whole` is all of it, `half` what is left when it does half.
template <class Result, class Whole, class Half>
Result spoiled(const Verdict& verdict, Result failed, const Whole& whole, const Half& half) {
  if (verdict.error != 0) {
    errno = verdict.error;
    return failed;
  }
  const Result result = verdict.half ? half() : whole();
  if (verdict.kill_after) die();
  return result;
}
template <class Result, class Whole>
Result spoiled(const Verdict& verdict, Result failed, const Whole& whole) {
  return spoiled(verdict, failed, whole, whole);
}

std::string path_of(int file) {
  char name[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t size = ::readlink(link.c_str(), name, sizeof(name));
  return size < 0 ? std::string() : std::string(name, static_cast<std::size_t>(size));
}

std::size_t half_of(std::size_t count) { return (count + 1) / 2; }

int open_spoiled(const char* name, const char* path, int flags, mode_t mode) {
  const bool writes = (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0;
  const Verdict verdict = judge(writes ? "open" : "open_to_read", path, writes ? Kind::write : Kind::read);
  return spoiled(verdict, -1, [&] { return behind<int(const char*, int, ...)>(name)(path, flags, mode); });
}

std::FILE* fopen_spoiled(const char* name, const char* path, const char* mode) {
  const bool writes = mode[0] != 'r' || std::strchr(mode, '+') != nullptr;
  const Verdict verdict = judge(writes ? "open" : "open_to_read", path, writes ? Kind::write : Kind::read);
  return spoiled(verdict, static_cast<std::FILE*>(nullptr),
                 [&] { return behind<std::FILE*(const char*, const char*)>(name)(path, mode); });
}

mode_t mode_of(int flags, va_list more) { return (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0; }

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return open_spoiled("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return open_spoiled("open64", path, flags, mode);
}

std::FILE* fopen(const char* path, const char* mode) { return fopen_spoiled("fopen", path, mode); }
std::FILE* fopen64(const char* path, const char* mode) { return fopen_spoiled("fopen64", path, mode); }

ssize_t write(int file, const void* bytes, size_t count) {
  const auto real = behind<ssize_t(int, const void*, size_t)>("write");
  return spoiled(
      judge("write", path_of(file), Kind::write), ssize_t{-1}, [&] { return real(file, bytes, count); },
      [&] { return real(file, bytes, half_of(count)); });
}

ssize_t writev(int file, const iovec* parts, int count) {
  const auto real = behind<ssize_t(int, const iovec*, int)>("writev");
  return spoiled(
      judge("write", path_of(file), Kind::write), ssize_t{-1}, [&] { return real(file, parts, count); },
      [&] {
        const iovec part{parts[0].iov_base, half_of(parts[0].iov_len)};
        return real(file, &part, 1);
      });
}

ssize_t read(int file, void* bytes, size_t count) {
  const auto real = behind<ssize_t(int, void*, size_t)>("read");
  return spoiled(
      judge("read", path_of(file), Kind::read), ssize_t{-1}, [&] { return real(file, bytes, count); },
      [&] { return real(file, bytes, half_of(count)); });
}

int fsync(int file) {
  return spoiled(judge("fsync", path_of(file), Kind::write), -1,
                 [&] { return behind<int(int)>("fsync")(file); });
}

int ftruncate(int file, off_t size) noexcept {
  return spoiled(judge("ftruncate", path_of(file), Kind::write), -1,
                 [&] { return behind<int(int, off_t)>("ftruncate")(file, size); });
}

int rename(const char* from, const char* to) noexcept {
  return spoiled(judge("rename", to, Kind::write), -1,
                 [&] { return behind<int(const char*, const char*)>("rename")(from, to); });
}

int mkdir(const char* path, mode_t mode) noexcept {
  return spoiled(judge("mkdir", path, Kind::write), -1,
                 [&] { return behind<int(const char*, mode_t)>("mkdir")(path, mode); });
}

int flock(int file, int operation) noexcept {
  return spoiled(judge("flock", path_of(file), Kind::read), -1,
                 [&] { return behind<int(int, int)>("flock")(file, operation); });
}

int unlink(const char* path) noexcept {
  return spoiled(judge("unlink", path, Kind::tidy), -1,
                 [&] { return behind<int(const char*)>("unlink")(path); });
}

int remove(const char* path) noexcept {
  return spoiled(judge("remove", path, Kind::tidy), -1,
                 [&] { return behind<int(const char*)>("remove")(path); });
}

int close(int file) {
  const Verdict verdict = judge("close", path_of(file), Kind::tidy);
  const int result = behind<int(int)>("close")(file);  // an error of close() has closed the file all the same
  return spoiled(verdict, -1, [&] { return result; });
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const double tick = std::atof(std::string(setting("TAPESTRY_FAULT_TICK")).c_str());
  const int result = behind<int(clockid_t, timespec*)>("clock_gettime")(clock, time);
  if (tick <= 0 || clock != CLOCK_MONOTONIC || ::gettid() != ::getpid()) return result;
  static double seconds = 1000;
  seconds += tick;
  time->tv_sec = static_cast<time_t>(seconds);
  time->tv_nsec = static_cast<long>((seconds - static_cast<double>(time->tv_sec)) * 1e9);
  return 0;
}

}  // extern "C"
