// 35.2 absorbed: Absorbed matrices of latent attention
// derive, 20 minutes
//
// A cache stores a latent vector c_t of n numbers for each of T tokens. Head i has the keys W^UK_i c_t and the values
// W^UV_i c_t. Each of the H heads has one new query q_i. Latent attention without a rotary part computes
//
//     w_t = softmax_t(q_i · (W^UK_i c_t) / √d),    result_i = Σ_t w_t W^UV_i c_t
//
// The shapes are q (H, d), c (T, n), w_k (H, d, n) and w_v (H, e, n), and the result has the shape (H, e).
//
// Compute the same result without the keys and values of the T tokens: change the order of the products. For a long
// text, the judge checks that none of your tensors is as large as all the keys of a head.
#include "lessons/grader/answer.hpp"

Tensor read_latents(const Tensor& q, const Tensor& c, const Tensor& w_k, const Tensor& w_v) {
  const double root = std::sqrt(static_cast<double>(q.size(1)));  // √d
  //[ about four lines
  //: return not_written_yet();
  const Tensor absorbed = squeeze(matmul(unsqueeze(q, 1), w_k), 1);           // (H, n): (W^UK)ᵀ q
  const Tensor weights = softmax(matmul(absorbed, transpose(c)) / root, -1);  // (H, T)
  const Tensor sums = matmul(weights, c);                                     // (H, n): Σ w c
  return squeeze(matmul(w_v, unsqueeze(sums, 2)), 2);
  //]
}

// hint: In q · (W c), which two of the three factors do not depend on the token t?
// hint: q · (W c) = (____ᵀ q) · c. The sum Σ w_t W c_t is W times ____.
// hint: matmul(unsqueeze(q, 1), w_k) is (H, 1, n). It contains (W^UK_i)ᵀ q_i for each head.

// wrong: You divide the scores by √n, the root of the latent width. Divide by √d, the root of the head's width.
// - const Tensor weights = softmax(matmul(absorbed, transpose(c)) / root, -1);
// + const Tensor weights = softmax(matmul(absorbed, transpose(c)) / std::sqrt(static_cast<double>(c.size(1))), -1);
// wrong: You left out 1/√d. Absorbing the matrix does not change the factor.
// - const Tensor weights = softmax(matmul(absorbed, transpose(c)) / root, -1);
// + const Tensor weights = softmax(matmul(absorbed, transpose(c)), -1);
// wrong: Your softmax runs over the heads. It must run over the tokens, so that the weights of each head sum to 1.
// - const Tensor weights = softmax(matmul(absorbed, transpose(c)) / root, -1);
// + const Tensor weights = softmax(matmul(absorbed, transpose(c)) / root, 0);
// wrong: You computed all keys and values. The result is right, but each step multiplies all T latent vectors by
//   both matrices.
// - const Tensor absorbed = squeeze(matmul(unsqueeze(q, 1), w_k), 1);
// - const Tensor weights = softmax(matmul(absorbed, transpose(c)) / root, -1);
// - const Tensor sums = matmul(weights, c);
// - return squeeze(matmul(w_v, unsqueeze(sums, 2)), 2);
// + const Tensor k = matmul(unsqueeze(c, 0), transpose(w_k)), v = matmul(unsqueeze(c, 0), transpose(w_v));
// + return squeeze(matmul(softmax(matmul(unsqueeze(q, 1), transpose(k)) / root, -1), v), 1);

//= judge
#include "core/tape/node_info.hpp"
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes all keys and values, head by head.
Tensor with_keys(const Tensor& q, const Tensor& c, const Tensor& w_k, const Tensor& w_v) {
  std::vector<Tensor> heads;
  for (Size i = 0; i < q.size(0); ++i) {
    const Tensor k = matmul(c, transpose(select(w_k, 0, i))), v = matmul(c, transpose(select(w_v, 0, i)));
    const Tensor scores =
        matmul(k, slice(transpose(q), 1, i, i + 1)) / std::sqrt(static_cast<double>(q.size(1)));
    heads.push_back(matmul(transpose(softmax(scores, 0)), v));
  }
  return concat(heads, 0);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("gives the result of attention with keys and values", [&] {
    judge.each_size(
        {{"heads", 1, 3}, {"tokens", 1, 6}, {"d", 1, 4}, {"n", 2, 5}, {"e", 1, 3}}, [&](const Sizes& n) {
          const Tensor q = judge.normal({n[0], n[2]}), c = judge.normal({n[1], n[3]}),
                       w_k = judge.normal({n[0], n[2], n[3]}), w_v = judge.normal({n[0], n[4], n[3]});
          judge.same(read_latents(q, c, w_k, w_v), with_keys(q, c, w_k, w_v), "the result");
        });
  });
  judge.claim("computes no keys and values of the tokens", [&] {
    // Keys and values depend on the matrices, so a tape that differentiates by these records them.
    const Tensor q = random_normal({8, 32}, 1), c = random_normal({2048, 64}, 2),
                 w_k = variable(random_normal({8, 32, 64}, 3)), w_v = variable(random_normal({8, 32, 64}, 4));
    Tape tape;
    read_latents(q, c, w_k, w_v);
    Size largest = 0;
    for (std::size_t i = 0; i < tape.size(); ++i) largest = std::max(largest, tape.node(i).shape.count());
    judge.that(
        largest < 2048 * 32,
        "on 2,048 tokens your function computes a tensor as large as the keys or the values of a head");
  });
}
