// BERT's normalisation and pre-tokenization (the BasicTokenizer of Devlin et al. 2019).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// Options of bert_cleaned().
struct BertTextOptions {
  /// Converts to lower case, as "uncased" models require.
  bool lower_case = true;
  /// Decomposes characters (NFD) and removes non-spacing marks: "é" becomes "e". Everything else stays decomposed: a
  /// Hangul syllable becomes its letters. "Uncased" models require this too.
  bool strip_accents = true;
  /// Puts a space before and after each Chinese character.
  bool space_cjk = true;
};

/// Normalises a text: drops the characters of class BertClass::dropped, replaces those of class BertClass::space (tab,
/// LF and CR included) with U+0020, and then, as set in `options`, surrounds Chinese characters with spaces, strips
/// accents and converts to lower case, in this order.
std::u32string bert_cleaned(std::u32string_view text, const BertTextOptions& options = {});

/// Splits normalised text at spaces into words; each punctuation character is a separate word. The views refer
/// to `cleaned`.
std::vector<std::u32string_view> bert_words(std::u32string_view cleaned);

}  // namespace tapestry
