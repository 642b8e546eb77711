// Sinks, masks, and queries that see no key.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/ops/views.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/error.hpp"
#include "nn/check/checked_block.hpp"

namespace tapestry::detail {

std::string CheckedBlock::sink() const {
  const Size length = check_.lengths.front(), half = length / 2;
  const Tensor scores =
      random_normal({2 * options_.heads, length, length + 1}, check_.seed + 2000, DType::f64);
  // Weights of the first tokens with each other. The causal mask hides the columns after them.
  const auto weights = [&](Size count, Size columns) {
    const Tensor part = slice(tokens(scores, 0, count), 2, 0, columns);
    return slice(options_.normalise(part, Mask::from(count, columns, [](Size i, Size j) { return j <= i; })),
                 2, 0, count);
  };
  const Tensor alone = weights(length, length);
  // A normaliser that has a formula for its last column cannot be used without a sink.
  const Tensor first = slice(tokens(alone, 0, half), 2, 0, half);
  if (differs(largest_gap(weights(half, half), first), first)) return {};
  const Gap gap = largest_gap(weights(length, length + 1), alone);
  if (!differs(gap, alone)) return {};
  return fmt::format(
      "the weights of query {} of {} change by {:.1e} if a masked column follows its keys. Does the normaliser compute "
      "positions from scores.size(-1)? With learned_sink, the last column of the scores is the sink, so "
      "scores.size(-1) is the number of keys + 1. Write what depends on positions as a score_mod, a window or a mask",
      gap.token, length, gap.by);
}

std::string CheckedBlock::mask() const {
  for (const Size length : check_.lengths)
    for (const Size hidden : {Size{0}, length / 2})
      if (std::string finding = hidden_token(length, hidden); !finding.empty()) return finding;
  for (const Size rows : {Size{2}, std::max(Size{2}, options_.heads)})
    if (std::string finding = masks_of_rows(rows); !finding.empty()) return finding;
  return {};
}

std::string CheckedBlock::hidden_token(Size length, Size hidden) const {
  const Tensor x = input(length), changed = with_tokens(x, input(length, 1), hidden, hidden + 1);
  const Mask mask = hiding(hidden, length, length);
  const Tensor y = (*block_)(x, mask);
  const Gap gap = largest_gap(with_tokens((*block_)(changed, mask), y, hidden, hidden + 1), y);
  if (differs(gap, y))
    return fmt::format(
        "token {} is hidden by a mask, but a change of this token changes the result at token {} by {:.1e}. "
        "pairs.mask() and pairs.for_attend() contain the caller's mask; a masked score must not enter a sum. If the layer mixes tokens in "
        "another way, as a convolution does, set takes_masks to false",
        hidden, gap.token, gap.by);
  return {};
}

std::string CheckedBlock::cached_mask() {
  const Size length = check_.lengths.front(), hidden = length / 2;
  const Tensor x = input(length), y = (*block_)(x, hiding(hidden, length, length));
  const auto make = [=, this](Size queries, Size keys) { return hiding(hidden, queries, keys); };
  for (const std::vector<Size>& parts : {std::vector<Size>{length - 1, 1}, {1, length - 1}}) {
    try {
      const Gap gap = largest_gap(in_parts(x, parts, make), y);
      if (differs(gap, y))
        return fmt::format(
            "with a mask and a cache ({} tokens), the result at token {} differs by {:.1e} from the result "
            "without a cache. Row i of the mask belongs to query i, which is token pairs.first() + i",
            sum_of(parts), gap.token, gap.by);
    } catch (const Error& error) {  // a refusal, so no result is wrong
      remark_ = fmt::format("not supported: {}", error.what());
    }
  }
  return {};
}

/// Hides token row % length in each row of the batch.
std::string CheckedBlock::masks_of_rows(Size rows) const {
  const Size length = check_.lengths.front();
  const Tensor x = input(length, 2, rows);
  std::vector<std::vector<bool>> seen;
  for (Size row = 0; row < rows; ++row) seen.push_back(hiding(row % length, length, length).to_vector());
  const Mask all =
      Mask::from(rows * length, length, [&](Size i, Size j) {
        return seen[static_cast<std::size_t>(i / length)][static_cast<std::size_t>(i % length * length + j)];
      }).reshape({rows, length, length});
  const Tensor y = (*block_)(x, all);
  for (Size row = 0; row < rows; ++row) {
    const Tensor alone = (*block_)(slice(x, 0, row, row + 1), hiding(row % length, length, length));
    const Gap gap = largest_gap(slice(y, 0, row, row + 1), alone);
    if (differs(gap, y))
      return fmt::format(
          "with a mask for each row of a batch ({}, {}, {}), row {} differs by {:.1e} at token {} from the same row with "
          "its mask alone. pairs.mask_for(scores) has the axes of the scores",
          rows, length, length, row, gap.by, gap.token);
  }
  return {};
}

std::string CheckedBlock::fully_masked_query() const {
  const Size length = check_.lengths.front(), masked_query = length / 2;
  const Tensor x = variable(input(length));
  Tape tape;
  const Tensor y = (*block_)(x, Mask::from(length, length, [=](Size i, Size) { return i != masked_query; }));
  if (!std::isfinite(largest(y)))
    return fmt::format(
        "token {} may see no key, and the results have a value that is not finite. Its weights should all be 0: divide "
        "by a sum only where it is not 0, as masked_softmax() does",
        masked_query);
  tape.backward(y, random_normal(y.shape(), check_.seed, DType::f64));
  std::vector<Tensor> leaves = block_->parameters();
  leaves.push_back(x);
  for (const Tensor& leaf : leaves) {
    const bool finite = !leaf.has_grad() || std::isfinite(largest(leaf.grad()));
    leaf.clear_grad();
    if (!finite)
      return fmt::format(
          "token {} may see no key, and the gradient of {} has a value that is not finite. Replace the values before a "
          "division, logarithm or root, not after it",
          masked_query, leaf.name().empty() ? "the input" : leaf.name());
  }
  return {};
}

}  // namespace tapestry::detail
