// The file to change: your own mechanism. `lessons/run 26 --my-attention` checks, times, draws and trains it.
// `lessons/run 26 --my-attention --task sorting` trains it in lesson 20's model.
#include "lessons/26_programmable/my_attention.hpp"

#include "core/attention/score_lambda.hpp"
#include "core/core.hpp"

namespace lesson26 {

using namespace tapestry;

// This mechanism solves the puzzle of section 3. Seven voices speak in turn. So the keys that matter have
// distances with the same remainder when divided by 7. The table has a number for each head and remainder, and
// learns which remainder this is.

kit::Mechanism my_attention() {
  constexpr Size kHeads = 4, kTurns = 7;
  return {.name = "by turns",
          .heads = kHeads,
          .learned = {{"weight", {kHeads, kTurns}, zeros}},
          .score_mod =
              [](const std::vector<Tensor>& p, Size queries, Size keys) {
                // Repeat the table, so that there is a number for each distance.
                const Tensor repeated =
                    concat(std::vector<Tensor>(static_cast<std::size_t>(keys / kTurns + 1), p[0]), 1);
                // With a cache of keys there are fewer queries than keys, and the first is not at position 0.
                const auto first = static_cast<double>(keys - queries);
                return score_mod(
                    [first](auto s, auto at, auto weight) { return s + weight(at.h, at.i + first - at.j); },
                    learned(repeated));
              },
          .mask = BlockMask::causal};
}

}  // namespace lesson26
