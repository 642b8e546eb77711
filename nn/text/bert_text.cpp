#include "nn/text/bert_text.hpp"

#include <cstddef>
#include <utility>

#include "nn/text/bert_classes.hpp"
#include "nn/text/unicode.hpp"

namespace tapestry {

std::u32string bert_cleaned(std::u32string_view text, const BertTextOptions& options) {
  std::u32string clean;
  clean.reserve(text.size());
  for (const char32_t point : text) {
    const BertClass kind = bert_class(point);
    if (kind == BertClass::dropped) continue;
    if (kind == BertClass::space) {
      clean += U' ';
    } else if (options.space_cjk && is_cjk(point)) {
      clean += {U' ', point, U' '};
    } else {
      clean += point;
    }
  }
  if (options.strip_accents) {
    std::u32string plain;
    plain.reserve(clean.size());
    for (const char32_t point : decomposed(clean))
      if (bert_class(point) != BertClass::accent) plain += point;
    clean = std::move(plain);
  }
  if (options.lower_case) {
    std::u32string lower;
    lower.reserve(clean.size());
    for (const char32_t point : clean) append_lower_case(lower, point);
    clean = std::move(lower);
  }
  return clean;
}

std::vector<std::u32string_view> bert_words(std::u32string_view cleaned) {
  std::vector<std::u32string_view> words;
  std::size_t begin = 0;  // start of the current word
  for (std::size_t at = 0; at <= cleaned.size(); ++at) {
    const BertClass kind = at < cleaned.size() ? bert_class(cleaned[at]) : BertClass::space;
    if (kind != BertClass::space && kind != BertClass::punctuation) continue;
    if (at > begin) words.push_back(cleaned.substr(begin, at - begin));
    if (kind == BertClass::punctuation) words.push_back(cleaned.substr(at, 1));
    begin = at + 1;
  }
  return words;
}

}  // namespace tapestry
