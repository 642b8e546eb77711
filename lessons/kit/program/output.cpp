// Standard output and standard error that keep a lesson running when a write fails. With glibc and libstdc++ these are
// custom streams, which drop what they cannot write. Elsewhere the usual streams stay in use: lines are not wrapped at
// the terminal's width, and a failed write is still reported at the end.
#include "lessons/kit/program/output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "lessons/kit/program/terminal.hpp"
#include "lessons/kit/program/wrap.hpp"

#if defined(__GLIBC__) && defined(__GLIBCXX__)
#include <ext/stdio_sync_filebuf.h>
#define TAPESTRY_GNU_STREAMS 1
#endif

namespace tapestry::kit {

/// Scope in which SIGPIPE and SIGXFSZ, the signals that a write can raise, are ignored.
class Output::Signals {
 public:
  Signals() : pipe_(std::signal(SIGPIPE, SIG_IGN)), size_(std::signal(SIGXFSZ, SIG_IGN)) {}
  ~Signals() {
    std::signal(SIGPIPE, pipe_);
    std::signal(SIGXFSZ, size_);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  void (*pipe_)(int);
  void (*size_)(int);
};

#ifdef TAPESTRY_GNU_STREAMS

namespace {

using StdioBuffer = __gnu_cxx::stdio_sync_filebuf<char>;

/// Opens /dev/null on a closed descriptor. Otherwise a file that is opened later would get its number and receive the
/// printed text. open() returns the lowest free number, so the lower descriptors must be open. Returns false if the
/// descriptor was open already.
bool fill(int descriptor) {
  if (::fcntl(descriptor, F_GETFD) != -1) return false;
  ::open("/dev/null", O_RDWR);
  return true;
}

/// Writes all of `text`. Returns 0, or the errno of the failed write.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {  // another process made it non-blocking
      pollfd ready{descriptor, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

/// Replacement for stdout or stderr, and for the buffer of the C++ stream that writes there.
class Output::Stream {
 public:
  Stream(int descriptor, std::FILE*& place, std::ostream& stream)
      : descriptor_(descriptor), place_(place), before_(place), stream_(stream) {
    if (fill(descriptor)) error_ = EBADF;
    std::fflush(before_);
    file_ = ::fopencookie(this, "w", {nullptr, write, nullptr, nullptr});
    if (file_ == nullptr) return;  // out of memory: keep the usual stream
    struct stat status {};
    const bool known = ::fstat(descriptor, &status) == 0;
    const bool terminal = Terminal::of(descriptor).interactive;
    // The buffer has the C library's usual size, so that both streams keep their usual order in a shared file.
    buffer_.resize(known && !terminal && status.st_blksize > 0 && status.st_blksize < BUFSIZ
                       ? static_cast<std::size_t>(status.st_blksize)
                       : BUFSIZ);
    const int mode = descriptor == STDERR_FILENO ? _IONBF : ::isatty(descriptor) == 1 ? _IOLBF : _IOFBF;
    std::setvbuf(file_, mode == _IONBF ? nullptr : buffer_.data(), mode, buffer_.size());
    auto* const usual = dynamic_cast<StdioBuffer*>(stream.rdbuf());
    if (usual != nullptr && usual->file() == before_) {
      stdio_ = std::make_unique<StdioBuffer>(file_);
      stream_buffer_ = stream.rdbuf(stdio_.get());
    }
    place_ = file_;
  }
  ~Stream() {
    if (file_ == nullptr) return;
    if (stream_buffer_ != nullptr) stream_.rdbuf(stream_buffer_);
    place_ = before_;
    std::fclose(file_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int error() {
    std::fflush(place_);
    return error_;
  }

 private:
  static ssize_t write(void* stream, const char* text, std::size_t bytes) {
    static_cast<Stream*>(stream)->write({text, bytes});
    return static_cast<ssize_t>(bytes);  // always, because an error would stop the lesson
  }
  void write(std::string_view text) {
    if (error_ != 0) return;
    const Terminal terminal = Terminal::of(descriptor_);
    error_ = terminal.interactive ? write_all(descriptor_, wrap_(text, terminal.columns))
                                  : write_all(descriptor_, text);
  }

  int descriptor_;
  std::FILE*& place_;
  std::FILE* before_;
  std::FILE* file_ = nullptr;
  std::ostream& stream_;
  std::unique_ptr<StdioBuffer> stdio_;
  std::streambuf* stream_buffer_ = nullptr;  // the original buffer of stream_, while it uses stdio_
  std::vector<char> buffer_;
  Wrap wrap_;
  int error_ = 0;
};

Output::Output() : signals_(std::make_unique<Signals>()) {
  fill(STDIN_FILENO);
  out_ = std::make_unique<Stream>(STDOUT_FILENO, stdout, std::cout);
  err_ = std::make_unique<Stream>(STDERR_FILENO, stderr, std::cerr);
}

Output::~Output() = default;

std::optional<std::string> Output::lost() {
  std::cout.flush();
  const int error = out_->error();
  if (error == 0) return std::nullopt;
  return std::generic_category().message(error);
}

#else

class Output::Stream {};

Output::Output() : signals_(std::make_unique<Signals>()) {}
Output::~Output() = default;

std::optional<std::string> Output::lost() {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return std::nullopt;
  return std::generic_category().message(errno != 0 ? errno : EIO);
}

#endif

}  // namespace tapestry::kit
