// Text files: lines, words, and two files that are translations of each other.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry::kit {

/// A sentence as its words.
using Words = std::vector<std::string>;

/// Beyond these a file is refused, so that a wrong file cannot eat the memory.
inline constexpr std::size_t kMostWordsInLine = 10'000;
inline constexpr std::size_t kMostBytesInLine = 1'000'000;
inline constexpr std::size_t kMostBytesInFile = std::size_t{1} << 30;

/// The words of `line`: what stands between spaces, tabs and other ASCII white space.
Words split_words(std::string_view line);
/// The words with one space between them.
std::string join_words(const Words& words);

/// The lines of a UTF-8 file without their ends ("\n" or "\r\n"; the last one may lack it; a byte-order mark
/// is skipped). Throws UsageError, with the path and where it can the line, for: a file that is missing, is
/// no regular file or cannot be read; a NUL byte; invalid UTF-8; a line or a file beyond the limits above.
std::vector<std::string> read_lines(const std::filesystem::path& path);

/// read_lines of text that is already in memory; `origin` takes the path's place in messages.
std::vector<std::string> lines_of(std::string_view text, const std::string& origin);

/// Sentences that are translations of each other, line by line.
struct ParallelText {
  std::vector<Words> source;
  std::vector<Words> target;
};

/// Reads `folder/name.source_language` and `folder/name.target_language` ("train", "en", "fr"). Besides what
/// read_lines refuses: files of different length, files without a line, and lines without a word.
ParallelText read_parallel(const std::filesystem::path& folder, const std::string& name,
                           const std::string& source_language, const std::string& target_language);

}  // namespace tapestry::kit
