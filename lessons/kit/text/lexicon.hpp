// Lexicon of a language: the mapping between words, or subword pieces, and token ids.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lessons/kit/text/vocabulary.hpp"
#include "nn/text/byte_pairs.hpp"
#include "optim/training_state.hpp"

namespace tapestry::kit {

/// Vocabulary of words, or of subword pieces together with the byte-pair encoding that splits words into them. The
/// interface takes and returns words in both cases.
class Lexicon {
 public:
  Lexicon() = default;
  /// Creates a lexicon of whole words. The conversion is implicit, so a vocabulary can be passed as a lexicon.
  Lexicon(Vocabulary words) : vocabulary_(std::move(words)) {}
  Lexicon(Vocabulary pieces, BytePairs byte_pairs)
      : vocabulary_(std::move(pieces)), byte_pairs_(std::move(byte_pairs)) {}
  /// Learns a lexicon from a text. With `merges` = 0 it holds words; otherwise it learns that many byte-pair merges and
  /// holds pieces. Words or pieces that occur fewer than `at_least` times get no id.
  static Lexicon learn(const std::vector<Words>& sentences, Size at_least, Size merges = 0);

  /// Number of ids: words or pieces, and the special tokens.
  Size size() const { return vocabulary_.size(); }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  const std::optional<BytePairs>& byte_pairs() const { return byte_pairs_; }
  /// Returns a description without the special tokens: "5917 words", "4210 pieces of words".
  std::string text() const;

  /// Returns true if every piece of the word has an id.
  bool contains(const std::string& word) const;
  /// Split words into the units that have ids, the words themselves or their pieces, and join such units into words.
  Words split(const Words& words) const;
  Words join(const Words& pieces) const;
  /// Returns the index of the joined word for each piece: "skate", "board</w>", "." gives 0, 0, 1.
  std::vector<Size> places(const Words& pieces) const;
  /// Returns the pieces of the words as picture labels: "skate-", "board".
  Words labels(const Words& words) const;

  /// Encode words as ids followed by <end>, or between <start> and <end>.
  Ids encode_source(const Words& words) const { return vocabulary_.encode_source(split(words)); }
  Ids encode_target(const Words& words) const { return vocabulary_.encode_target(split(words)); }
  /// Decodes ids into words or pieces, for join(). Throws Error for an id outside the vocabulary.
  Words pieces(const Ids& ids) const;

  /// Save the lexicon as texts of a checkpoint, under `name` and, for the merges, "`name` merges", and load it from
  /// there. from() throws Error, with `origin`, for a missing or bad text.
  void put(std::map<std::string, std::string>& texts, const std::string& name) const;
  static Lexicon from(const TrainingState& saved, const std::string& name, const std::string& origin);

  bool operator==(const Lexicon& other) const {
    return vocabulary_ == other.vocabulary_ && byte_pairs_ == other.byte_pairs_;
  }

 private:
  Vocabulary vocabulary_;
  std::optional<BytePairs> byte_pairs_;
};

}  // namespace tapestry::kit
