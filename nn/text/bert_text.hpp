// BERT's way from a text to words: clean-up, accents, lower case, punctuation (Devlin et al. 2019).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

struct BertTextOptions {
  /// As the models called "uncased" want it.
  bool lower_case = true;
  /// Decompose, and leave out the marks: "é" becomes "e". The "uncased" models want this too.
  bool strip_accents = true;
  /// White space around each Chinese character.
  bool space_cjk = true;
};

/// The text with controls and U+FFFD left out, white space as U+0020, Chinese characters in spaces, accents
/// stripped, in lower case: in this order, as the options say.
std::u32string bert_cleaned(std::u32string_view text, const BertTextOptions& options = {});

/// The words of cleaned text: what stands between spaces, where each punctuation character is a word.
std::vector<std::u32string_view> bert_words(std::u32string_view cleaned);

}  // namespace tapestry
