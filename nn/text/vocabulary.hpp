// Words to ids and back.
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

/// The first ids of every vocabulary: padding (kPad), a word that is not known (kUnk), the start (kStart) and
/// the end (kEnd) of a sentence.
inline constexpr std::int64_t kPad = 0;
inline constexpr std::int64_t kUnk = 1;
inline constexpr std::int64_t kStart = 2;
inline constexpr std::int64_t kEnd = 3;

/// A list of words with the four special ones first. Text cannot smuggle a special in: a word spelled like
/// one ("<end>") is an unknown word.
class Vocabulary {
 public:
  /// The specials alone.
  Vocabulary();
  /// All words that occur at least `at_least` times, the most frequent first, among equals the first seen
  /// first. Throws as of() does.
  static Vocabulary build(const std::vector<Words>& sentences, Size at_least = 1);
  /// The given words in the given order. Throws Error for a word that is empty, holds white space or a NUL
  /// byte, is no UTF-8, is spelled like a special, or comes twice.
  static Vocabulary of(const Words& words);

  Size size() const { return static_cast<Size>(words_.size()); }
  /// Whether the word has an id of its own; specials count as unknown.
  bool contains(std::string_view word) const { return id(word) != kUnk; }
  /// The word's id, or kUnk.
  std::int64_t id(std::string_view word) const;
  /// The word, specials too ("<unk>"). Throws Error that names the id and the size.
  const std::string& word(std::int64_t id) const;

  /// The words' ids; kUnk for those that it lacks.
  Ids encode(const Words& words) const;
  /// encode_source(): encode with <end> after it; encode_target(): between <start> and <end>.
  Ids encode_source(const Words& words) const;
  Ids encode_target(const Words& words) const;
  /// The words up to the first <end>, without <start> and <pad>.
  Words decode(std::span<const std::int64_t> ids) const;

  /// As text: a line with the form's name and version, then one word a line, the specials included.
  std::string text() const;
  /// Throws Error, with `origin` and the line, for whatever text() cannot have written.
  static Vocabulary from_text(std::string_view text, std::string_view origin);
  /// save() writes text() to a file, at once or not at all; load() reads it. Both throw Error with the path.
  void save(const std::filesystem::path& path) const;
  static Vocabulary load(const std::filesystem::path& path);

  bool operator==(const Vocabulary& other) const { return words_ == other.words_; }

 private:
  static Vocabulary from_lines(const std::vector<std::string_view>& lines, std::string_view origin);

  std::vector<std::string> words_;
  std::map<std::string, std::int64_t, std::less<>> ids_;  // without the specials
};

}  // namespace tapestry
