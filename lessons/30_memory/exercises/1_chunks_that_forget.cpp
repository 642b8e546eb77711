// 30.1 chunks_that_forget: Chunks of linear attention with a gate
// implement, 25 minutes
//
// A memory with the sum rule has a gate α, which is the same number at each word. So S_t = α S_{t−1} + k_t v_tᵀ, and
// the read is y_t = S_tᵀ q_t. S starts as zeros. The queries q and keys k have shape (T, d), and the values v have
// shape (T, e).
//
// Compute the reads y (T, e) and the last S (d, e) in chunks of `size` words. The last chunk may be shorter.
//
// Let S be the state before a chunk, and let i, j = 1 … n be the words of the chunk. Then
//
//     y_i = αⁱ Sᵀ q_i + Σ_{j ≤ i} α^{i−j} (q_i · k_j) v_j          S becomes αⁿ S + Σ_j α^{n−j} k_j v_jᵀ
//
// The function powers() returns the powers of α for all words of a chunk, and pair_powers() returns those for all
// pairs of words. (A loop over the words of a chunk computes the same numbers and passes, but it is slower.)
#include "lessons/grader/answer.hpp"

/// Returns α^first, α^{first + 1}, …, of shape (count, 1).
Tensor powers(double alpha, Size first, Size count) {
  const auto from = static_cast<double>(first), to = static_cast<double>(first + count);
  return exp(std::log(alpha) * unsqueeze(arange(from, to, 1, DType::f64), 1));
}

/// Returns α^{i−j} for j ≤ i and else 0, of shape (count, count).
Tensor pair_powers(double alpha, Size count) {
  const Tensor ratio = powers(alpha, 0, count) / transpose(powers(alpha, 0, count));
  return where(Mask::causal(count, count), ratio, scalar(0, DType::f64));
}

/// Returns y, and S after the last word.
LinearAttendResult chunks_that_forget(const Tensor& q, const Tensor& k, const Tensor& v, double alpha,
                                      Size size) {
  Tensor state = zeros({k.size(1), v.size(1)}, DType::f64);
  std::vector<Tensor> reads;
  for (Size first = 0; first < q.size(0); first += size) {
    const Size n = std::min(size, q.size(0) - first);  // words of this chunk
    const Tensor qs = slice(q, 0, first, first + n), ks = slice(k, 0, first, first + n),
                 vs = slice(v, 0, first, first + n);
    //[ the reads of the chunk, and the next state
    //: static_cast<void>(n);
    //: return not_written_yet();
    const Tensor past = powers(alpha, 1, n) * matmul(qs, state);  // αⁱ, i = 1 … n
    const Tensor pairs = matmul(qs, transpose(ks)) * pair_powers(alpha, n);
    reads.push_back(past + matmul(pairs, vs));
    const Tensor rest = flip(powers(alpha, 0, n), 0);  // α^{n−j}: 1 for the last word
    state = std::pow(alpha, n) * state + matmul(transpose(ks * rest), vs);
    //]
  }
  return {concat(reads, 0), state};
}

// hint: Without α, this is in_chunks() from the chapter. The reads are matmul(qs, state) + as_pairs(chunk), and the
//   next state is state + Kᵀ V. Each of these four terms needs a power of α. Which power does each term need?
// hint: At word i of a chunk, S has been multiplied by α i times: powers(alpha, __, n) * matmul(qs, state). At the
//   end of the chunk, the pair written by word j has been multiplied by α n − j times.
// hint: flip(powers(alpha, 0, n), 0) is α^{n−1}, …, α, 1. The weights of the pairs are matmul(qs, transpose(ks)) *
//   pair_powers(alpha, n).

