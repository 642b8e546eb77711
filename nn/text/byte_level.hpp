// Byte-level BPE, the tokenizer of GPT-2 and of many later models (Radford et al. 2019; Sennrich, Haddow & Birch 2016):
// tokens are sequences of bytes, so that every text has ids.
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

/// Kinds of tokens, numbered as in tokenizer.ggml.token_type of GGUF files.
enum class TokenType : std::int32_t { normal = 1, unknown, control, user_defined, unused, byte };

/// Special tokens that ByteLevelBpe::encode() recognises where a text contains their name, such as "<|im_end|>".
enum class SpecialTokens {
  none,          ///< None: their names are encoded as any other text. Use it for untrusted text.
  user_defined,  ///< TokenType::user_defined only.
  all,           ///< Also TokenType::control and unknown, as in the package `tokenizers`.
};

/// Tokens and merges of a byte-level BPE, as GGUF files store them.
struct ByteLevelVocabulary {
  /// Tokens in the order of their ids (tokenizer.ggml.tokens): bytes in GPT-2's alphabet (byte_alphabet.hpp), or the
  /// name of a special token.
  std::vector<std::string> tokens;
  /// Merges in the order of learning (tokenizer.ggml.merges): two tokens with a space between them.
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

/// Converts texts to ids and back. A text is split into words by the pre-tokenizer. Each word starts as a list of
/// bytes. Then the earliest merge that matches a pair of neighbours is applied, to the leftmost such pair, and so on
/// until none matches. decode(encode(text)) == text for any bytes, valid UTF-8 or not, if the vocabulary has all bytes.
class ByteLevelBpe {
 public:
  /// Throws Error if a token is empty or occurs twice; if a merge occurs twice, or if its two parts and their
  /// concatenation are not three tokens other than control and unknown tokens; if `types` is neither empty nor one
  /// number from 1 to 6 for each token; or if the pre-tokenizer is unknown.
  explicit ByteLevelBpe(const ByteLevelVocabulary& vocabulary, const ByteLevelOptions& options = {});

  /// Returns the ids of a text. If several special tokens of the chosen kind match, the leftmost is used, and of those
  /// the longest. Takes O(n log n) time, even for one word. Throws Error for a byte without a token if the options do
  /// not skip it.
  Ids encode(std::string_view text, SpecialTokens special = SpecialTokens::all) const;
  /// Returns the bytes of the tokens, which need not be UTF-8 (see Utf8Stream). Omits control and unknown tokens if
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
  /// Returns the pre-tokenizer of the vocabulary.
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
