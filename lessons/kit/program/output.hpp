// Keeps a lesson running when a write to standard output or standard error fails (with glibc and libstdc++). lost()
// reports lost standard output.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace tapestry::kit {

/// Scope for a lesson's output. A write to a closed pipe raises SIGPIPE, and a write beyond a file size limit raises
/// SIGXFSZ. Both signals are ignored in this scope, so such writes, to any file, return an error instead of ending the
/// process.
///
/// With glibc and libstdc++, these rules hold as well:
///  - Printing (through stdout, stderr, std::cout, std::cerr) never fails. After the first error on descriptor 1 or 2,
///    the rest of that stream is dropped.
///  - Lines are wrapped at a terminal's width (Wrap). Output to files and pipes is not changed.
///  - Descriptors 0 to 2 that are closed are opened on /dev/null, so that a file opened later cannot take their number.
///  - If std::cout or std::cerr already has another buffer, it keeps that buffer.
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
