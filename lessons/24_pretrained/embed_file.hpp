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
  /// The file "-" is standard input, and an empty output is standard output. An output that is a regular file
  /// appears only when it is complete.
  std::filesystem::path file, output;
};

/// Adds --embed-file and --output to the program. If --embed-file is given, only vectors are written to
/// standard output.
void offer(Lesson& program, FileToEmbed& what);

/// Returns the vectors of all rows of ids, (rows, width), in the order of the rows.
using Embed = std::function<Tensor(const std::vector<Ids>& rows)>;

/// Writes one line for each input line, in the same order. The numbers of a vector are separated by tabs,
/// each in the shortest form that is read back as the same bits. An empty line is embedded like any other
/// text.
///
/// Lines are processed in groups of a thousand, or as many as standard input has available. Each group is
/// written as soon as it is complete. If a line has more pieces than the vocabulary's max_length, the pieces
/// beyond it are dropped, and a message on standard error says so.
///
/// Throws UsageError for an invalid line, or if the result cannot be written. With a file, an invalid line is
/// found before anything is written. With standard input, the lines before it are written first.
void embed_file(const WordPiece& pieces, const Embed& embed, const FileToEmbed& what);

}  // namespace tapestry::kit
