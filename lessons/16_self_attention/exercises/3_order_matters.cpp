// 16.3 order_matters: measure whether a layer knows the order of words
// measure, 10 minutes
//
// A layer is equivariant to permutations if shuffled words give the same results, shuffled alike. Measure how
// far it is from that: the largest magnitude of
//
//     layer(shuffled a) − shuffled layer(a)
//
// a is (n, d), and the shuffled a has as its row i the row order[i] of a, as embedding(a, order) gives it. 0
// means that the layer knows no order. max(x), abs(x) and x.item() are useful.
#include "lessons/grader/answer.hpp"

using Layer = std::function<Tensor(const Tensor&)>;  // (n, d) → (n, d_out)

double order_matters(const Layer& layer, const Tensor& a, const Indices& order) {
  //[ three lines
  //: return not_written_yet();
  const Tensor first = layer(embedding(a, order));   // shuffle, then the layer
  const Tensor second = embedding(layer(a), order);  // the layer, then the same shuffle
  return max(abs(first - second)).item();
  //]
}

// hint: Two ways lead from a to a result: shuffle and then the layer, or the layer and then ____.
// hint: embedding(x, order) shuffles the rows of any x (n, …), the words as well as what the layer made of
//   them.
// hint: The largest magnitude of a tensor x is max(abs(x)).item().
//
// wrong: You compare with layer(a), unshuffled. Of course its rows stand elsewhere: that the results move
//   with their words is what is asked for, and to be compared they have to be shuffled as well.
// - const Tensor second = embedding(layer(a), order);
// + const Tensor second = layer(a);
// wrong: To shuffle twice is not to undo a shuffle: that would take the inverse of order. Shuffle what layer(a) gave
//   instead.
// - const Tensor first = layer(embedding(a, order));
// - const Tensor second = embedding(layer(a), order);
// + const Tensor first = layer(a);
// + const Tensor second = embedding(layer(embedding(a, order)), order);
// wrong: The magnitude is missing: a difference of −5 beside one of 0.1 counts as 0.1.
// - return max(abs(first - second)).item();
// + return max(first - second).item();
// wrong: That is the mean of the differences. Positive and negative ones cancel, and one word that is far off
//   hardly shows among many.
// - return max(abs(first - second)).item();
// + return mean(first - second).item();
// wrong: Those are all differences added up: it grows with the number of words, so two layers can be compared
//   only on equally long sentences. The largest magnitude is asked for.
// - return max(abs(first - second)).item();
// + return sum(abs(first - second)).item();

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

Tensor attends(const Tensor& a) { return matmul(softmax(matmul(a, transpose(a)), -1), a); }
/// Row t is the sum of the rows up to t: what a recurrent layer could do.
Tensor adds_up(const Tensor& a) { return cumsum(a, 0); }
/// Each row with a tenth of the row before it.
Tensor looks_back(const Tensor& a) { return a + 0.1 * pad(slice(a, 0, 0, a.size(0) - 1), 0, 1, 0); }

/// The definition for a layer of which the results are known, in loops.
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
  judge.claim("says 0 of self-attention, which knows no order", [&] {
    const Tensor a = judge.normal({4, 2});
    judge.example("four words in the order 1, 2, 3, 0, and a self-attention without projections");
    judge.same(order_matters(attends, a, {1, 2, 3, 0}), 0, "how far it is from equivariant");
  });
  judge.claim("sees one word that differs, and how much", [&] {
    const Tensor a = tensor({{1}, {2}, {8}}, DType::f64);
    judge.example(
        "the words 1, 2, 8 in the order 1, 2, 0, and a layer that adds up: 2, 10, 11 against 3, 11, 1");
    judge.same(order_matters(adds_up, a, {1, 2, 0}), 10, "how far it is from equivariant");
    judge.example(
        "the words 8, 2, 1 in the order 1, 2, 0, and a layer that adds up: 2, 3, 11 against 10, 11, 8");
    judge.same(order_matters(adds_up, tensor({{8}, {2}, {1}}, DType::f64), {1, 2, 0}), 8,
               "how far it is from equivariant");
  });
  judge.claim("measures any layer, any words and any order", [&] {
    judge.each_size({{"words", 1, 6}, {"width", 1, 4}}, [&](const Sizes& n) {
      const Tensor a = judge.normal({n[0], n[1]});
      const Indices order = drawn(judge, n[0]);
      for (const Layer& layer : {Layer(adds_up), Layer(looks_back), Layer(attends)})
        judge.same(order_matters(layer, a, order), by_loops(layer, a, order.to_vector()),
                   "how far it is from equivariant");
    });
  });
}
