// Writer of lines to standard output, or to a file that appears only when it is complete.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

namespace tapestry::kit {

/// Writer of lines. Every member throws UsageError, with the path, if writing fails.
class LineWriter {
 public:
  /// Opens `path`, or standard output if it is empty. A path that is not a regular file (/dev/null, a pipe) is written
  /// directly. A regular file has the suffix ".part" until finish().
  explicit LineWriter(const std::filesystem::path& path);
  /// Closes the file. Without finish(), the ".part" file remains, unless a write has failed.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  /// Writes a line and a newline.
  void line(std::string_view text);
  /// Passes all lines so far to the system.
  void flush();
  /// Syncs and closes the file and gives it its final name.
  void finish();

 private:
  [[noreturn]] void fail_to_write() const;

  std::filesystem::path path_, part_;  // empty: standard output; no ".part" file
  std::FILE* file_ = stdout;
};

}  // namespace tapestry::kit
