// WordPiece: words as pieces of a fixed vocabulary, as BERT and its kin want them (Wu et al. 2016; Devlin et
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

struct WordPieceOptions {
  BertTextOptions text = {};  // the clean-up
  /// Ids of one text at most, [CLS] and [SEP] included; what is longer loses its end. At least 2.
  Size max_length = 512;
  /// A word of more characters, after the clean-up, is [UNK].
  Size longest_word = 100;
  /// "[SEP]" and the like, written so in a text, become their ids, as in the `tokenizers` package. Without
  /// it they are brackets and a word: say false where a text comes from strangers.
  bool specials_in_text = true;
};

/// Texts to ids, by a vocabulary of one piece a line; a piece that goes on with a word begins with "##". A
/// word is cut from its beginning, each time into the longest piece there is; a word for which that fails is
/// [UNK] whole. The ids are those of the `tokenizers` package's BertWordPieceTokenizer.
class WordPiece {
 public:
  /// Reads a vocab.txt. Throws Error with the path and the line: not UTF-8, an empty line, a piece that comes
  /// twice, and when [PAD], [UNK], [CLS] or [SEP] is missing.
  static WordPiece load(const std::filesystem::path& vocabulary, const WordPieceOptions& options = {});
  /// The same for text in memory; `where` takes the path's place in messages.
  static WordPiece from_text(std::string_view text, std::string_view where,
                             const WordPieceOptions& options = {});

  /// [CLS], the pieces of `text`, [SEP]. Throws Error if the text is no UTF-8, with the byte's place.
  Ids encode(std::string_view text) const;
  /// The pieces alone, not cut to length.
  Ids pieces_of(std::string_view text) const;

  Size size() const { return static_cast<Size>(pieces_.size()); }
  /// As in the file, "##" included. Throws Error that names the id and the size.
  const std::string& piece(std::int64_t id) const;
  /// Nothing for a piece that the vocabulary lacks.
  std::optional<std::int64_t> id(std::string_view piece) const;

  std::int64_t pad() const { return pad_; }          ///< [PAD]
  std::int64_t unknown() const { return unknown_; }  ///< [UNK]
  std::int64_t begin() const { return begin_; }      ///< [CLS]
  std::int64_t end() const { return end_; }          ///< [SEP]
  /// As given.
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
  Places first_, further_;        // those without "##", and those with it, which is left out here
  std::size_t longest_ = 0;       // bytes of the longest piece
  std::vector<Special> special_;  // those that the vocabulary has
  std::int64_t pad_ = 0, unknown_ = 0, begin_ = 0, end_ = 0;
};

}  // namespace tapestry
