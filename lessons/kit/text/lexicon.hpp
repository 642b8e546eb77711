// A language as a model reads and writes it: words, or pieces of words, by number.
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

/// A vocabulary and, where words are cut into pieces, the byte pairs that cut them: the vocabulary is then
/// one of pieces. What goes in and comes out is words either way.
class Lexicon {
 public:
  Lexicon() = default;
  /// Whole words. Implicit: wherever a lexicon is wanted, a vocabulary will do.
  Lexicon(Vocabulary words) : vocabulary_(std::move(words)) {}
  Lexicon(Vocabulary pieces, BytePairs byte_pairs)
      : vocabulary_(std::move(pieces)), byte_pairs_(std::move(byte_pairs)) {}
  /// From a text: its words, or with `merges` > 0 the pieces that so many merges, learned from it, leave of
  /// them. Words or pieces that occur less than `at_least` times get no number.
  static Lexicon learn(const std::vector<Words>& sentences, Size at_least, Size merges = 0);

  /// Numbers: of words or pieces, and of the specials.
  Size size() const { return vocabulary_.size(); }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  const std::optional<BytePairs>& byte_pairs() const { return byte_pairs_; }
  /// "5917 words", "4210 pieces of words"
  std::string text() const;

  /// Every piece of the word has a number.
  bool contains(const std::string& word) const;
  /// What has numbers: the words themselves, or their pieces; and back.
  Words split(const Words& words) const;
  Words join(const Words& pieces) const;
  /// Which of the joined words each piece belongs to: "skate", "board</w>", "." gives 0, 0, 1.
  std::vector<Size> places(const Words& pieces) const;
  /// The pieces as a picture writes them: "skate-", "board".
  Words labels(const Words& words) const;

  /// The numbers with <end> after them, or between <start> and <end>.
  Ids encode_source(const Words& words) const { return vocabulary_.encode_source(split(words)); }
  Ids encode_target(const Words& words) const { return vocabulary_.encode_target(split(words)); }
  /// The words or pieces, for join(). Throws Error for a number that is none of the vocabulary's.
  Words pieces(const Ids& ids) const;

  /// As texts for a checkpoint, under `name` and, for the merges, "`name` merges"; and back. Throws Error.
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
