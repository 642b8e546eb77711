// Character classes of BERT's tokenizer, looked up in the table of ranges.
#include "nn/text/bert_classes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "nn/text/bert_class_table.hpp"

namespace tapestry {
namespace {

BertClass look_up(char32_t point) {
  const auto after =
      std::upper_bound(std::begin(kBertRanges), std::end(kBertRanges), point,
                       [](char32_t wanted, const BertRange& range) { return wanted < range.first; });
  if (after == std::begin(kBertRanges)) return BertClass::kept;
  const BertRange& range = *(after - 1);
  return point <= range.last ? range.kind : BertClass::kept;
}

constexpr std::size_t kCommon = 0x250;  // Latin characters, cached in an array

}  // namespace

BertClass bert_class(char32_t point) {
  static const std::array<BertClass, kCommon> common = [] {
    std::array<BertClass, kCommon> classes{};
    for (std::size_t i = 0; i < kCommon; ++i) classes[i] = look_up(static_cast<char32_t>(i));
    return classes;
  }();
  return point < kCommon ? common[point] : look_up(point);
}

bool is_cjk(char32_t point) {
  const auto in = [point](char32_t first, char32_t last) { return point >= first && point <= last; };
  // BERT's reference code starts one block at U+2B920, although Unicode starts it at U+2B820.
  return in(0x4E00, 0x9FFF) || in(0x3400, 0x4DBF) || in(0x20000, 0x2A6DF) || in(0x2A700, 0x2B73F) ||
         in(0x2B740, 0x2B81F) || in(0x2B920, 0x2CEAF) || in(0xF900, 0xFAFF) || in(0x2F800, 0x2FA1F);
}

}  // namespace tapestry
