// Byte-pair encoding (Sennrich, Haddow & Birch 2016): splits words into subword pieces learned from a text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/simd/view.hpp"
#include "nn/text/merge_pairs.hpp"
#include "nn/text/words.hpp"

namespace tapestry {

/// Piece that carries the marker, by which join() finds the ends of words: the last piece of each word
/// ("low", "er</w>") or the first ("▁low", "er").
enum class MarkedPiece { last, first };

/// Options of BytePairs::learn().
struct BytePairOptions {
  /// Number of merges to learn. Learning stops earlier if no pair is left.
  Size merges = 8000;
  /// Minimum count of a pair to merge.
  Size at_least = 2;
  MarkedPiece marked = MarkedPiece::last;  // piece that carries the marker
  /// Marker; must occur in no word, and must not be empty or contain white space.
  std::string marker = "</w>";
};

/// A byte-pair tokenizer: a list of merges of two pieces into one, in the order of learning. A word starts as a list of
/// characters, with the last or first one marked. Then the earliest merge that matches a pair of neighbours is applied,
/// to the leftmost such pair, and so on until none matches. A Vocabulary of the pieces maps them to ids.
class BytePairs {
 public:
  /// Learns merges: counts the pairs within words, merges the most frequent pair, and repeats. Ties go to the
  /// pair that is first in byte order of the left piece, then of the right piece. Throws Error if an option
  /// is out of range, or if a word is empty, is not UTF-8, or contains white space, NUL or the marker.
  static BytePairs learn(const std::vector<Words>& sentences, const BytePairOptions& options = {});

  /// Splits words into pieces. Any word can be split: unseen characters become single pieces. Throws Error
  /// for a word that is empty or not UTF-8.
  Words split(const Words& words) const;
  /// Joins pieces into words: join(split(words)) == words. The pieces may start or end within a word.
  Words join(const Words& pieces) const;

  /// Number of merges.
  Size size() const { return static_cast<Size>(merges_.size()); }
  /// A merge of two pieces.
  struct Merge {
    std::string left, right;  // pieces, including the marker
    bool operator==(const Merge&) const = default;
  };
  /// merges() are in the order of learning; marked() and marker() are the options.
  const std::vector<Merge>& merges() const { return merges_; }
  MarkedPiece marked() const { return marked_; }
  const std::string& marker() const { return marker_; }

  /// Returns the merges as text: a line with the format's name and version, a line with the marker, then one
  /// merge per line, as left and right piece.
  std::string text() const;
  /// Parses the result of text(). Throws Error with `origin` and the line number if it is not valid.
  static BytePairs from_text(std::string_view text, std::string_view origin);
  /// save() writes text() to a file atomically; load() reads it. Both throw Error with the path.
  void save(const std::filesystem::path& path) const;
  static BytePairs load(const std::filesystem::path& path);

  bool operator==(const BytePairs& other) const {
    return marked_ == other.marked_ && marker_ == other.marker_ && merges_ == other.merges_;
  }

 private:
  friend class BytePairLearner;

  BytePairs(MarkedPiece marked, std::string marker);
  /// Appends a merge. Returns false if it can never be used: it is a duplicate, or one of its pieces is
  /// neither a character nor made by an earlier merge, or the marker would be inside the merged piece.
  bool add(std::string_view left, std::string_view right);
  bool knows(std::int64_t left, std::int64_t right) const { return rules_.find(left, right) != nullptr; }
  std::int64_t number_of(std::string_view piece);
  bool has_marker(std::string_view piece) const;
  void split_word(Words& pieces, const std::string& word) const;

  MarkedPiece marked_;
  std::string marker_;
  std::vector<Merge> merges_;
  std::vector<std::string> pieces_;  // all pieces of merges, by number
  std::unordered_map<std::string, std::int64_t> numbers_;
  MergeRules rules_;  // merges of piece numbers
};

/// Splits a word into characters, one piece each, with the last or first one marked. Throws Error if the word
/// is empty or not UTF-8.
Words marked_characters(std::string_view word, MarkedPiece marked, std::string_view marker);

}  // namespace tapestry
