// Lines of text files and of standard input, checked one by one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry::kit {

/// Beyond these a file is refused, so that a wrong file cannot eat the memory.
inline constexpr std::size_t kMostWordsInLine = 10'000;
inline constexpr std::size_t kMostBytesInLine = 1'000'000;
inline constexpr std::size_t kMostBytesInFile = std::size_t{1} << 30;

/// A line that may be read, without its "\r". Throws UsageError "origin:number: why" for a NUL byte, invalid
/// UTF-8, and a line beyond the limits.
std::string_view checked_line(std::string_view line, std::string_view origin, std::size_t number);

/// Hands out a text line by line, without their ends ("\n" or "\r\n"; the last one may lack it; a byte-order
/// mark is skipped), and keeps no more than a line and what was read with it.
class LineReader {
 public:
  /// A file; or "-", standard input. Throws UsageError, with the path, for a file that is missing, is no
  /// regular file or cannot be opened.
  explicit LineReader(const std::filesystem::path& path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// The next line, or nothing at the end. It waits for standard input. Throws UsageError as checked_line()
  /// does, and where reading fails.
  std::optional<std::string> next();
  /// Up to `most` lines; fewer at the end, and where standard input has no more for the moment. Empty only at
  /// the end. A line that is refused comes with the next call, after those before it.
  std::vector<std::string> group(std::size_t most = 1000);

  /// The lines handed out so far: the number of the last one, from 1.
  std::size_t number() const { return number_; }
  /// The path, or "standard input".
  const std::string& origin() const { return origin_; }

 private:
  bool has_line() const { return unread_.find('\n', searched_) != std::string_view::npos; }
  /// Reads on.
  void fill();
  /// More can be had without waiting.
  bool ready() const;

  std::string origin_;
  int descriptor_;
  std::string buffer_;
  std::string_view unread_;   // of the buffer
  std::size_t searched_ = 0;  // so much of it holds no end of a line
  std::size_t number_ = 0;
  bool at_end_ = false;
  std::string refused_;  // why the next line cannot be handed out
};

/// How many lines a file has. It reads all of it, and so throws for every bad line.
std::size_t count_lines(const std::filesystem::path& path);

}  // namespace tapestry::kit
