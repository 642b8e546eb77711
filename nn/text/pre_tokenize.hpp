// Pre-tokenizers of byte-level BPE: they split a text into the words within which pieces are merged.
#pragma once

#include <string_view>
#include <vector>

namespace tapestry {

/// Pre-tokenizers, by the patterns of published models. \p{L} is a letter, \p{N} a number, \s white space.
enum class PreTokenizer {
  /// GPT-2 (Radford et al. 2019):
  /// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  gpt2,
  /// SmolLM: every \p{N} is a word; GPT-2's pattern splits the text between them.
  smollm,
  /// Llama 3 (Grattafiori et al. 2024): (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
  /// ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
  llama3,
  /// Qwen 2: Llama 3's pattern, with \p{N} in place of \p{N}{1,3}. Qwen's own program also normalises the text (NFC);
  /// like llama.cpp, this one does not.
  qwen2,
};

/// Returns the pre-tokenizer that GGUF files name in tokenizer.ggml.pre: "gpt-2" (or "default"), "smollm",
/// "llama-bpe" or "qwen2". Throws Error with the known names for any other.
PreTokenizer pre_tokenizer_of(std::string_view name);

/// Splits `text` into words; their concatenation is the text. The words are views of it. A byte that is not part of
/// a valid UTF-8 character counts as a character that is neither letter, number nor white space. Takes linear time.
std::vector<std::string_view> pre_tokens(std::string_view text, PreTokenizer kind);

}  // namespace tapestry
