// 30.1 chunks_that_forget: a chunk at a time, with a gate
// implement, 25 minutes
//
// A memory that forgets by a number α at each word: S_t = α S_{t−1} + k_t v_tᵀ, y_t = S_tᵀ q_t. q and k are (T, d),
// v is (T, e), S begins as zeros; return y (T, e) and the last S (d, e), computed in chunks of `size` words, the last of
// which may be shorter. With S the state before a chunk, and i, j = 1 … n its words, within it
//
//     y_i = αⁱ Sᵀ q_i + Σ_{j ≤ i} α^{i−j} (q_i · k_j) v_j          S becomes αⁿ S + Σ_j α^{n−j} k_j v_jᵀ
//
// Powers of α for all words of a chunk, or all its pairs, are there as tensors. (A loop over the words of a chunk gives
// the same numbers and passes; what it loses is time.)
#include "lessons/grader/answer.hpp"

/// α^first, α^{first + 1}, … (count, 1)
Tensor powers(double alpha, Size first, Size count) {
  const auto from = static_cast<double>(first), to = static_cast<double>(first + count);
  return exp(std::log(alpha) * unsqueeze(arange(from, to, 1, DType::f64), 1));
}

/// α^{i−j} where j ≤ i, else 0: (count, count)
Tensor pair_powers(double alpha, Size count) {
  const Tensor ratio = powers(alpha, 0, count) / transpose(powers(alpha, 0, count));
  return where(Mask::causal(count, count), ratio, scalar(0, DType::f64));
}

/// y, and S after the last word.
Remembered chunks_that_forget(const Tensor& q, const Tensor& k, const Tensor& v, double alpha, Size size) {
  Tensor state = zeros({k.size(1), v.size(1)}, DType::f64);
  std::vector<Tensor> reads;
  for (Size first = 0; first < q.size(0); first += size) {
    const Size n = std::min(size, q.size(0) - first);  // words of this chunk
    const Tensor qs = slice(q, 0, first, first + n), ks = slice(k, 0, first, first + n),
                 vs = slice(v, 0, first, first + n);
    //[ what the chunk reads, and the next state
    //: static_cast<void>(n);
    //: return not_written_yet();
    const Tensor past = powers(alpha, 1, n) * matmul(qs, state);  // αⁱ, i = 1 … n
    const Tensor pairs = matmul(qs, transpose(ks)) * pair_powers(alpha, n);
    reads.push_back(past + matmul(pairs, vs));
    const Tensor rest = flip(powers(alpha, 0, n), 0);  // α^{n−j}: the last word keeps all
    state = std::pow(alpha, n) * state + matmul(transpose(ks * rest), vs);
    //]
  }
  return {concat(reads, 0), state};
}

// hint: Without α this is the chapter's in_chunks(): matmul(qs, state) + pairs, and state + Kᵀ V. Where does a power
//   of α belong in each of the four?
// hint: Word i of a chunk has seen α i times since S was left: powers(alpha, __, n) * matmul(qs, state). What key j
//   wrote has seen it n − j times when the chunk ends.
// hint: flip(powers(alpha, 0, n), 0) is α^{n−1}, …, α, 1. pairs: matmul(qs, transpose(ks)) * pair_powers(alpha, n).

