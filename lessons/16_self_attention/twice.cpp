// Draws random token sequences. A token's label is 1 if its id occurs exactly twice in its sequence, else 0.
#include "lessons/16_self_attention/twice.hpp"

#include <array>
#include <vector>

namespace tapestry::kit {

MarkedTokens draw_marked(Random random, Size rows) {
  std::vector<std::int64_t> tokens, answers;
  for (Size row = 0; row < rows; ++row) {
    std::array<Size, kTokenKinds> count{};
    for (Size t = 0; t < kTokens; ++t) {
      tokens.push_back(random.below(kTokenKinds));
      ++count[static_cast<std::size_t>(tokens.back())];
    }
    for (auto token = tokens.end() - kTokens; token != tokens.end(); ++token)
      answers.push_back(count[static_cast<std::size_t>(*token)] == 2 ? 1 : 0);
  }
  return {Indices(tokens, {rows, kTokens}), Indices(answers, {rows, kTokens})};
}

}  // namespace tapestry::kit
