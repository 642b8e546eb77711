// The vocabulary: words to ids and back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/simd/view.hpp"
#include "nn/text/words.hpp"

namespace tapestry {

/// The first ids of every vocabulary: padding (kPad), unknown word (kUnk), and start (kStart) and end (kEnd)
/// of a sentence.
inline constexpr std::int64_t kPad = 0;
inline constexpr std::int64_t kUnk = 1;
inline constexpr std::int64_t kStart = 2;
inline constexpr std::int64_t kEnd = 3;

/// A list of words with the four special words first. A word in a text that is spelled like a special word
/// ("<end>") is unknown, so a text cannot inject special ids.
class Vocabulary {
 public:
  /// Makes a vocabulary of the special words only.
  Vocabulary();
  /// Makes a vocabulary of all words that occur at least `at_least` times, most frequent first. Equally
  /// frequent words are in order of first appearance. Throws as of() does.
  static Vocabulary build(const std::vector<Words>& sentences, Size at_least = 1);
  /// Makes a vocabulary of the given words in the given order. Throws Error for a word that is empty, is not
  /// UTF-8, contains white space or NUL, is spelled like a special word, or appears twice.
  static Vocabulary of(const Words& words);

  /// Number of words, including the special ones.
  Size size() const { return static_cast<Size>(words_.size()); }
  /// Returns true if the word has an id other than kUnk. Special words count as unknown.
  bool contains(std::string_view word) const { return id(word) != kUnk; }
  /// Returns the id of a word, or kUnk.
  std::int64_t id(std::string_view word) const;
  /// Returns the word of an id, including special words ("<unk>"). Throws Error for an id out of range.
  const std::string& word(std::int64_t id) const;

  /// Returns the ids of words; kUnk for unknown ones.
  Ids encode(const Words& words) const;
  /// encode_source() appends <end> to encode(); encode_target() also prepends <start>.
  Ids encode_source(const Words& words) const;
  Ids encode_target(const Words& words) const;
  /// Returns the words up to the first <end>, without <start> and <pad>. Throws Error for an id out of range.
  Words decode(std::span<const std::int64_t> ids) const;

  /// Returns the vocabulary as text: a line with the format's name and version, then one word per line,
  /// including the special words.
  std::string text() const;
  /// Parses the result of text(). Throws Error with `origin` and the line number if it is not valid.
  static Vocabulary from_text(std::string_view text, std::string_view origin);
  /// save() writes text() to a file atomically; load() reads it. Both throw Error with the path.
  void save(const std::filesystem::path& path) const;
  static Vocabulary load(const std::filesystem::path& path);

  bool operator==(const Vocabulary& other) const { return words_ == other.words_; }

 private:
  static Vocabulary from_lines(const std::vector<std::string_view>& lines, std::string_view origin);

  std::vector<std::string> words_;
  std::map<std::string, std::int64_t, std::less<>> ids_;  // without the special words
};

}  // namespace tapestry