// wrong: What came before a chunk does not fade within it: word i reads αⁱ Sᵀ q_i, and you read Sᵀ q_i.
// - const Tensor past = powers(alpha, 1, n) * matmul(qs, state);
// + const Tensor past = matmul(qs, state);
// wrong: The first word of a chunk reads S after one more step: it has α¹ before it, not α⁰.
// - const Tensor past = powers(alpha, 1, n) * matmul(qs, state);
// + const Tensor past = powers(alpha, 0, n) * matmul(qs, state);
// wrong: The old state does not fade on its way to the next chunk: αⁿ is missing.
// - state = std::pow(alpha, n) * state + matmul(transpose(ks * rest), vs);
// + state = state + matmul(transpose(ks * rest), vs);
// wrong: The powers of the keys are in the wrong order: the last word of a chunk is the freshest at its end.
// - const Tensor rest = flip(powers(alpha, 0, n), 0);
// + const Tensor rest = powers(alpha, 0, n);
// wrong: Within a chunk nothing fades: α^{i−j} of the pairs is missing.
// - const Tensor pairs = matmul(qs, transpose(ks)) * pair_powers(alpha, n);
// + const Tensor pairs = matmul(qs, transpose(ks)) * pair_powers(1, n);
// wrong: The keys' weights are missing in the state: a word at a chunk's beginning has faded when it ends.
// - state = std::pow(alpha, n) * state + matmul(transpose(ks * rest), vs);
// + static_cast<void>(rest);
// + state = std::pow(alpha, n) * state + matmul(transpose(ks), vs);
// wrong: The old state fades once for each word of the chunk, αⁿ, and you let it fade once.
// - state = std::pow(alpha, n) * state + matmul(transpose(ks * rest), vs);
// + state = alpha * state + matmul(transpose(ks * rest), vs);
// wrong: The last chunk may have fewer words: the old state fades by αⁿ with its n words, not with `size`.
// - state = std::pow(alpha, n) * state + matmul(transpose(ks * rest), vs);
// + state = std::pow(alpha, size) * state + matmul(transpose(ks * rest), vs);
// wrong: Words read keys that come after them, and nothing fades: a pair counts where j ≤ i only, and with α^{i−j}.
// - const Tensor pairs = matmul(qs, transpose(ks)) * pair_powers(alpha, n);
// + const Tensor pairs = matmul(qs, transpose(ks));
// wrong: S is the state before the chunk. You wrote the chunk's own words into it first, so they are read twice.
// - const Tensor past = powers(alpha, 1, n) * matmul(qs, state);  // αⁱ, i = 1 … n
// + state = std::pow(alpha, n) * state + matmul(transpose(ks * flip(powers(alpha, 0, n), 0)), vs);
// + const Tensor past = powers(alpha, 1, n) * matmul(qs, state);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Each read from all words before, number by number.
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

/// S after the last word, number by number.
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
  judge.claim("lets pairs of one chunk fade", [&] {
    judge.example("all q and k 1; v = 8, 0, 0, 4; α = 0.5; one chunk");
    const Tensor one = ones({4, 1}, DType::f64), values = tensor({{8}, {0}, {0}, {4}}, DType::f64);
    judge.same(chunks_that_forget(one, one, values, 0.5, 4).read, tensor({{8}, {4}, {2}, {5}}, DType::f64),
               "the reads");
  });
  judge.claim("hands the state from chunk to chunk", [&] {
    judge.example("all q and k 1; v = 8, 4, 0, 0, 0; α = 0.5; size = 2, so the last chunk has one word");
    const Tensor one = ones({5, 1}, DType::f64), values = tensor({{8}, {4}, {0}, {0}, {0}}, DType::f64);
    const Remembered came = chunks_that_forget(one, one, values, 0.5, 2);
    judge.same(came.read, tensor({{8}, {8}, {4}, {2}, {1}}, DType::f64), "the reads");
    judge.same(came.state, tensor({{1}}, DType::f64), "the last state");
  });
  judge.claim("does so for any sizes and a shorter last chunk", [&] {
    judge.each_size({{"words", 1, 9}, {"d", 1, 3}, {"e", 1, 4}, {"size of a chunk", 1, 4}},
                    [&](const Sizes& n) {
                      const Tensor q = judge.normal({n[0], n[1]}), k = judge.normal({n[0], n[1]}),
                                   v = judge.normal({n[0], n[2]});
                      const Remembered came = chunks_that_forget(q, k, v, 0.8, n[3]);
                      judge.same(came.read, by_loops(q, k, v, 0.8), "the reads");
                      judge.same(came.state, last_state(k, v, 0.8), "the last state");
                    },
                    {.f32 = false});
  });
}
