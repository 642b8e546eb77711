// Reader that checks the lines of text files and of standard input one by one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry::kit {

/// Limits for text files. A file that exceeds one is rejected, so that a wrong file cannot exhaust the memory.
inline constexpr std::size_t kMostWordsInLine = 10'000;
inline constexpr std::size_t kMostBytesInLine = 1'000'000;
inline constexpr std::size_t kMostBytesInFile = std::size_t{1} << 30;

/// Checks a line and returns it without its "\r". Throws UsageError "origin:number: why" for a NUL byte, invalid UTF-8,
/// or a line that exceeds a limit.
std::string_view checked_line(std::string_view line, std::string_view origin, std::size_t number);

/// Reader that returns a text line by line, without line ends ("\n" or "\r\n"; the last line may have none) and without
/// a byte-order mark. It buffers only the current line and the rest of the last read.
class LineReader {
 public:
  /// Opens a file, or standard input for "-". Throws UsageError with the path if the file is missing, is not a regular
  /// file or cannot be opened.
  explicit LineReader(const std::filesystem::path& path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// Returns the next line, or nothing at the end; waits for standard input. Throws UsageError like checked_line(), and
  /// if reading fails.
  std::optional<std::string> next();
  /// Returns up to `most` lines. There are fewer at the end, and if standard input has no more input yet; the result is
  /// empty only at the end. If a line is rejected, the lines before it are returned first and the next call throws.
  std::vector<std::string> group(std::size_t most = 1000);

  /// Number of lines returned so far, which is the number of the last one, counted from 1.
  std::size_t number() const { return number_; }
  /// The path, or "standard input".
  const std::string& origin() const { return origin_; }

 private:
  bool has_line() const { return unread_.find('\n', searched_) != std::string_view::npos; }
  /// Reads the next block into the buffer.
  void fill();
  /// Returns true if a read would not block, except at the end.
  bool ready() const;

  std::string origin_;
  int descriptor_;
  std::string buffer_;
  std::string_view unread_;   // part of buffer_
  std::size_t searched_ = 0;  // length of the prefix of unread_ without a newline
  std::size_t number_ = 0;
  bool at_end_ = false;
  std::string refused_;  // error of the next line, if it was rejected in group()
};

/// Counts the lines of a file. It reads the whole file and throws UsageError for a bad line.
std::size_t count_lines(const std::filesystem::path& path);

}  // namespace tapestry::kit
