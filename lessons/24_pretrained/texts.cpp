// Lesson 24's texts: the grammar's as strings, and many of them made into vectors.
#include <algorithm>
#include <numeric>

#include "core/core.hpp"
#include "lessons/24_pretrained/lesson24.hpp"
#include "nn/text/words.hpp"

namespace lesson24 {

using namespace tapestry;

PairsOfTexts texts_of(const std::vector<kit::GrammarSentence>& sentences) {
  PairsOfTexts texts;
  for (const kit::GrammarSentence& one : sentences) {
    texts.english.push_back(join_words(one.source));
    texts.french.push_back(join_words(one.target));
  }
  return texts;
}

std::vector<Ids> encode_all(const WordPiece& pieces, const std::vector<std::string>& texts) {
  std::vector<Ids> rows;
  for (const std::string& text : texts) rows.push_back(pieces.encode(text));
  return rows;
}

Tensor embed_all(const TransformerEncoder& encoder, const std::vector<Ids>& rows) {
  constexpr std::size_t kBatch = 32;
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rows[a].size() < rows[b].size(); });
  std::vector<Tensor> batches;
  for (std::size_t first = 0; first < order.size(); first += kBatch) {
    std::vector<Ids> batch;
    for (std::size_t i = first; i < std::min(order.size(), first + kBatch); ++i)
      batch.push_back(rows[order[i]]);
    batches.push_back(embed(encoder, batch));
  }
  Ids back(order.size());  // where each row stands in the batches
  for (std::size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<std::int64_t>(i);
  return embedding(concat(batches, 0), Indices(back, {static_cast<Size>(back.size())}));
}

}  // namespace lesson24
