// Byte-pair encoding: words as pieces that were learned from a text, the frequent ones longer (Sennrich,
// Haddow & Birch 2016).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/simd/view.hpp"
#include "nn/text/words.hpp"

namespace tapestry {

/// Which piece of a word carries the marker, so that pieces can be joined again: its last one ("low",
/// "er</w>") or its first ("▁low", "er").
enum class MarkedPiece { last, first };

struct BytePairOptions {
  /// Merges to learn; fewer when no pair is left.
  Size merges = 8000;
  /// Pairs that occur less often are left alone.
  Size at_least = 2;
  MarkedPiece marked = MarkedPiece::last;  // which piece of a word has the marker
  /// A few characters that occur in no word; not empty, without white space.
  std::string marker = "</w>";
};

/// Merges of two pieces into one, in the order in which they were learned. A word begins as its characters,
/// the last or first of them marked; the merge that was learned earliest goes first, the leftmost of equal
/// ones before the others, until none applies. A Vocabulary of the pieces gives them ids.
class BytePairs {
 public:
  /// Counts pairs within words and merges the most frequent one, again and again; of equally frequent pairs
  /// the one first in byte order, by its left piece, then by its right. Throws Error when an option is
  /// impossible, or a word is empty, holds white space or the marker, or is no UTF-8.
  static BytePairs learn(const std::vector<Words>& sentences, const BytePairOptions& options = {});

  /// The pieces of all words. Any word can be split: characters that were never seen stay alone.
  Words split(const Words& words) const;
  /// The words again: join(split(words)) == words. Text that was cut off in a word can be joined too.
  Words join(const Words& pieces) const;

  /// Merges.
  Size size() const { return static_cast<Size>(merges_.size()); }
  /// The two pieces of a merge, counted from 0 in the order of learning.
  struct Merge {
    std::string left, right;  // as pieces, marker included
    bool operator==(const Merge&) const = default;
  };
  /// All merges(), in the order of learning; marked() and marker() as in the options.
  const std::vector<Merge>& merges() const { return merges_; }
  MarkedPiece marked() const { return marked_; }
  const std::string& marker() const { return marker_; }

  /// As text: a line with the form's name and version, one with the marker, then a merge a line, left and
  /// right piece.
  std::string text() const;
  /// Throws Error, with `origin` and the line, for whatever text() cannot have written.
  static BytePairs from_text(std::string_view text, std::string_view origin);
  /// save() writes text() to a file, at once or not at all; load() reads it. Both throw Error with the path.
  void save(const std::filesystem::path& path) const;
  static BytePairs load(const std::filesystem::path& path);

  bool operator==(const BytePairs& other) const {
    return marked_ == other.marked_ && marker_ == other.marker_ && merges_ == other.merges_;
  }

 private:
  friend class BytePairLearner;
  struct Rule {
    Size rank;            // place among the merges
    std::int64_t merged;  // number of the piece that it makes
  };

  BytePairs(MarkedPiece marked, std::string marker);
  /// Takes a merge up at the end. False if it can never be used: it comes twice, or one of its pieces is
  /// neither a character nor made by an earlier merge, or the marker would stand inside.
  bool add(std::string_view left, std::string_view right);
  bool knows(std::int64_t left, std::int64_t right) const { return rules_.count(both(left, right)) != 0; }
  static std::uint64_t both(std::int64_t left, std::int64_t right);
  std::int64_t number_of(std::string_view piece);
  bool has_marker(std::string_view piece) const;
  void split_word(Words& pieces, const std::string& word) const;

  MarkedPiece marked_;
  std::string marker_;
  std::vector<Merge> merges_;
  std::vector<std::string> pieces_;  // every piece of a merge, numbered
  std::unordered_map<std::string, std::int64_t> numbers_;
  std::unordered_map<std::uint64_t, Rule> rules_;  // by the numbers of both pieces
};

/// The characters of a word, one piece each, the last or first of them marked.
Words marked_characters(std::string_view word, MarkedPiece marked, std::string_view marker);

}  // namespace tapestry
