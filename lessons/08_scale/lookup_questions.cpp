// Questions with one answer: which answer belongs to this key? The task of lesson 08.
#include "lessons/08_scale/lookup_questions.hpp"

#include <cstdint>
#include <numeric>
#include <vector>

namespace tapestry::kit {

LookupQuestions draw_lookup_questions(Random random, Size batch, const LookupSizes& sizes) {
  std::vector<std::int64_t> query, keys, answer_of_key, answer,
      symbols(static_cast<std::size_t>(sizes.symbols));
  std::iota(symbols.begin(), symbols.end(), 0);
  for (Size row = 0; row < batch; ++row) {
    random.shuffle(symbols);
    for (Size j = 0; j < sizes.keys; ++j) {
      keys.push_back(symbols[static_cast<std::size_t>(j)]);
      answer_of_key.push_back(random.below(sizes.answers));
    }
    const auto meant = static_cast<std::size_t>(row * sizes.keys + random.below(sizes.keys));
    query.push_back(keys[meant]);
    answer.push_back(answer_of_key[meant]);
  }
  return {Indices(query, {batch}), Indices(keys, {batch, sizes.keys}),
          Indices(answer_of_key, {batch, sizes.keys}), Indices(answer, {batch})};
}

}  // namespace tapestry::kit
