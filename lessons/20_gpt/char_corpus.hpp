// Any text as characters for a language model: its two parts, and windows cut from them.
#pragma once

#include <filesystem>
#include <string>

#include "core/tensor/values.hpp"
#include "lessons/kit/random.hpp"
#include "nn/text/characters.hpp"
#include "nn/transformer/language_model.hpp"

namespace tapestry::kit {

/// A text cut in two where it stands: the beginning to train on, the end to validate with.
struct CharCorpus {
  /// Every character that occurs in either part.
  Characters characters;
  Ids train, valid;
  /// The hash of the whole text, for the name of a run.
  std::uint64_t hash = 0;
};

/// The first ⌊(1 − valid_share) n⌋ of the n characters are for training. Throws UsageError for a file that is
/// too large, and for one that leaves a part with less than two characters; Error for what cannot be read,
/// and with the line for a NUL byte or invalid UTF-8.
CharCorpus read_characters(const std::filesystem::path& file, double valid_share = 0.1);
/// The same for a text that is at hand; `name` stands in messages.
CharCorpus cut_characters(const std::string& text, const std::string& name, double valid_share = 0.1);

/// Pieces of a text, and the character that follows each of their characters.
struct Windows {
  Indices inputs, targets;  ///< (count, length)
};

/// `count` windows from anywhere in the text, each start equally likely. Throws UsageError if the text is not
/// longer than a window.
Windows draw_windows(const Ids& text, Random random, Size count, Size length);

/// The mean loss per character, in nats, of a model in eval mode over a whole text, which it reads in windows
/// of `length` side by side: each character but the first is predicted once, from those before it in its
/// window. The last window may be shorter. With `every` > 1, only every so many-th window. No tape.
double loss_per_character(LanguageModel& model, const Ids& text, Size length, Size every = 1);

/// The same of a table of pairs counted in the training part, over the validation part. Each pair counts for
/// a tenth more than it occurs, so that none is impossible.
double loss_of_pairs(const CharCorpus& corpus);

}  // namespace tapestry::kit
