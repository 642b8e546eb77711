// BERT's pre-tokenization: clean-up, accents, lower case, and the split into words (Devlin et al. 2019).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// Options of bert_cleaned().
struct BertTextOptions {
  /// Converts to lower case, as "uncased" models require.
  bool lower_case = true;
  /// Decomposes characters and removes the marks: "é" becomes "e". "Uncased" models require this too.
  bool strip_accents = true;
  /// Puts a space before and after each Chinese character.
  bool space_cjk = true;
};

/// Cleans a text. In this order: removes controls and U+FFFD, replaces white space with U+0020, and, as set
/// in `options`, puts spaces around Chinese characters, strips accents, and converts to lower case.
std::u32string bert_cleaned(std::u32string_view text, const BertTextOptions& options = {});

/// Splits cleaned text at spaces into words; each punctuation character is a separate word. The views refer
/// to `cleaned`.
std::vector<std::u32string_view> bert_words(std::u32string_view cleaned);

}  // namespace tapestry
