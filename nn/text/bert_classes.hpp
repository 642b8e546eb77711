// Character classes of BERT's tokenizer: kept, dropped, white space, accent, or punctuation.
#pragma once

namespace tapestry {

/// Class of a code point, used by bert_cleaned() and bert_words().
enum class BertClass {
  /// All other code points.
  kept,
  /// Control characters except tab, LF and CR; format and private-use characters; U+FFFD.
  dropped,
  /// Tab, LF, CR and the categories Zs, Zl and Zp.
  space,
  /// Non-spacing mark (Mn) that does not decompose further; removed when accents are stripped.
  accent,
  /// Category P and the ASCII symbols $ + < = > ^ ` | ~. Each is a separate word.
  punctuation,
};

/// Returns the class of a code point, as in the `tokenizers` package. That package uses the categories of
/// Unicode 8.0, so characters added later are `kept`. Another Unicode version would change the token ids of some texts.
BertClass bert_class(char32_t point);

/// Returns true for a code point in BERT's list of blocks of Chinese characters. With BertTextOptions::space_cjk, each
/// of them becomes a separate word. The list has neither kana nor Hangul.
bool is_cjk(char32_t point);

}  // namespace tapestry
