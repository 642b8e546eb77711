// Text files: lines, words, and two files that are translations of each other.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/kit/text/line_reader.hpp"
#include "nn/text/words.hpp"

namespace tapestry::kit {

using tapestry::join_words;
using tapestry::split_words;
using tapestry::Words;

/// The lines of a UTF-8 file without their ends ("\n" or "\r\n"; the last one may lack it; a byte-order mark
/// is skipped). Throws UsageError, with the path and where it can the line, for: a file that is missing, is
/// no regular file or cannot be read; a NUL byte; invalid UTF-8; a line or a file beyond the limits of
/// line_reader.hpp.
std::vector<std::string> read_lines(const std::filesystem::path& path);

/// Hands over each line, numbered from 1, and keeps none: for files that may be larger than the memory. It
/// refuses what read_lines refuses, but for the file's size. Both read standard input for "-".
void for_each_line(const std::filesystem::path& path,
                   const std::function<void(std::string_view line, std::size_t number)>& take);

/// Sentences that are translations of each other, line by line.
struct ParallelText {
  std::vector<Words> source;
  std::vector<Words> target;
};

/// Reads `folder/name.source_language` and `folder/name.target_language` ("train", "en", "fr"). Besides what
/// read_lines refuses: files of different length, files without a line, and lines without a word.
ParallelText read_parallel(const std::filesystem::path& folder, const std::string& name,
                           const std::string& source_language, const std::string& target_language);

/// What stands between sentences that are joined into one: "and" and "et"; or nothing.
struct Joint {
  Words source;
  Words target;
};

/// Sentences joined in `parts` (twos, threes), in the order of the text; a rest of fewer is left out.
ParallelText joined(const ParallelText& text, std::size_t parts, const Joint& joint = {});
/// The text; after it, for a share of its sentences (0.1: a tenth as many), sentences joined in twos and in
/// threes, taken in turn from the beginning of the text and round again.
ParallelText with_joined(const ParallelText& text, double share, const Joint& joint = {});

}  // namespace tapestry::kit
