// A text as characters for a language model: its training and validation parts, and windows from them.
#pragma once

#include <filesystem>
#include <string>

#include "core/tensor/indices.hpp"
#include "lessons/kit/random.hpp"
#include "nn/text/characters.hpp"
#include "nn/transformer/language_model.hpp"

namespace tapestry::kit {

/// A text split at one place: the beginning for training, the end for validation.
struct CharCorpus {
  /// Every character that occurs in either part.
  Characters characters;
  Ids train, valid;
  /// The hash of the whole text, for the name of a run.
  std::uint64_t hash = 0;
};

/// Reads a file. The first ⌊(1 − valid_share) n⌋ of its n characters are for training. Throws UsageError if the
/// file is too large or if a part has fewer than two characters. Throws Error if the file cannot be read, and
/// names the line of a NUL byte or of invalid UTF-8.
CharCorpus read_characters(const std::filesystem::path& file, double valid_share = 0.1);
/// Does the same for a text in memory; messages call it `name`.
CharCorpus cut_characters(const std::string& text, const std::string& name, double valid_share = 0.1);
/// Does the same for a file, or for the course's text if `file` is empty. Throws UsageError also if a part has no more
/// than `context` characters.
CharCorpus read_characters_or_course(const std::filesystem::path& file, double valid_share = 0.1,
                                     Size context = 1);

/// Windows of a text, and for each character in them the character that follows.
struct Windows {
  Indices inputs, targets;  ///< (count, length)
};

/// Draws `count` windows from the text; each start is equally likely. Throws UsageError if the text is not
/// longer than a window.
Windows draw_windows(const Ids& text, Random random, Size count, Size length);

/// Returns the mean loss per character, in nats, of a model in eval mode over a whole text. The text is cut
/// into adjacent windows of `length`; the last one may be shorter. Each character but the first is predicted
/// once, from the earlier characters in its window. With `every` > 1, uses only each `every`-th window. Records
/// no tape.
double loss_per_character(LanguageModel& model, const Ids& text, Size length, Size every = 1);

/// Returns the same loss for a bigram table, counted in the training part and tested on the validation part.
/// Adds 0.1 to the count of each pair, so that no pair has the probability 0.
double loss_of_pairs(const CharCorpus& corpus);

}  // namespace tapestry::kit
