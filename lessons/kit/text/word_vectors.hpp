// Word vectors that somebody else trained, in GloVe's or word2vec's text form.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "core/tensor/tensor.hpp"
#include "lessons/kit/text/vocabulary.hpp"

namespace tapestry::kit {

/// The vectors of those words of a file that a vocabulary has too.
struct WordVectors {
  Size width = 0;                                 ///< numbers for a word
  Size in_file = 0;                               ///< words in the file
  std::map<std::int64_t, std::vector<float>> of;  ///< by the vocabulary's id
};

/// Reads a file with a word and its numbers on each line, apart by spaces; before them there may be a line
/// with how many words there are and how many numbers each has (word2vec's). Of a word that comes twice the
/// first counts. The last fields of a line are its numbers; a word with spaces in it, as some files have, cannot be in a
/// vocabulary and is passed over. The last line may be empty.
/// Only the wanted vectors are kept, so the file may be larger than the memory.
///
/// Throws UsageError with the path, and where it can the line, for what read_lines refuses, an empty file, a
/// line with too few numbers, a number that is none, is not finite or does not fit f32, and a
/// first line that disagrees with the rest.
WordVectors read_word_vectors(const std::filesystem::path& path, const Vocabulary& wanted);

/// Writes the vectors into an embedding's weight (words, width); the other rows stay as they are.
void put_word_vectors(const WordVectors& vectors, Tensor table);

}  // namespace tapestry::kit
