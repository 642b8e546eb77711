// 18.1 split_heads: heads that see pieces of the text
// debug, 10 minutes
//
// Multi-head attention without its matrices: q, k and v (B, T, H · d) hold each token's H heads side by side,
// head h in the columns h · d to (h + 1) · d. Each head attends on its own over all T tokens, softmax(q_h
// k_hᵀ / √d) v_h, and the results are put side by side again: (B, T, H · d). The program below runs, has the
// right shape, and is wrong.
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
    return transpose(reshape(x, {batch, time, heads, d}), 1, 2);  // a token's row is H times d numbers
  };
  const Tensor scores = matmul(part(q), transpose(part(k))) / std::sqrt(static_cast<double>(d));
  const Tensor found = matmul(softmax(scores, -1), part(v));         // (B, H, T, d)
  return reshape(transpose(found, 1, 2), {batch, time, heads * d});  // back to tokens first, then heads
  //]
}

// start: Change the last of four tokens, with two heads: the results of the first two do not move, though
//   every head should see all tokens. Feed 11 12 13 14, 21 22 23 24, … through the split alone and look at
//   what a head gets.
//
// hint: A reshape keeps the order of the numbers in memory. In which order do heads and tokens lie in (B, T,
//   H · d)?
// hint: The last axis alone can be taken apart by a reshape: (B, T, __, __). Then two axes have to change
//   places.
// hint: transpose(reshape(x, {batch, time, heads, d}), 1, 2) parts, and joining undoes both steps, the last
//   one first.
//
// wrong: The split is right, but the results are joined by a reshape alone: head 1's rows of all tokens come
//   first, and are taken for the first tokens. Undo the split step by step, the last step first.
// - return reshape(transpose(found, 1, 2), {batch, time, heads * d});
// + return reshape(found, {batch, time, heads * d});
// wrong: The last axis is taken apart as (d, H): each head gets every H-th column. Head h has the columns h ·
//   d to (h + 1) · d, so H is the outer of the two.
// - return transpose(reshape(x, {batch, time, heads, d}), 1, 2);
// + return permute(reshape(x, {batch, time, d, heads}), {0, 3, 1, 2});
// wrong: Heads and time never change places: (B, T, H, d) makes the tokens a batch axis, and each token's
//   heads attend to one another instead of to the other tokens. With one head nothing would be read at all.
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
// wrong: The softmax runs over the heads: for each pair of tokens they share out a weight of 1. Each head has a
//   row of weights of its own, over the tokens that it may read.
// - const Tensor found = matmul(softmax(scores, -1), part(v));
// + const Tensor found = matmul(softmax(scores, 1), part(v));
// wrong: You divide by the root of the whole width, H · d. A head's score sums d products.
// - const Tensor scores = matmul(part(q), transpose(part(k))) / std::sqrt(static_cast<double>(d));
// + const Tensor scores = matmul(part(q), transpose(part(k))) / std::sqrt(static_cast<double>(heads * d));

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Head after head, one number at a time.
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
  judge.claim("lets each head average all tokens where all scores are equal", [&] {
    judge.example(
        "q = k = 0, two heads of width 2, and the tokens 11 12 13 14, 21 22 23 24, 31 32 33 34, 41 42 43 44");
    const Tensor none = zeros({1, 4, 4}, DType::f64);
    const Tensor v =
        tensor({{{11, 12, 13, 14}, {21, 22, 23, 24}, {31, 32, 33, 34}, {41, 42, 43, 44}}}, DType::f64);
    const Tensor average = tensor({26, 27, 28, 29}, DType::f64);
    judge.same(attend_with_heads(none, none, v, 2), expand(average, {1, 4, 4}), "the result");
  });
  judge.claim("lets two heads see all of four tokens", [&] {
    const Tensor q = judge.normal({1, 4, 4}), k = judge.normal({1, 4, 4}), v = judge.normal({1, 4, 4});
    judge.example("one text of four tokens, two heads of width 2");
    judge.same(attend_with_heads(q, k, v, 2), by_loops(q, k, v, 2), "the result");
  });
  judge.claim("does so for any batch, number of tokens and heads", [&] {
    judge.each_size({{"batch", 1, 3}, {"tokens", 1, 5}, {"heads", 1, 4}, {"d", 1, 3}}, [&](const Sizes& n) {
      const Dims shape = {n[0], n[1], n[2] * n[3]};
      const Tensor q = judge.normal(shape), k = judge.normal(shape), v = judge.normal(shape);
      judge.same(attend_with_heads(q, k, v, n[2]), by_loops(q, k, v, n[2]), "the result");
    });
  });
}
