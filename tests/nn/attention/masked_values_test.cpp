// Values that are not the keys: what stands at places that no query sees touches nothing there either.
#include "nn/attention/multi_head.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/tensors.hpp"
#include "tests/not_finite.hpp"

using namespace tapestry;
using test::kInf;
using test::kNaN;
using testing::all_finite;
using testing::equal_bits;
using testing::normal;

namespace {

/// x (B, T, n) with `poison` at keys that the mask hides from all queries.
Tensor poisoned(const Tensor& x, const Mask& seen, double poison) {
  return variable(where(seen.reshape({x.size(0), x.size(1), 1}), x, scalar(poison, x.dtype())));
}

/// Context, weights and all gradients.
template <class Layer>
std::vector<Tensor> run(const Layer& layer, const Tensor& q, const Tensor& k, const Tensor& v,
                        const Mask& mask) {
  const Tensor query = variable(q);
  for (const Tensor& leaf : layer.parameters()) leaf.clear_grad();
  Tape tape;
  const AttentionOutput found = layer(query, k, v, mask);
  std::vector<Tensor> results{found.context.detach(), found.weights.detach()};
  tape.backward(sum(found.context * normal(found.context.shape(), 9)));
  for (const Tensor& x : {query, k, v}) results.push_back(x.grad());
  for (const Tensor& leaf : layer.parameters()) results.push_back(leaf.grad());
  return results;
}

template <class Layer>
void check_untouched(const Layer& layer, Size value_width, const Mask& mask, const Mask& seen) {
  const Tensor q = normal({2, 3, 6}, 1), k = normal({2, 4, 6}, 2), v = normal({2, 4, value_width}, 3);
  const auto clean = run(layer, q, poisoned(k, seen, 0), poisoned(v, seen, 0), mask);
  for (const double poison : {kNaN, kInf, 1e300}) {
    const auto keys = run(layer, q, poisoned(k, seen, poison), poisoned(v, seen, 0), mask),
               values = run(layer, q, poisoned(k, seen, 0), poisoned(v, seen, poison), mask);
    for (std::size_t i = 0; i < clean.size(); ++i) {
      CAPTURE(poison, i);
      CHECK(all_finite(clean[i]));
      CHECK(equal_bits(clean[i], keys[i]));
      CHECK(equal_bits(clean[i], values[i]));
    }
  }
  CHECK(max(abs(clean[4])).item() > 0);
}

}  // namespace

TEST_CASE("nothing reaches values through what no query sees, in one head") {
  // Row 0 hides key 1 from all, and key 3 from query 0 alone; row 1 hides the last two.
  const Mask mask = Mask::from(6, 4,
                               [](Size i, Size j) { return i < 3 ? j != 1 && !(j == 3 && i == 0) : j < 2; })
                        .reshape({2, 3, 4}),
             seen = Mask::from(2, 4, [](Size b, Size j) { return b == 0 ? j != 1 : j < 2; });
  Attention attention(scaled_dot());
  check_untouched(attention, 5, mask, seen);
  Attention adding(additive(6, 6, 4));
  adding.initialise(1, DType::f64);
  check_untouched(adding, 5, mask, seen);
}

TEST_CASE("nothing reaches values through what no query of any head sees") {
  const Mask seen = Mask::from(2, 4, [](Size b, Size j) { return b == 0 ? j != 1 : j < 2; });
  const Mask by_row = seen.reshape({2, 1, 4});
  // Heads see different keys: one that a single head may see is seen.
  const Mask by_head = Mask::from(2 * 2 * 3, 4, [](Size at, Size j) {
                         const Size b = at / 6, head = at / 3 % 2;
                         return b == 0 ? j != 1 && (j != 3 || head == 1) : j < 2 && (j != 1 || head == 0);
                       }).reshape({2, 2, 3, 4});
  for (const Size kv_heads : {2, 1}) {
    MultiHeadAttention attention({.width = 6, .heads = 2, .kv_heads = kv_heads, .value_width = 5});
    attention.initialise(1, DType::f64);
    check_untouched(attention, 5, by_row, seen);
    check_untouched(attention, 5, by_head, seen);
  }
}

TEST_CASE("lengths hide values as a mask does") {
  MultiHeadAttention attention({.width = 6, .heads = 2, .value_width = 5});
  attention.initialise(1, DType::f64);
  const Tensor q = normal({2, 3, 6}, 1), k = normal({2, 4, 6}, 2), v = normal({2, 4, 5}, 3);
  const ValidLengths lengths{4, 2};
  const Tensor hidden = where(lengths.mask(4).reshape({2, 4, 1}), v, scalar(kNaN, DType::f64));
  const AttentionOutput found = attention(q, k, hidden, lengths);
  CHECK(all_finite(found.context));
  CHECK(equal_bits(found.context, attention(q, k, v, lengths).context));
  const Attention one(dot());
  CHECK(equal_bits(one(q, k, hidden, lengths).context, one(q, k, v, lengths).context));
}
