// Pretrained word vectors in the text format of GloVe or word2vec.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "core/tensor/tensor.hpp"
#include "lessons/kit/text/vocabulary.hpp"

namespace tapestry::kit {

/// Vectors of the words that both a file and a vocabulary have.
struct WordVectors {
  Size width = 0;                                 ///< dimension of a vector
  Size in_file = 0;                               ///< number of words in the file
  std::map<std::int64_t, std::vector<float>> of;  ///< vectors by vocabulary id
};

/// Reads a file with one word and its numbers per line, separated by spaces. The first line may be word2vec's header:
/// the number of words and the dimension. If a word occurs twice, the first line wins. The last fields of a line are
/// its numbers; a word with spaces cannot be in a vocabulary and is skipped. The last line may be empty. Only the
/// vectors of `wanted` are stored, so the file may be larger than the memory.
///
/// Throws UsageError with the path, and if possible the line, like for_each_line(), and for an empty file, a line with
/// too few numbers, a number that is invalid, not finite or beyond f32, and a header that contradicts the rest.
WordVectors read_word_vectors(const std::filesystem::path& path, const Vocabulary& wanted);

/// Copies the vectors into an embedding's weight (words, width). The other rows are unchanged. Throws
/// std::invalid_argument if the width differs.
void put_word_vectors(const WordVectors& vectors, Tensor table);

}  // namespace tapestry::kit
