// 16.3 order_matters: Measuring permutation equivariance
// measure, 10 minutes
//
// A layer is permutation-equivariant if shuffling its input tokens shuffles its outputs in the same way, and
// changes nothing else. Measure how far a layer is from that: the largest absolute value of
//
//     layer(shuffled a) − shuffled layer(a)
//
// a has the shape (n, d). Row i of the shuffled a is row order[i] of a; embedding(a, order) computes it. If the
// result is 0 for every input and order, the layer knows no order. The functions max(x), abs(x) and x.item()
// are useful.
#include "lessons/grader/answer.hpp"

using Layer = std::function<Tensor(const Tensor&)>;  // (n, d) → (n, d_out)

double order_matters(const Layer& layer, const Tensor& a, const Indices& order) {
  //[ three lines
  //: return not_written_yet();
  const Tensor first = layer(embedding(a, order));   // shuffle, then apply the layer
  const Tensor second = embedding(layer(a), order);  // apply the layer, then shuffle
  return max(abs(first - second)).item();
  //]
}

// hint: There are two ways to combine the layer and the shuffle: first shuffle and then apply the layer, or
//   first apply the layer and then ____.
// hint: embedding(x, order) shuffles the rows of any x (n, …). So it can shuffle the input tokens and also the
//   outputs of the layer.
// hint: The largest absolute value of a tensor x is max(abs(x)).item().
//
// wrong: You compare with layer(a) without shuffling it. An equivariant layer moves each output together with
//   its token. So layer(a) must be shuffled too before the comparison.
// - const Tensor second = embedding(layer(a), order);
// + const Tensor second = layer(a);
// wrong: You shuffle twice. That does not undo the first shuffle; only the inverse of order would undo it.
//   Shuffle layer(a) instead.
// - const Tensor first = layer(embedding(a, order));
// - const Tensor second = embedding(layer(a), order);
// + const Tensor first = layer(a);
// + const Tensor second = embedding(layer(embedding(a, order)), order);
// wrong: The absolute value is missing. If the differences are −5 and 0.1, your result is 0.1.
// - return max(abs(first - second)).item();
// + return max(first - second).item();
// wrong: You compute the mean of the differences. Positive and negative differences cancel, and one large
//   difference hardly shows among many small ones.
// - return max(abs(first - second)).item();
// + return mean(first - second).item();
// wrong: You add up all differences. This sum grows with the number of tokens, so it cannot compare layers on
//   sequences of different lengths. Compute the largest absolute value.
// - return max(abs(first - second)).item();
// + return sum(abs(first - second)).item();

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

Tensor attends(const Tensor& a) { return matmul(softmax(matmul(a, transpose(a)), -1), a); }
/// Computes running sums: row t is the sum of the rows up to t, as a recurrent layer could compute it.
Tensor adds_up(const Tensor& a) { return cumsum(a, 0); }
/// Adds to each row a tenth of the row before.
Tensor looks_back(const Tensor& a) { return a + 0.1 * pad(slice(a, 0, 0, a.size(0) - 1), 0, 1, 0); }

/// Computes the definition with loops.
double by_loops(const Layer& layer, const Tensor& a, const std::vector<std::int64_t>& order) {
  const Size n = a.size(0), d = a.size(1);
  std::vector<double> moved;
  for (const std::int64_t row : order)
    for (Size c = 0; c < d; ++c) moved.push_back(a.at({row, c}));
  const Tensor shuffled_in = layer(tensor(moved, {n, d}, DType::f64)), plain = layer(a);
  double largest = 0;
  for (Size i = 0; i < n; ++i)
    for (Size c = 0; c < plain.size(1); ++c)
      largest = std::max(
          largest, std::abs(shuffled_in.at({i, c}) - plain.at({order[static_cast<std::size_t>(i)], c})));
  return largest;
}

Indices drawn(Judge& judge, Size n) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  judge.random().shuffle(order);
  return Indices(order, {n});
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("returns 0 for self-attention", [&] {
    const Tensor a = judge.normal({4, 2});
    judge.example("four tokens in the order 1, 2, 3, 0, and self-attention without projections");
    judge.same(order_matters(attends, a, {1, 2, 3, 0}), 0, "how far it is from equivariant");
  });
  judge.claim("finds the largest difference", [&] {
    const Tensor a = tensor({{1}, {2}, {8}}, DType::f64);
    judge.example(
        "the tokens 1, 2, 8 in the order 1, 2, 0, and a layer of running sums: 2, 10, 11 and 3, 11, 1");
    judge.same(order_matters(adds_up, a, {1, 2, 0}), 10, "how far it is from equivariant");
    judge.example(
        "the tokens 8, 2, 1 in the order 1, 2, 0, and a layer of running sums: 2, 3, 11 and 10, 11, 8");
    judge.same(order_matters(adds_up, tensor({{8}, {2}, {1}}, DType::f64), {1, 2, 0}), 8,
               "how far it is from equivariant");
  });
  judge.claim("measures other layers, tokens and orders", [&] {
    judge.each_size({{"words", 1, 6}, {"width", 1, 4}}, [&](const Sizes& n) {
      const Tensor a = judge.normal({n[0], n[1]});
      const Indices order = drawn(judge, n[0]);
      for (const Layer& layer : {Layer(adds_up), Layer(looks_back), Layer(attends)})
        judge.same(order_matters(layer, a, order), by_loops(layer, a, order.to_vector()),
                   "how far it is from equivariant");
    });
  });
}
