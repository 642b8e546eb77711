// Reading of text files: lines, words, and parallel text in two languages.
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

/// Returns the lines of a UTF-8 file without line ends ("\n" or "\r\n"; the last line may have none) and without a
/// byte-order mark. Reads standard input for "-". Throws UsageError with the path, and if possible the line, for a file
/// that is missing, is not a regular file or cannot be read; a NUL byte; invalid UTF-8; or a line or file beyond the
/// limits of line_reader.hpp.
std::vector<std::string> read_lines(const std::filesystem::path& path);

/// Calls `take` for each line, numbered from 1, and stores none, so that the file may be larger than the memory. Reads
/// standard input for "-". Throws like read_lines(), but has no limit on the file size.
void for_each_line(const std::filesystem::path& path,
                   const std::function<void(std::string_view line, std::size_t number)>& take);

/// Parallel text: source[i] and target[i] are translations of each other.
struct ParallelText {
  std::vector<Words> source;
  std::vector<Words> target;
};

/// Reads `folder/name.source_language` and `folder/name.target_language` ("train", "en", "fr"). Throws UsageError like
/// read_lines(), and for files of different length, empty files and lines without a word.
ParallelText read_parallel(const std::filesystem::path& folder, const std::string& name,
                           const std::string& source_language, const std::string& target_language);

/// Words between joined sentences, such as "and" and "et"; may be empty.
struct Joint {
  Words source;
  Words target;
};

/// Joins each `parts` consecutive sentences into one, in the order of the text. An incomplete group at the end is left
/// out.
ParallelText joined(const ParallelText& text, std::size_t parts, const Joint& joint = {});
/// Returns the text followed by share · (number of sentences) joined sentences. They consist of two and three sentences
/// in turn, taken in order from the start of the text, cyclically.
ParallelText with_joined(const ParallelText& text, double share, const Joint& joint = {});

}  // namespace tapestry::kit
