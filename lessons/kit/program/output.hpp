// Standard output and standard error that keep a lesson running when a write fails, and report the loss at the end.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace tapestry::kit {

/// Scope in which printing (through stdout, stderr, std::cout, std::cerr) never fails. After the first error on
/// descriptor 1 or 2, the rest of that stream is dropped. On a terminal, lines are wrapped at its width (Wrap);
/// elsewhere the bytes are unchanged. A closed descriptor is not reused by files that are opened later. A closed pipe
/// (SIGPIPE) and a file size limit (SIGXFSZ) are errors instead of fatal signals, for files too.
///
/// Streams that have already been redirected are left alone.
class Output {
 public:
  Output();
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// Flushes the buffers. Returns the system's reason if some of standard output was lost.
  std::optional<std::string> lost();

 private:
  class Stream;
  class Signals;
  std::unique_ptr<Signals> signals_;
  std::unique_ptr<Stream> out_, err_;
};

}  // namespace tapestry::kit
