// A file, or standard input, as vectors: a line of numbers for each line of text (--embed-file).
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "core/tensor/tensor.hpp"
#include "lessons/kit/program/options.hpp"
#include "nn/text/word_piece.hpp"

namespace tapestry::kit {

struct FileToEmbed {
  /// "-" is standard input; output: empty is standard output, and a regular file appears when all is written.
  std::filesystem::path file, output;
};

/// Adds --embed-file and --output to the program. When the first is given, nothing but vectors goes to
/// standard output.
void offer(Lesson& program, FileToEmbed& what);

/// Vectors of all rows of ids, (rows, width), in their order.
using Embed = std::function<Tensor(const std::vector<Ids>& rows)>;

/// One line out for each line in, in the order of the input: the numbers of its vector with tabs between
/// them, each in the shortest form that reads back as the same bits. An empty line is a text like any other.
/// Lines are taken in groups of a thousand, or of as many as standard input has to give; each group is
/// written as soon as it is done. Of what lines the pieces beyond the vocabulary's max_length were left out
/// is said on standard error. Throws UsageError for a bad line: before anything is written, but on standard
/// input, where the lines before it come first; and if the result cannot be written.
void embed_file(const WordPiece& pieces, const Embed& embed, const FileToEmbed& what);

}  // namespace tapestry::kit
