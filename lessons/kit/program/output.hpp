// Standard output and standard error as a lesson has them: what cannot be written does not stop the work, and
// is not forgotten.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace tapestry::kit {

/// While one lives, whatever is printed (through stdout, stderr, std::cout, std::cerr) goes to the
/// descriptors 1 and 2 in such a way that printing never fails: after the first error the rest of that stream
/// is dropped. On a terminal, lines are broken at its width (Wrap); anywhere else the bytes are the same as
/// without it. A descriptor that is closed is kept closed to files that are opened later. Reports of a reader
/// that has gone and of a file's size limit come as errors instead of signals that end the program, for files
/// too.
///
/// Streams that have been pointed elsewhere stay as they are.
class Output {
 public:
  Output();
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// Writes out what is buffered; then, if something of standard output was lost, the system's reason.
  std::optional<std::string> lost();

 private:
  class Stream;
  class Signals;
  std::unique_ptr<Signals> signals_;
  std::unique_ptr<Stream> out_, err_;
};

}  // namespace tapestry::kit
