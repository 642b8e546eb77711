// Variants whose positions or visible keys depend on queries and keys: contextual positions and top-k blocks, each in
// a language model and in plain loops.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/core.hpp"
#include "nn/attention/masking.hpp"
#include "nn/loss.hpp"
#include "optim/adam.hpp"
#include "tests/nn/transformer/variants/projected.hpp"

using namespace tapestry;
using namespace tapestry::testing;

namespace {

constexpr Size kPlaces = 5, kBlock = 4, kBlocks = 2;

/// Contextual position encoding (CoPE, Golovneva et al. 2024, equations 3 to 6): gates σ(q · k) of the keys from j to
/// i are summed to a position, and its embedding, interpolated between whole positions, is added to key j.
struct Contextual : Projected {
  using Projected::Projected;
  Tensor operator()(const Tensor& x, const VisiblePairs& pairs) const override {
    const Tensor s = scores(x), gates = zero_masked(pairs.mask(), sigmoid(s));
    const Tensor place = clamp(flip(cumsum(flip(gates, -1), -1), -1), 0, kPlaces - 1);  // Σ from j on
    const Tensor below = floor(place.detach()), part = place - below;
    const Tensor at_places = matmul(split(query(x)) * 0.5, transpose(places));  // (B, H, T, places)
    const auto at = [&](const Tensor& whole) { return gather(at_places, -1, to_indices(whole)); };
    const Tensor added = (1 - part) * at(below) + part * at(clamp(below + 1, 0, kPlaces - 1));
    return output(merged(matmul(softmax_weights(s + added, pairs.mask()), split(value(x)))));
  }

  Parameter places{*this, "places", {kPlaces, kWidth / kHeads}, xavier};
};

Rows contextual(const Weights& w, const Rows& x, const Sees& sees) {
  const std::vector<Rows> scores = scores_by_loops(w, x);
  const Rows q = affine(x, w("query.weight")), v = affine(x, w("value.weight"));
  const Row places = w("places");
  Rows joined(x.size(), Row(8));
  for (std::size_t h = 0; h < 2; ++h)
    for (std::size_t i = 0; i < x.size(); ++i) {
      Row moved = scores[h][i];
      double place = 0;
      for (std::size_t j = i + 1; j-- > 0;) {
        if (sees(i, j)) place += sigmoid_of(scores[h][i][j]);
        const double inside = std::min(place, 4.0), below = std::floor(inside), part = inside - below;
        for (std::size_t u = 0; u < 4; ++u) {
          const auto low = static_cast<std::size_t>(below), high = std::min<std::size_t>(low + 1, 4);
          const double e = (1 - part) * places[low * 4 + u] + part * places[high * 4 + u];
          moved[j] += q[i][h * 4 + u] * e / 2;
        }
      }
      add_mix(joined[i], h * 4, soft_weights(moved, i, sees), v, h, 4);
    }
  return affine(joined, w("output.weight"));
}

/// Mixture of block attention (MoBA, Lu et al. 2025, section 2.2): a query sees its own block and, of the earlier
/// ones, those whose mean keys have the largest products with it, two blocks in all.
struct BlockMixture : Projected {
  using Projected::Projected;
  Tensor operator()(const Tensor& x, const VisiblePairs& pairs) const override {
    const Mask seen = pairs.mask() & chosen(x);
    return output(merged(matmul(softmax_weights(scores(x), seen), split(value(x)))));
  }
  Mask chosen(const Tensor& x) const {
    const Size rows = x.size(0), time = x.size(1), blocks = time / kBlock;  // whole ones
    if (blocks < kBlocks) return {};
    const Tensor whole = slice(split(key(x.detach())), 2, 0, blocks * kBlock);
    const Tensor means = mean(reshape(whole, {rows, kHeads, blocks, kBlock, kWidth / kHeads}), {3});
    const Tensor affinity = matmul(split(query(x.detach())), transpose(means)).detach();
    const Mask past = Mask::from(time, blocks, [](Size i, Size b) { return b < i / kBlock; });
    const auto none = scalar(-std::numeric_limits<double>::infinity(), x.dtype());
    const auto best = topk(where(past, affinity, none), kBlocks - 1).indices.to_vector();
    return Mask::from(rows * kHeads * time, time,
                      [&](Size row, Size j) {
                        const Size own = row % time / kBlock, block = j / kBlock;
                        const auto first = best.begin() + row * (kBlocks - 1);
                        return block == own || (block < own && std::find(first, first + kBlocks - 1, block) !=
                                                                   first + kBlocks - 1);
                      })
        .reshape({rows, kHeads, time, time});
  }
};

Rows block_mixture(const Weights& w, const Rows& x, const Sees& sees) {
  const std::vector<Rows> scores = scores_by_loops(w, x);
  const Rows v = affine(x, w("value.weight"));
  Rows joined(x.size(), Row(8));
  for (std::size_t h = 0; h < 2; ++h)
    for (std::size_t i = 0; i < x.size(); ++i) {
      // The mean of a block's products with a query is the query's product with the mean key.
      std::size_t best = i / 4;
      double largest = -1e300;
      for (std::size_t block = 0; block < i / 4; ++block) {
        double sum = 0;
        for (std::size_t j = block * 4; j < block * 4 + 4; ++j) sum += scores[h][i][j];
        if (sum > largest) largest = sum, best = block;
      }
      const Sees both = [&](std::size_t query, std::size_t j) {
        return sees(query, j) && (j / 4 == query / 4 || j / 4 == best);
      };
      add_mix(joined[i], h * 4, soft_weights(scores[h][i], i, both), v, h, 4);
    }
  return affine(joined, w("output.weight"));
}

/// Returns the loss after `steps` steps on four texts to be learned by heart.
template <class A>
double trained_loss(int steps) {
  TransformerOptions options{.vocabulary = 7, .layers = 2, .block = {.width = kWidth, .heads = kHeads}};
  options.positions = no_positions();
  use<A>(options);
  LanguageModel model(options);
  model.initialise(1);
  Adam adam(model.parameters(), {.learning_rate = 2e-2});
  const Indices texts = argmax(random_normal({4, 17, 7}, 3));
  double last = 0;
  for (int step = 0; step < steps; ++step) {
    Tape tape;
    const Tensor loss = cross_entropy(model(texts.columns(0, 16)), texts.columns(1, 17));
    tape.backward(loss);
    adam.step();
    last = loss.item();
  }
  return last;
}

}  // namespace

TEST_CASE("contextual positions and top-k blocks work in a language model as in plain loops") {
  check_variant({"CoPE", use<Contextual>, contextual});
  // A hidden token is still a part of its block's mean key.
  check_variant({.name = "MoBA", .set = use<BlockMixture>, .by_loops = block_mixture, .takes_masks = false});
}

TEST_CASE("contextual positions count the visible keys of a window alone") {
  const auto windowed = [](TransformerOptions& options) {
    use<Contextual>(options);
    options.block.window = 6;
  };
  check_variant(
      {"CoPE in a window", windowed, contextual, [](std::size_t i, std::size_t j) { return i - j < 6; }});
}

TEST_CASE("contextual positions and top-k blocks learn four texts by heart") {
  CHECK(trained_loss<Contextual>(80) < 0.5);
  CHECK(trained_loss<BlockMixture>(160) < 0.5);  // the choice of blocks jumps, so it learns more slowly
}
