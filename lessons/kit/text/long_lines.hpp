// Sentences that are too long to work with: which they are, what is read of them, and how that is said.
#pragma once

#include <string>
#include <string_view>

#include "lessons/kit/text/lexicon.hpp"
#include "lessons/kit/translation/batches.hpp"

namespace tapestry::kit {

/// A word of more bytes is none: nothing is learned from it, and of longer ones the beginning is read.
inline constexpr std::size_t kMostBytesInWord = 500;

/// More than kMostPieces words, or a word of more than kMostBytesInWord: before there is a lexicon.
bool too_long(const Words& sentence);
/// The same, or more than kMostPieces pieces.
bool too_long(const Lexicon& lexicon, const Words& sentence);

/// The words or pieces of a sentence, at most kMostPieces, of the beginnings of words that are too long.
Words first_pieces(const Lexicon& lexicon, const Words& sentence);

/// What is done with sentences that are only read, as LongLines::text() puts it.
inline constexpr std::string_view kOnlyTheFirst = "only the beginning is translated";

/// Counts lines that were too long, and says so in one sentence.
class LongLines {
 public:
  /// Number `line` of the file `origin`.
  void add(std::string_view origin, std::size_t line);
  /// "train.en:6 and 2 more lines have more than 500 words or pieces, or one word of more than 500 bytes:
  /// `what_was_done`"; empty if there was none.
  std::string text(std::string_view what_was_done) const;

 private:
  std::string first_;
  std::size_t count_ = 0;
};

}  // namespace tapestry::kit
