// Byte-level BPE, the tokenizer of GPT-2 and of the models after it (Radford et al. 2019; Sennrich, Haddow & Birch
// 2016): pieces are made of bytes, so that every text has ids.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/simd/view.hpp"
#include "nn/text/merge_pairs.hpp"
#include "nn/text/pre_tokenize.hpp"
#include "nn/text/words.hpp"

namespace tapestry {

/// Kinds of tokens, with the numbers that GGUF files have in tokenizer.ggml.token_type.
enum class TokenType : std::int32_t { normal = 1, unknown, control, user_defined, unused, byte };

/// Tokens of a text that ByteLevelBpe::encode() finds by their name, such as "<|im_end|>".
enum class SpecialTokens {
  none,          ///< None: their names are split as other text is. Use it for untrusted text.
  user_defined,  ///< TokenType::user_defined only.
  all,           ///< TokenType::control and unknown, too, as the package `tokenizers` does.
};

/// Tokens and merges of a byte-level BPE, as GGUF files store them.
struct ByteLevelVocabulary {
  /// Tokens in the order of their ids (tokenizer.ggml.tokens): bytes in GPT-2's alphabet, or the name of a special
  /// token as it is.
  std::vector<std::string> tokens;
  /// Merges, first one first (tokenizer.ggml.merges): two tokens with a space between them.
  std::vector<std::string> merges;
  /// Type of each token (tokenizer.ggml.token_type). If it is empty, all tokens are normal.
  std::vector<std::int32_t> types = {};
  /// Name of the pre-tokenizer (tokenizer.ggml.pre).
  std::string pre_tokenizer = "gpt-2";
};

/// Options of ByteLevelBpe.
struct ByteLevelOptions {
  /// Some published vocabularies lack bytes that their training text did not have. If true, encode() skips these
  /// bytes, as the package `tokenizers` does; otherwise it throws Error.
  bool skip_missing_bytes = true;
};

/// Converts texts to ids and back. A text is split into words by the pre-tokenizer. Each word starts as its
/// bytes; the earliest merge that applies is used first, leftmost pair first, until none applies.
/// decode(encode(text)) == text for any bytes, valid UTF-8 or not, if the vocabulary has all bytes.
class ByteLevelBpe {
 public:
  /// Throws Error if a token occurs twice, a merge is not two tokens whose concatenation is a token, a merge occurs
  /// twice or would make a control token, the types do not fit, or the pre-tokenizer is unknown.
  explicit ByteLevelBpe(const ByteLevelVocabulary& vocabulary, const ByteLevelOptions& options = {});

  /// Returns the ids of a text; special tokens of the chosen kind are found leftmost first, longest first. Takes
  /// O(n log n) time, even for one word. Throws Error for a byte without a token if the options do not skip it.
  Ids encode(std::string_view text, SpecialTokens special = SpecialTokens::all) const;
  /// Returns the bytes of ids, which need not be UTF-8 (see Utf8Stream). Leaves out control and unknown tokens if
  /// `skip_special_tokens` is true. Throws Error for an id out of range.
  std::string decode(std::span<const std::int64_t> ids, bool skip_special_tokens = false) const;

  /// Number of tokens.
  Size size() const { return static_cast<Size>(tokens_.size()); }
  /// Returns a token as the vocabulary writes it. Throws Error for an id out of range.
  const std::string& token(std::int64_t id) const { return tokens_[index(id)].text; }
  /// Returns the bytes of a token, or the name of a special token. Throws Error for an id out of range.
  const std::string& bytes(std::int64_t id) const { return tokens_[index(id)].bytes; }
  /// Returns the type of a token. Throws Error for an id out of range.
  TokenType type(std::int64_t id) const { return tokens_[index(id)].type; }
  /// Returns the id of a token as the vocabulary writes it, or nothing.
  std::optional<std::int64_t> id(std::string_view token) const;
  /// Returns true if the vocabulary has a token for this byte.
  bool has_byte(unsigned char byte) const { return byte_ids_[byte] >= 0; }
  /// Pre-tokenizer of the vocabulary.
  PreTokenizer pre_tokenizer() const { return pre_; }

 private:
  struct Token {
    std::string text, bytes;
    TokenType type;
  };
  /// A special token in a text: its id and the number of its bytes; 0 bytes if there is none.
  struct Found {
    std::int64_t id = -1;
    std::size_t length = 0;
  };

  std::size_t index(std::int64_t id) const;
  void add_token(const std::string& text, std::int32_t type);
  void add_merge(std::size_t number, std::string_view merge);
  Found special_at(std::string_view text, SpecialTokens special) const;
  void append_plain(Ids& ids, std::string_view text) const;
  void append_word(Ids& ids, std::string_view word) const;

  ByteLevelOptions options_;
  PreTokenizer pre_;
  std::vector<Token> tokens_;
  std::unordered_map<std::string, std::int64_t> ids_;   // by Token::text
  std::array<std::int64_t, 256> byte_ids_;              // -1: no token
  std::array<std::vector<std::int64_t>, 256> special_;  // by first byte, longest first
  MergeRules rules_;
  std::size_t longest_ = 0;  // length of the longest token in bytes
};

}  // namespace tapestry
