// Sampling: sentences drawn from the probabilities that a model predicts.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "nn/decode.hpp"

namespace tapestry {

/// Options of sample().
struct SamplingOptions {
  /// `begin`, `first`, `end` and `max_length` have the same meaning as in SearchOptions.
  std::int64_t begin = 0;
  std::vector<std::int64_t> first = {};
  std::int64_t end = -1;
  Size max_length = 50;
  /// Divisor of the logits. Below 1, likely tokens become likelier; 0 always takes the likeliest token.
  double temperature = 1;
  /// Top-k sampling: draws from the k likeliest tokens (Fan, Lewis & Dauphin 2018); 0 draws from all tokens.
  Size top_k = 0;
  /// Top-p sampling: draws from the smallest set of likeliest tokens whose total probability, after
  /// temperature and top-k, is at least p (Holtzman et al. 2020).
  double top_p = 1;
  /// Random seed. A draw depends only on the seed, the row of the sentence, and the step.
  std::uint64_t seed = 1;
  /// Callback for each token as soon as it is drawn, with the row of its sentence; not called for `end`.
  std::function<void(Size row, std::int64_t token)> on_token = {};
};

/// Draws one sentence for each row, all rows in one batch. log_probability and score are both the model's
/// log-probability, before temperature, top-k and top-p. Throws in the same cases as greedy().
std::vector<Decoded> sample(AutoregressiveModel& model, const SamplingOptions& options);

namespace detail {
/// Tokens that may be drawn.
struct Choices {
  /// Token ids, the likeliest first.
  std::vector<std::size_t> ids;
  /// Unnormalised probability of each id.
  std::vector<double> weights;
  /// Sum of the weights.
  double total = 0;
};
/// Returns the tokens left by temperature, top_k and top_p, given log P of every token.
Choices choices(const std::vector<double>& log_probability, const SamplingOptions& options);
/// Throws if an option is out of range or a tape is active; `name` is the caller's name in the message.
void check(const SamplingOptions& options, const char* name);
}  // namespace detail

}  // namespace tapestry
