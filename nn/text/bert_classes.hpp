// Character classes of BERT's tokenizer: kept, dropped, white space, accent, or punctuation.
#pragma once

namespace tapestry {

/// Class of a code point, used by BERT's clean-up and by its split into words.
enum class BertClass {
  kept,         ///< every code point of no other class
  dropped,      ///< control, format and private-use characters, U+0000 and U+FFFD
  space,        ///< white space, including tab, line feed and carriage return
  accent,       ///< a non-spacing mark (category Mn), removed when accents are stripped
  punctuation,  ///< categories P…, and ASCII other than letters, digits and controls; each is a separate word
};

/// Returns the class of a code point, as in the `tokenizers` package. That package uses the categories of
/// Unicode 8.0, so characters added later are `kept`. (A newer Unicode would give other ids.)
BertClass bert_class(char32_t point);

/// Returns true for a code point in BERT's list of blocks of Chinese characters; each such character is a
/// separate word. The list has neither kana nor Hangul.
bool is_cjk(char32_t point);

}  // namespace tapestry
