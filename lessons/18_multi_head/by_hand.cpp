// Checks of lesson 18's layer by hand, compared with a loop over its heads and with nn/'s layer.
#include "lessons/18_multi_head/by_hand.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"

namespace tapestry::lesson18 {
namespace {

/// Applies head i's rows of a Linear that stores `heads` heads in one matrix.
Tensor through_head(const Linear& all, const Tensor& x, Size i, Size heads) {
  const Size d = all.weight.size(0) / heads;
  return linear(x, slice(all.weight, 0, i * d, (i + 1) * d), slice(all.bias, 0, i * d, (i + 1) * d));
}

/// Computes the definition directly, one head after another, → (B, Tq, width).
Tensor one_after_another(const MultiHeadAttention& layer, const Tensor& queries, const Tensor& keys,
                         const Tensor& values, const Mask& mask) {
  const Size heads = layer.options().heads, groups = layer.options().kv_heads;
  std::vector<Tensor> found;
  for (Size i = 0; i < heads; ++i) {
    const Size group = i / (heads / groups);
    const Tensor q = through_head(layer.query, queries, i, heads);
    const Tensor k = through_head(layer.key, keys, group, groups);
    const Tensor v = through_head(layer.value, values, group, groups);
    const Tensor alpha =
        masked_softmax(matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(-1))), mask);
    found.push_back(matmul(alpha, v));
  }
  return linear(concat(found, -1), layer.output.weight, layer.output.bias);
}

void check_layer(kit::Report& report, const std::string& name, const MultiHeadOptions& options,
                 const ByHand& by_hand, std::uint64_t seed) {
  constexpr DType f64 = DType::f64;
  MultiHeadAttention layer(options);
  layer.initialise(seed, f64);
  const Tensor queries = variable(random_normal({2, 3, options.width}, seed + 1, f64), "queries"),
               keys = variable(random_normal({2, 5, options.key_width}, seed + 2, f64), "keys"),
               values = variable(random_normal({2, 5, options.value_width}, seed + 3, f64), "values");
  const Mask mask = ValidLengths{5, 3}.mask(5);
  std::vector<Tensor> leaves = {queries, keys, values};
  // A bias b of the keys adds the same number q · b to all scores of a row. Softmax does not change when all
  // scores of a row grow by the same number. So the gradient of b is 0, and only rounding errors would be
  // compared.
  for (const Tensor& weight : layer.parameters())
    if (weight.name() != "key.bias") leaves.push_back(weight);

  const auto loop = [&] { return one_after_another(layer, queries, keys, values, mask); };
  const auto parted = [&](Split split) { return by_hand.layer(layer, queries, keys, values, mask, split); };
  const auto by_nn = [&] { return layer(queries, keys, values, mask).context; };
  kit::check_by_hand(report, name + ", a loop", loop, by_nn, leaves, seed);
  kit::check_by_hand(
      report, name + ", at once", [&] { return parted(by_hand.split); }, by_nn, leaves, seed);
  report.check(name + ", split by a reshape: another result",
               kit::largest(parted(by_hand.wrongly) - loop()) > 0.01);
}

}  // namespace

void check_layers(kit::Report& report, const ByHand& by_hand, std::uint64_t seed) {
  MultiHeadOptions options{.width = 8, .heads = 4, .key_width = 6, .value_width = 5};
  check_layer(report, "four heads", options, by_hand, seed);
  options.head_width = 3;
  options.value_head_width = 5;
  check_layer(report, "d_k = 3, d_v = 5", options, by_hand, seed);
  options.kv_heads = 2;
  check_layer(report, "two heads of keys", options, by_hand, seed);
  options.kv_heads = 1;
  check_layer(report, "one head of keys", options, by_hand, seed);
}

Tensor print_splits(const ByHand& by_hand, kit::Report& report) {
  const Tensor tokens = tensor({{{11, 12, 13, 14}, {21, 22, 23, 24}, {31, 32, 33, 34}}}, DType::f64);
  const auto print = [](const char* name, const Tensor& x) {  // (1, H, T, d), one line per head
    for (Size head = 0; head < x.size(1); ++head) {
      fmt::print("  {:<12} head {}: ", head == 0 ? name : "", head + 1);
      for (Size t = 0; t < x.size(2); ++t)
        fmt::print("  [{:.0f} {:.0f}]", x.at({0, head, t, 0}), x.at({0, head, t, 1}));
      fmt::print("\n");
    }
  };
  print("transposed", by_hand.split(tokens, 2));
  print("reshaped", by_hand.wrongly(tokens, 2));
  const Tensor split = by_hand.split(tokens, 2);
  report.check("merge_heads() undoes split_heads()", kit::largest(by_hand.merge(split) - tokens) == 0);
  report.check("the second token of the second head is 23, 24", split.at({0, 1, 1, 0}) == 23);
  return tokens;
}

}  // namespace tapestry::lesson18
