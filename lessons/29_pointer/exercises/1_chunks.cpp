// 29.1 chunks: Chunkwise attention
// implement, 15 minutes
//
// Monotonic attention stops at one key. *Monotonic chunkwise* attention (MoChA, Chiu and Raffel 2018) then
// attends to a chunk: the key at which it stopped and the w − 1 keys before it (fewer near the start of the source).
// The weights within the chunk are the softmax of a second set of scores, u.
//
// The inputs are alpha (B, S), the probability that the decoder stops at each key, and u (B, S). Return the expected
// weight of each key, (B, S):
//
//     β_j = Σ_k α_k · softmax(u_{k−w+1}, …, u_k)_j          the sum over all stops k whose chunk has key j
//
// No chunk may contain a key after its stop. Gradients must flow to alpha and to u.
#include "lessons/grader/answer.hpp"

Tensor chunkwise(const Tensor& alpha, const Tensor& u, Size w) {
  //[ a loop over the stops
  //: static_cast<void>(alpha.size(0)), static_cast<void>(u.size(0)), static_cast<void>(w);
  //: return not_written_yet();
  const Size keys = alpha.size(1);
  Tensor beta = zeros(alpha.shape(), alpha.dtype());
  for (Size k = 0; k < keys; ++k) {
    const Size first = std::max<Size>(0, k - w + 1);  // the chunk is first … k: at most w keys
    const Tensor chunk = softmax(slice(u, 1, first, k + 1), 1);
    const Tensor share = slice(alpha, 1, k, k + 1) * chunk;  // (B, 1) times (B, keys of the chunk)
    beta = beta + pad(share, 1, first, keys - k - 1);
  }
  return beta;
  //]
}

// hint: Suppose that alpha is 1 at key k and 0 elsewhere. Which keys get weight, and how much?
// hint: Add up over k: slice(alpha, 1, k, k + 1) times softmax(slice(u, 1, first, ____), 1), where
//   first = max(0, ____).
// hint: pad(x, 1, before, after) puts zeros before and after x. Here that is first and keys − k − 1 zeros.

// wrong: The chunk must end with the key of the stop. Your chunk begins there, so the decoder would have to wait for
//   keys that have not come in yet.
// - const Size first = std::max<Size>(0, k - w + 1);  // the chunk is first … k: at most w keys
// - const Tensor chunk = softmax(slice(u, 1, first, k + 1), 1);
// - const Tensor share = slice(alpha, 1, k, k + 1) * chunk;  // (B, 1) times (B, keys of the chunk)
// - beta = beta + pad(share, 1, first, keys - k - 1);
// + const Size last = std::min(keys, k + w);
// + const Tensor chunk = softmax(slice(u, 1, k, last), 1);
// + beta = beta + pad(slice(alpha, 1, k, k + 1) * chunk, 1, k, keys - last);
// wrong: Your chunks have w + 1 keys. Key k itself is one of the w keys, so only w − 1 come before it.
// - const Size first = std::max<Size>(0, k - w + 1);  // the chunk is first … k: at most w keys
// + const Size first = std::max<Size>(0, k - w);
// wrong: You took the softmax over all keys and cut a piece out of it, which does not sum to 1. The softmax must be
//   over the keys of the chunk.
// - const Tensor chunk = softmax(slice(u, 1, first, k + 1), 1);
// + const Tensor chunk = slice(softmax(u, 1), 1, first, k + 1);
// wrong: You weighted each key of the chunk with its own α. All keys of a chunk must be weighted with α_k, the
//   probability of the stop.
// - const Tensor share = slice(alpha, 1, k, k + 1) * chunk;  // (B, 1) times (B, keys of the chunk)
// + const Tensor share = slice(alpha, 1, first, k + 1) * chunk;
// wrong: You left out the first w − 1 stops. Their chunks are shorter and begin with the first key.
// - for (Size k = 0; k < keys; ++k) {
// + for (Size k = w - 1; k < keys; ++k) {
// wrong: Your chunk ends before the key of the stop, because slice() excludes its end. The chunk must include that
//   key.
// - const Tensor chunk = softmax(slice(u, 1, first, k + 1), 1);
// - const Tensor share = slice(alpha, 1, k, k + 1) * chunk;  // (B, 1) times (B, keys of the chunk)
// - beta = beta + pad(share, 1, first, keys - k - 1);
// + if (k == 0) continue;
// + const Tensor chunk = softmax(slice(u, 1, first, k), 1);
// + const Tensor share = slice(alpha, 1, k, k + 1) * chunk;
// + beta = beta + pad(share, 1, first, keys - k);
// wrong: You took the softmax along axis 0, over the rows of the batch. The keys of a chunk are along axis 1.
// - const Tensor chunk = softmax(slice(u, 1, first, k + 1), 1);
// + const Tensor chunk = softmax(slice(u, 1, first, k + 1), 0);
// wrong: That is one softmax over all keys, times α. There must be one softmax for each stop, over the chunk that
//   ends there. Its weights are multiplied by the probability of that stop.
// - return beta;
// + return alpha * softmax(u, 1);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the weights stop by stop, number by number.
Tensor by_loops(const Tensor& alpha, const Tensor& u, Size w) {
  const Size rows = alpha.size(0), keys = alpha.size(1);
  std::vector<double> all(static_cast<std::size_t>(rows * keys), 0.0);
  for (Size b = 0; b < rows; ++b)
    for (Size k = 0; k < keys; ++k) {
      double total = 0;
      for (Size l = k; l >= 0 && l > k - w; --l) total += std::exp(u.at({b, l}));
      for (Size l = k; l >= 0 && l > k - w; --l)
        all[static_cast<std::size_t>(b * keys + l)] += alpha.at({b, k}) * std::exp(u.at({b, l})) / total;
    }
  return tensor(all, {rows, keys}, DType::f64);
}

void compare(Judge& judge, const Tensor& alpha, const Tensor& u, Size w) {
  judge.same(chunkwise(alpha, u, w), by_loops(alpha, u, w), "the weights");
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("attends to the two keys that end with a certain stop", [&] {
    judge.example("a certain stop at key 2 of 0 … 4, w = 2, u = (0.5, 1, −1, 0, 2)");
    compare(judge, tensor({{0, 0, 1, 0, 0}}, DType::f64), tensor({{0.5, 1, -1, 0, 2}}, DType::f64), 2);
  });
  judge.claim("adds up over stops", [&] {
    judge.example("stops at keys 1 and 3 with the probabilities 0.25 and 0.5, w = 3");
    compare(judge, tensor({{0, 0.25, 0, 0.5, 0}}, DType::f64), tensor({{0.5, 1, -1, 0, 2}}, DType::f64), 3);
  });
  judge.claim("works for any sizes", [&] {
    judge.each_size({{"rows", 1, 3}, {"keys", 1, 6}, {"w", 1, 8}}, [&](const Sizes& n) {
      compare(judge, judge.uniform({n[0], n[1]}, 0, 0.3), judge.normal({n[0], n[1]}), n[2]);
    });
  });
  judge.claim("lets gradients through", [&] {
    judge.example("two rows, four keys, w = 2; input 1 is α, input 2 is u");
    judge.gradients([](const Tensor& alpha, const Tensor& u) { return chunkwise(alpha, u, 2); },
                    {judge.uniform({2, 4}, 0.05, 0.3), judge.normal({2, 4})});
  });
}
