// What BERT's tokenizer takes a character for: kept, dropped, white space, an accent, or punctuation.
#pragma once

namespace tapestry {

/// What BERT's clean-up and its split into words take a code point for.
enum class BertClass {
  kept,
  dropped,      ///< controls, formats, private use, U+0000 and U+FFFD
  space,        ///< white space; tab, line feed and carriage return too
  accent,       ///< a mark that takes no place (Mn), left out where accents are stripped
  punctuation,  ///< P…, and all ASCII that is neither letter, digit nor control: a word of its own
};

/// The class of a code point as in the `tokenizers` package, whose Unicode categories are those of version
/// 8.0: what was added since is `kept`. (The categories of a newer Unicode would give other ids.)
BertClass bert_class(char32_t point);

/// In a block of Chinese characters, as BERT lists them: each is a word of its own. Neither kana nor Hangul.
bool is_cjk(char32_t point);

}  // namespace tapestry
