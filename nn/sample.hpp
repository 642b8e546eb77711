// Sampling: sentences drawn from what a model believes, instead of the likeliest one.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "nn/decode.hpp"

namespace tapestry {

struct SamplingOptions {
  /// `begin` or `first`, `end` and `max_length` as in SearchOptions.
  std::int64_t begin = 0;
  std::vector<std::int64_t> first = {};
  std::int64_t end = -1;
  Size max_length = 50;
  /// Logits are divided by τ: below 1 the likely words get likelier; 0 is the likeliest word always.
  double temperature = 1;
  /// Draw among the k likeliest words (Fan, Lewis & Dauphin 2018); 0: among all.
  Size top_k = 0;
  /// Draw among the fewest words whose probabilities, after temperature, reach p (Holtzman et al. 2020).
  double top_p = 1;
  /// A row's draws depend on the seed, its number and the step alone.
  std::uint64_t seed = 1;
  /// Called with a sentence's row and each of its words as soon as that is chosen; not with `end`.
  std::function<void(Size row, std::int64_t word)> on_word = {};
};

/// One sentence for each row, all rows at once. log_probability is the model's own, before temperature and
/// cuts, and score the same. There must be no tape.
std::vector<Decoded> sample(AutoregressiveModel& model, const SamplingOptions& options);

}  // namespace tapestry
