// 18.1 split_heads: Find the mistake in a split into heads
// debug, 10 minutes
//
// The function below computes multi-head attention without projections. The inputs q, k and v (B, T, H · d)
// hold each token's H heads in one row: head h has the columns h · d to (h + 1) · d, counted from h = 0. Each
// head attends separately over all T tokens: softmax(q_h k_hᵀ / √d) v_h. The results of the heads are
// concatenated again, (B, T, H · d).
//
// The function runs and returns the right shape, but its numbers are wrong. Correct it.
#include "lessons/grader/answer.hpp"

Tensor attend_with_heads(const Tensor& q, const Tensor& k, const Tensor& v, Size heads) {
  //[ find the mistake; there may be more than one place
  //: const Size batch = q.size(0), time = q.size(1), d = q.size(2) / heads;
  //: const auto part = [&](const Tensor& x) {  // → (B, H, T, d)
  //:   return reshape(x, {batch, heads, time, d});
  //: };
  //: const Tensor scores = matmul(part(q), transpose(part(k))) / std::sqrt(static_cast<double>(d));
  //: const Tensor found = matmul(softmax(scores, -1), part(v));  // (B, H, T, d)
  //: return reshape(found, {batch, time, heads * d});
  const Size batch = q.size(0), time = q.size(1), d = q.size(2) / heads;
  const auto part = [&](const Tensor& x) {                        // → (B, H, T, d)
    return transpose(reshape(x, {batch, time, heads, d}), 1, 2);  // a token's row holds H times d numbers
  };
  const Tensor scores = matmul(part(q), transpose(part(k))) / std::sqrt(static_cast<double>(d));
  const Tensor found = matmul(softmax(scores, -1), part(v));         // (B, H, T, d)
  return reshape(transpose(found, 1, 2), {batch, time, heads * d});  // first exchange the axes, then reshape
  //]
}

// start: Every head should attend to all tokens. But with two heads, a change of the last of four tokens does
//   not change the results of the first two tokens. Split the tokens 11 12 13 14, 21 22 23 24, … and print the
//   numbers that each head gets.
//
// hint: A reshape keeps the order of the numbers in memory. In (B, T, H · d), which numbers follow each other
//   in memory: those of one token or those of one head?
// hint: A reshape can split the last axis alone: (B, T, __, __). Then exchange two axes.
// hint: transpose(reshape(x, {batch, time, heads, d}), 1, 2) splits the heads. To merge them, undo both steps,
//   the last one first.
//
// wrong: The split is right, but you merge the results with a reshape alone. Then the rows of head 1 for all
//   tokens come first and are mistaken for the first tokens. Undo the split step by step, the last step first.
// - return reshape(transpose(found, 1, 2), {batch, time, heads * d});
// + return reshape(found, {batch, time, heads * d});
// wrong: You split the last axis into (d, H), so each head gets every H-th column. Head h has the columns h · d
//   to (h + 1) · d. So the split must be (H, d).
// - return transpose(reshape(x, {batch, time, heads, d}), 1, 2);
// + return permute(reshape(x, {batch, time, d, heads}), {0, 3, 1, 2});
// wrong: You never exchange the axes of heads and time. In (B, T, H, d) the tokens are a batch axis, so the
//   heads of one token attend to one another, and no token attends to another token.
// - return transpose(reshape(x, {batch, time, heads, d}), 1, 2);
// - };
// - const Tensor scores = matmul(part(q), transpose(part(k))) / std::sqrt(static_cast<double>(d));
// - const Tensor found = matmul(softmax(scores, -1), part(v));
// - return reshape(transpose(found, 1, 2), {batch, time, heads * d});
// + return reshape(x, {batch, time, heads, d});
// + };
// + const Tensor scores = matmul(part(q), transpose(part(k))) / std::sqrt(static_cast<double>(d));
// + const Tensor found = matmul(softmax(scores, -1), part(v));
// + return reshape(found, {batch, time, heads * d});
// wrong: The softmax runs over the heads, so the weights of all heads for a pair of tokens sum to 1. Instead,
//   each head needs its own row of weights, and this row must sum to 1 over the tokens.
// - const Tensor found = matmul(softmax(scores, -1), part(v));
// + const Tensor found = matmul(softmax(scores, 1), part(v));
// wrong: You divide by the root of the whole width, H · d. A head's score is a sum of d products, so divide by
//   √d.
// - const Tensor scores = matmul(part(q), transpose(part(k))) / std::sqrt(static_cast<double>(d));
// + const Tensor scores = matmul(part(q), transpose(part(k))) / std::sqrt(static_cast<double>(heads * d));

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes one head after another in loops.
Tensor by_loops(const Tensor& q, const Tensor& k, const Tensor& v, Size heads) {
  const Size batch = q.size(0), time = q.size(1), d = q.size(2) / heads;
  std::vector<double> result;
  for (Size b = 0; b < batch; ++b)
    for (Size i = 0; i < time; ++i)
      for (Size h = 0; h < heads; ++h) {
        std::vector<double> weights;
        double whole = 0;
        for (Size j = 0; j < time; ++j) {
          double score = 0;
          for (Size c = h * d; c < (h + 1) * d; ++c) score += q.at({b, i, c}) * k.at({b, j, c});
          weights.push_back(std::exp(score / std::sqrt(static_cast<double>(d))));
          whole += weights.back();
        }
        for (Size c = h * d; c < (h + 1) * d; ++c) {
          double mixture = 0;
          for (Size j = 0; j < time; ++j)
            mixture += weights[static_cast<std::size_t>(j)] / whole * v.at({b, j, c});
          result.push_back(mixture);
        }
      }
  return tensor(result, q.shape(), DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("averages all tokens in each head when all scores are equal", [&] {
    judge.example(
        "q = k = 0, two heads of width 2, and the tokens 11 12 13 14, 21 22 23 24, 31 32 33 34, 41 42 43 44");
    const Tensor none = zeros({1, 4, 4}, DType::f64);
    const Tensor v =
        tensor({{{11, 12, 13, 14}, {21, 22, 23, 24}, {31, 32, 33, 34}, {41, 42, 43, 44}}}, DType::f64);
    const Tensor average = tensor({26, 27, 28, 29}, DType::f64);
    judge.same(attend_with_heads(none, none, v, 2), expand(average, {1, 4, 4}), "the result");
  });
  judge.claim("lets each of two heads attend to all four tokens", [&] {
    const Tensor q = judge.normal({1, 4, 4}), k = judge.normal({1, 4, 4}), v = judge.normal({1, 4, 4});
    judge.example("one sequence of four tokens, two heads of width 2");
    judge.same(attend_with_heads(q, k, v, 2), by_loops(q, k, v, 2), "the result");
  });
  judge.claim("attends correctly for other numbers of sequences, tokens and heads", [&] {
    judge.each_size({{"batch", 1, 3}, {"tokens", 1, 5}, {"heads", 1, 4}, {"d", 1, 3}}, [&](const Sizes& n) {
      const Dims shape = {n[0], n[1], n[2] * n[3]};
      const Tensor q = judge.normal(shape), k = judge.normal(shape), v = judge.normal(shape);
      judge.same(attend_with_heads(q, k, v, n[2]), by_loops(q, k, v, n[2]), "the result");
    });
  });
}
