#include "nn/attention/pointing/copy.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/ops/arithmetic.hpp"
#include "core/ops/join.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/softmax.hpp"
#include "core/ops/views.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

namespace {

/// Sizes B, T, V and S of one call.
struct Sizes {
  Size batch, steps, words, places;
};

Sizes checked(const char* name, const CopyScores& s, const Indices& source) {
  const bool ranks =
      s.logits.rank() == 3 && s.weights.rank() == 3 && s.gate.rank() == 2 && source.rank() == 2;
  if (ranks) {
    const Sizes n{s.logits.size(0), s.logits.size(1), s.logits.size(2), s.weights.size(2)};
    const Dims rows{n.batch, n.steps}, pairs{n.batch, n.steps, n.places}, read{n.batch, n.places};
    if (s.weights.shape() == pairs && s.gate.shape() == rows && source.shape() == read) return n;
  }
  fail(
      "[{}] logits, weights, gate and source must be (B, T, V), (B, T, S), (B, T) and (B, S), got {}, {}, {} and {}",
      name, describe(s.logits), describe(s.weights), describe(s.gate), to_string(source.shape()));
}

}  // namespace

Tensor copy_mixture(const CopyScores& scores, const Indices& source) {
  const auto [batch, steps, words, places] = checked("copy_mixture", scores, source);
  // Index in the mixture of each source position, the same at every step.
  const std::vector<std::int64_t> read = source.to_vector();
  std::vector<std::int64_t> to(static_cast<std::size_t>(batch * steps * places));
  auto out = to.begin();
  for (Size b = 0; b < batch; ++b) {
    const auto row = read.begin() + b * places;
    for (Size t = 0; t < steps; ++t)
      for (Size j = 0; j < places; ++j)
        *out++ = row[j] < words ? row[j] : words + (std::find(row, row + j, row[j]) - row);
  }
  const Tensor gate = unsqueeze(scores.gate, -1);
  const Tensor written = sigmoid(gate) * softmax(scores.logits, -1), copied = sigmoid(-gate) * scores.weights;
  return scatter_add(pad(written, -1, 0, places), -1, Indices(to, {batch, steps, places}), copied);
}

Indices likeliest_word(const Tensor& mixture, const Indices& source) {
  const Size places = source.rank() == 2 ? source.shape()[1] : -1;
  if (mixture.rank() != 3 || places < 0 || mixture.size(0) != source.shape()[0] || mixture.size(2) <= places)
    fail("[likeliest_word] mixture and source must be (B, T, V + S) and (B, S), got {} and {}",
         describe(mixture), to_string(source.shape()));
  const Size steps = mixture.size(1), words = mixture.size(2) - places;
  const std::vector<std::int64_t> read = source.to_vector();
  std::vector<std::int64_t> ids = argmax(mixture).to_vector();
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] >= words) {
      const Size row = static_cast<Size>(i) / steps;
      ids[i] = read[static_cast<std::size_t>(row * places + ids[i] - words)];
    }
  return Indices(ids, {mixture.size(0), steps});
}

// Computes with logarithms, ln(e^a + e^b) for generating (a) and copying (b) the target. A product of two small
// probabilities would be 0 in f32, and its logarithm infinite.
Tensor copy_loss(const CopyScores& scores, const Indices& source, const Indices& targets, CopyLoss options) {
  const auto [batch, steps, words, places] = checked("copy_loss", scores, source);
  if (targets.shape() != Dims{batch, steps})
    fail("[copy_loss] targets must be (B, T), got {} with logits {}", to_string(targets.shape()),
         describe(scores.logits));
  const std::vector<std::int64_t> read = source.to_vector(), wanted = targets.to_vector();
  std::vector<std::int64_t> known(wanted.size(), -1);
  // Arrays, not vectors of bool: a Mask is made from a span.
  const auto pairs = static_cast<std::size_t>(batch * steps * places);
  const auto counted = std::make_unique<bool[]>(wanted.size()),
             writable = std::make_unique<bool[]>(wanted.size()),
             copyable = std::make_unique<bool[]>(wanted.size()), here = std::make_unique<bool[]>(pairs);
  Size count = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    counted[i] = wanted[i] != options.ignore;
    writable[i] = !counted[i] || wanted[i] < words;
    if (!counted[i]) continue;
    ++count;
    const Size row = static_cast<Size>(i) / steps;
    if (wanted[i] < 0)
      fail("[copy_loss] targets must be at least 0, got {} in row {}, step {}", wanted[i], row,
           static_cast<Size>(i) % steps);
    if (wanted[i] < words) known[i] = wanted[i];
    for (Size j = 0; j < places; ++j) {
      const bool equal = read[static_cast<std::size_t>(row * places + j)] == wanted[i];
      here[i * static_cast<std::size_t>(places) + static_cast<std::size_t>(j)] = equal;
      copyable[i] |= equal;
    }
    if (!writable[i] && !copyable[i])
      fail(
          "[copy_loss] a target must be known or in its row's source, got {} in row {}, step {} with {} known tokens; "
          "use the id of the unknown token",
          wanted[i], row, static_cast<Size>(i) % steps, words);
  }
  const Dims shape{batch, steps};
  const DType type = scores.logits.dtype();
  const auto mask = [](const auto& values, const Dims& dims) {
    return Mask(std::span<const bool>(values.get(), static_cast<std::size_t>(dims.count())), dims);
  };
  const Tensor zero = scalar(0, type), never = scalar(-std::numeric_limits<double>::infinity(), type);
  const Tensor pointed = sum(where(mask(here, {batch, steps, places}), scores.weights, zero), {-1});
  const Tensor to_write =
      -cross_entropy(scores.logits, Indices(known, shape), {.ignore = -1, .reduce = Reduce::none}) -
      softplus(-scores.gate);
  const Tensor to_copy = log(clamp(pointed, 1e-30, 2)) - softplus(scores.gate);
  const Tensor either = logsumexp(
      stack({where(mask(writable, shape), to_write, never), where(mask(copyable, shape), to_copy, never)},
            -1),
      {-1});
  const Tensor losses = where(mask(counted, shape), -either, zero);
  if (options.reduce == Reduce::none) return losses;
  const Tensor total = sum(losses);
  return options.reduce == Reduce::sum ? total : total / static_cast<double>(std::max<Size>(1, count));
}

}  // namespace tapestry