// wrong: In your code, the state before the chunk does not fade within the chunk. Use αⁱ Sᵀ q_i at word i, not Sᵀ
//   q_i.
// - const Tensor past = powers(alpha, 1, n) * matmul(qs, state);
// + const Tensor past = matmul(qs, state);
// wrong: Your powers start at α⁰. At the first word of a chunk, S has already been multiplied by α once, so start at
//   α¹.
// - const Tensor past = powers(alpha, 1, n) * matmul(qs, state);
// + const Tensor past = powers(alpha, 0, n) * matmul(qs, state);
// wrong: In your code, the old state does not fade from one chunk to the next. Multiply the old state by αⁿ.
// - state = std::pow(alpha, n) * state + matmul(transpose(ks * rest), vs);
// + state = state + matmul(transpose(ks * rest), vs);
// wrong: The powers of α for the keys are in the wrong order. At the end of a chunk, the pair from the last word has
//   faded least.
// - const Tensor rest = flip(powers(alpha, 0, n), 0);
// + const Tensor rest = powers(alpha, 0, n);
// wrong: In your code, the pairs that a chunk writes do not fade within this chunk. Multiply the scores of the pairs
//   by α^{i−j}.
// - const Tensor pairs = matmul(qs, transpose(ks)) * pair_powers(alpha, n);
// + const Tensor pairs = matmul(qs, transpose(ks)) * pair_powers(1, n);
// wrong: The powers α^{n−j} are missing in the next state. At the end of a chunk, the pairs from all words but the
//   last have faded.
// - state = std::pow(alpha, n) * state + matmul(transpose(ks * rest), vs);
// + static_cast<void>(rest);
// + state = std::pow(alpha, n) * state + matmul(transpose(ks), vs);
// wrong: You multiply the old state by α once. The old state fades at each of the n words of the chunk, so multiply
//   it by αⁿ.
// - state = std::pow(alpha, n) * state + matmul(transpose(ks * rest), vs);
// + state = alpha * state + matmul(transpose(ks * rest), vs);
// wrong: The last chunk can have fewer words than `size`. Multiply the old state by αⁿ, where n is the number of
//   words in the chunk.
// - state = std::pow(alpha, n) * state + matmul(transpose(ks * rest), vs);
// + state = std::pow(alpha, size) * state + matmul(transpose(ks * rest), vs);
// wrong: In your code, a read also uses the keys of later words, and the pairs of a chunk do not fade within it. Use
//   only pairs with j ≤ i, and multiply their scores by α^{i−j}.
// - const Tensor pairs = matmul(qs, transpose(ks)) * pair_powers(alpha, n);
// + const Tensor pairs = matmul(qs, transpose(ks));
// wrong: You write the words of the chunk to S first, so the reads count them twice. Read from the S before the
//   chunk.
// - const Tensor past = powers(alpha, 1, n) * matmul(qs, state);  // αⁱ, i = 1 … n
// + state = std::pow(alpha, n) * state + matmul(transpose(ks * flip(powers(alpha, 0, n), 0)), vs);
// + const Tensor past = powers(alpha, 1, n) * matmul(qs, state);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the read at each word from all words up to this one, in loops.
Tensor by_loops(const Tensor& q, const Tensor& k, const Tensor& v, double alpha) {
  std::vector<double> reads;
  for (Size t = 0; t < q.size(0); ++t)
    for (Size j = 0; j < v.size(1); ++j) {
      double read = 0;
      for (Size s = 0; s <= t; ++s) {
        double weight = std::pow(alpha, static_cast<double>(t - s)), score = 0;
        for (Size i = 0; i < q.size(1); ++i) score += q.at({t, i}) * k.at({s, i});
        read += weight * score * v.at({s, j});
      }
      reads.push_back(read);
    }
  return tensor(reads, {q.size(0), v.size(1)}, DType::f64);
}

/// Computes S after the last word, in loops.
Tensor last_state(const Tensor& k, const Tensor& v, double alpha) {
  std::vector<double> all;
  for (Size i = 0; i < k.size(1); ++i)
    for (Size j = 0; j < v.size(1); ++j) {
      double number = 0;
      for (Size t = 0; t < k.size(0); ++t) number = alpha * number + k.at({t, i}) * v.at({t, j});
      all.push_back(number);
    }
  return tensor(all, {k.size(1), v.size(1)}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("lets the pairs of one chunk fade", [&] {
    judge.example("all q and k 1; v = 8, 0, 0, 4; α = 0.5; one chunk");
    const Tensor one = ones({4, 1}, DType::f64), values = tensor({{8}, {0}, {0}, {4}}, DType::f64);
    judge.same(chunks_that_forget(one, one, values, 0.5, 4).output, tensor({{8}, {4}, {2}, {5}}, DType::f64),
               "the reads");
  });
  judge.claim("passes the state from chunk to chunk", [&] {
    judge.example("all q and k 1; v = 8, 4, 0, 0, 0; α = 0.5; size = 2, so the last chunk has one word");
    const Tensor one = ones({5, 1}, DType::f64), values = tensor({{8}, {4}, {0}, {0}, {0}}, DType::f64);
    const LinearAttendResult came = chunks_that_forget(one, one, values, 0.5, 2);
    judge.same(came.output, tensor({{8}, {8}, {4}, {2}, {1}}, DType::f64), "the reads");
    judge.same(came.final_state, tensor({{1}}, DType::f64), "the last state");
  });
  judge.claim("handles all sizes and a shorter last chunk", [&] {
    judge.each_size({{"words", 1, 9}, {"d", 1, 3}, {"e", 1, 4}, {"chunk size", 1, 4}},
                    [&](const Sizes& n) {
                      const Tensor q = judge.normal({n[0], n[1]}), k = judge.normal({n[0], n[1]}),
                                   v = judge.normal({n[0], n[2]});
                      const LinearAttendResult came = chunks_that_forget(q, k, v, 0.8, n[3]);
                      judge.same(came.output, by_loops(q, k, v, 0.8), "the reads");
                      judge.same(came.final_state, last_state(k, v, 0.8), "the last state");
                    },
                    {.f32 = false});
  });
}
