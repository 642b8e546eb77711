// WordPiece, the tokenizer of BERT: splits words into pieces of a fixed vocabulary (Wu et al. 2016; Devlin et
// al. 2019).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/simd/view.hpp"
#include "nn/text/bert_text.hpp"
#include "nn/text/words.hpp"

namespace tapestry {

/// Options of WordPiece.
struct WordPieceOptions {
  BertTextOptions text = {};  // options of the clean-up
  /// Maximum number of ids of a text, including [CLS] and [SEP]; at least 2. Longer texts are truncated.
  Size max_length = 512;
  /// Maximum number of characters of a word after the clean-up, at least 1. Longer words become [UNK].
  Size longest_word = 100;
  /// Converts special tokens written in a text, such as "[SEP]", to their ids, as the `tokenizers` package
  /// does. If false, they are split into brackets and a word. Set false for untrusted text.
  bool specials_in_text = true;
};

/// Converts texts to ids with a vocabulary of one piece per line. Pieces that continue a word begin with
/// "##". A word is split from left to right, each time taking the longest matching piece; if none matches,
/// the whole word becomes [UNK]. The ids equal those of BertWordPieceTokenizer in the `tokenizers` package.
class WordPiece {
 public:
  /// Reads a vocab.txt. Throws Error with the path and the line if a line is empty, not UTF-8, or a
  /// duplicate, or if [PAD], [UNK], [CLS] or [SEP] is missing. Throws if an option is out of range.
  static WordPiece load(const std::filesystem::path& vocabulary, const WordPieceOptions& options = {});
  /// Reads a vocabulary from text in memory; `where` replaces the path in messages.
  static WordPiece from_text(std::string_view text, std::string_view where,
                             const WordPieceOptions& options = {});

  /// Returns [CLS], the pieces of `text`, [SEP]. Throws Error with the byte position of invalid UTF-8.
  Ids encode(std::string_view text) const;
  /// Returns the pieces only, without truncation.
  Ids pieces_of(std::string_view text) const;

  /// Number of pieces.
  Size size() const { return static_cast<Size>(pieces_.size()); }
  /// Returns the piece of an id, including "##". Throws Error for an id out of range.
  const std::string& piece(std::int64_t id) const;
  /// Returns the id of a piece, or nothing if the vocabulary does not have it.
  std::optional<std::int64_t> id(std::string_view piece) const;

  std::int64_t pad() const { return pad_; }          ///< [PAD]
  std::int64_t unknown() const { return unknown_; }  ///< [UNK]
  std::int64_t begin() const { return begin_; }      ///< [CLS]
  std::int64_t end() const { return end_; }          ///< [SEP]
  /// Options, as given.
  const WordPieceOptions& options() const { return options_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Places = std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>>;
  struct Special {
    std::u32string text;
    std::int64_t id;
  };

  void add_plain(Ids& ids, std::u32string_view text) const;
  void add_word(Ids& ids, std::u32string_view word) const;

  WordPieceOptions options_;
  std::vector<std::string> pieces_;
  Places first_, further_;        // pieces without "##", and pieces with it (the key omits it)
  std::size_t longest_ = 0;       // length of the longest piece in bytes
  std::vector<Special> special_;  // special tokens in the vocabulary
  std::int64_t pad_ = 0, unknown_ = 0, begin_ = 0, end_ = 0;
};

}  // namespace tapestry
