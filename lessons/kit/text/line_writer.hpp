// Lines as the result of a program: to standard output, or to a file that is there when it is whole.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

namespace tapestry::kit {

class LineWriter {
 public:
  /// Empty: standard output. What is no regular file (/dev/null, a pipe) is written at once; any other file
  /// under its name with ".part" at the end until finish(). Throws UsageError for what cannot be written.
  explicit LineWriter(const std::filesystem::path& path);
  /// Without finish(), what was written stays under the name with ".part", unless a write has failed.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  /// Throws UsageError, as all of them, when it cannot be written.
  void line(std::string_view text);
  /// Hands on all lines so far.
  void flush();
  /// The file takes its name.
  void finish();

 private:
  [[noreturn]] void fail_to_write() const;

  std::filesystem::path path_, part_;  // empty: none of these
  std::FILE* file_ = stdout;
};

}  // namespace tapestry::kit
