// Length limits for sentences, truncation to them, and a note about the lines that exceed them.
#pragma once

#include <string>
#include <string_view>

#include "lessons/kit/text/lexicon.hpp"
#include "lessons/kit/translation/batches.hpp"

namespace tapestry::kit {

/// Largest number of bytes in a word. Sentences with a longer word are left out of training; for translation, the word
/// is truncated.
inline constexpr std::size_t kMostBytesInWord = 500;

/// Returns true for more than kMostPieces words, or a word of more than kMostBytesInWord. For use before a lexicon
/// exists.
bool too_long(const Words& sentence);
/// Returns true as above, or for more than kMostPieces pieces.
bool too_long(const Lexicon& lexicon, const Words& sentence);

/// Returns the first words or pieces of a sentence, at most kMostPieces. Words that are too long are truncated.
Words first_pieces(const Lexicon& lexicon, const Words& sentence);

/// Consequence for sentences that are translated but not trained on, for LongLines::text().
inline constexpr std::string_view kOnlyTheFirst = "only the beginning is translated";

/// Counter of lines that are too long, which summarises them in one sentence.
class LongLines {
 public:
  /// Adds line number `line` of the file `origin`.
  void add(std::string_view origin, std::size_t line);
  /// Returns "train.en:6 and 2 more lines have more than 500 words or pieces, or one word of more than 500 bytes:
  /// `what_was_done`", or an empty string if no line was added.
  std::string text(std::string_view what_was_done) const;

 private:
  std::string first_;
  std::size_t count_ = 0;
};

}  // namespace tapestry::kit
