// Embeds the lines of a file or of standard input: one line of numbers for each line of text (--embed-file).
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "core/tensor/tensor.hpp"
#include "lessons/kit/program/options.hpp"
#include "nn/text/word_piece.hpp"

namespace tapestry::kit {

struct FileToEmbed {
  /// If `file` is "-", the lines come from standard input. If `output` is empty, the result goes to standard
  /// output. A regular output file is created only once the result is complete.
  std::filesystem::path file, output;
};

/// Adds the options --embed-file and --output to the program; their values are stored in `what`. If
/// --embed-file is given, only vectors are written to standard output.
void add_options(Lesson& program, FileToEmbed& what);

/// A function that maps rows of ids to their vectors (rows, width), in the same order.
using Embed = std::function<Tensor(const std::vector<Ids>& rows)>;

/// Writes one line for each input line, in the same order. The numbers of a vector are separated by tabs,
/// each in the shortest decimal form that round-trips. An empty line is embedded like any other text.
///
/// Lines are processed in groups of up to a thousand; a group is smaller if standard input has no more lines
/// yet. Each group is written as soon as it is complete. A line keeps only its first max_length − 2 pieces (an
/// option of WordPiece; two places are for special tokens). If any line was shortened, a message at the end on
/// standard error says so.
///
/// Throws UsageError if the result cannot be written, or for an invalid line: one that is not UTF-8, contains a NUL
/// byte, or is above the limits of line_reader.hpp. A file is checked before anything is written. With standard
/// input, the lines before the invalid one are written first.
void embed_file(const WordPiece& pieces, const Embed& embed, const FileToEmbed& what);

}  // namespace tapestry::kit
