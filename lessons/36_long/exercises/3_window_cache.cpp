// 36.3 window_cache: Find the mistake in a cache with a window
// debug, 10 minutes
//
// The function reads T tokens one at a time with a sliding window. A cache stores the values and the rotated keys of
// the last `window` tokens. Query t, the row q_t of q (T, d), attends to the keys in the cache. rotated(x, position)
// rotates a row x as the rotary positions require, and has no mistake.
//
// The first rows of the result are right. But once a key has left the cache, the results are wrong. Find the one
// mistake.
//
// Return the contexts (T, d). Row t must be softmax(rotated(q_t, t) · rotated(k_j, j) / √d) over the keys j = max(0,
// t − window + 1) … t, times their values.
#include "lessons/grader/answer.hpp"

/// Turns each pair (i, i + d/2) of a row x (1, d) by position · 10000^{−2i/d}.
Tensor rotated(const Tensor& x, Size position) {
  const Size half = x.size(1) / 2;
  std::vector<double> angles;
  for (Size i = 0; i < half; ++i)
    angles.push_back(static_cast<double>(position) *
                     std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half)));
  const Tensor angle = tensor(angles, {1, half}, x.dtype());
  const Tensor a = slice(x, 1, 0, half), b = slice(x, 1, half, 2 * half);
  return concat({a * cos(angle) - b * sin(angle), a * sin(angle) + b * cos(angle)}, 1);
}

Tensor read_with_window(const Tensor& q, const Tensor& k, const Tensor& v, Size window) {
  //[ one mistake
  //: std::vector<Tensor> keys, values, contexts;
  //: for (Size t = 0; t < q.size(0); ++t) {
  //:   const Size position = static_cast<Size>(keys.size());
  //:   keys.push_back(rotated(slice(k, 0, t, t + 1), position));
  //:   values.push_back(slice(v, 0, t, t + 1));
  //:   if (static_cast<Size>(keys.size()) > window) {
  //:     keys.erase(keys.begin());
  //:     values.erase(values.begin());
  //:   }
  //:   const Tensor query = rotated(slice(q, 0, t, t + 1), position);
  //:   const Tensor scores = matmul(query, transpose(concat(keys, 0))) / std::sqrt(static_cast<double>(q.size(1)));
  //:   contexts.push_back(matmul(softmax(scores, -1), concat(values, 0)));
  //: }
  //: return concat(contexts, 0);
  std::vector<Tensor> keys, values, contexts;
  for (Size t = 0; t < q.size(0); ++t) {
    const Size position = t;  // the number of tokens before it, not the number of keys in the cache
    keys.push_back(rotated(slice(k, 0, t, t + 1), position));
    values.push_back(slice(v, 0, t, t + 1));
    if (static_cast<Size>(keys.size()) > window) {
      keys.erase(keys.begin());
      values.erase(values.begin());
    }
    const Tensor query = rotated(slice(q, 0, t, t + 1), position);
    const Tensor scores =
        matmul(query, transpose(concat(keys, 0))) / std::sqrt(static_cast<double>(q.size(1)));
    contexts.push_back(matmul(softmax(scores, -1), concat(values, 0)));
  }
  return concat(contexts, 0);
  //]
}

// hint: Write down the positions that the keys get for window = 3 and T = 6. Which distances do two neighbours have
//   at the end?
// hint: The rotated keys in the cache keep the angles that they got when they were stored. The position of a new
//   token must therefore be ____, also after old keys have left.
// hint: How many tokens have been read before token t? This number grows without a limit, unlike the number of keys
//   in the cache.
//
// start: Once the cache is full, every new token gets the same position. So all distances shrink, and keys of
//   different places look equally near. How many tokens were read before token t?
// wrong: Your positions start again at 0 after each full window. Then a key from before the restart seems to be
//   later than the query.
// - const Size position = t;
// + const Size position = t % window;
// wrong: Only the query's position is right now. Each key must be rotated to its own position when it is stored.
// - keys.push_back(rotated(slice(k, 0, t, t + 1), position));
// + keys.push_back(rotated(slice(k, 0, t, t + 1), std::min(position, window)));
// wrong: Only the keys' positions are right now. The query must be rotated to the position of its token.
// - const Tensor query = rotated(slice(q, 0, t, t + 1), position);
// + const Tensor query = rotated(slice(q, 0, t, t + 1), std::min(position, window));
// wrong: You removed the window: the cache keeps all keys.
// - if (static_cast<Size>(keys.size()) > window) {
// + if (static_cast<Size>(keys.size()) > q.size(0)) {

//= judge
#include "lessons/grader/judge/judge.hpp"
#include "nn/positions/rotary.hpp"

namespace {

/// Rotates all rows with the library's positions and masks the pairs outside the window.
Tensor with_a_mask(const Tensor& q, const Tensor& k, const Tensor& v, Size window) {
  const RotaryPositions positions(Parent{}, {.head_width = q.size(1)}, RotaryOptions{});
  const Tensor scores = matmul(positions.rotate(q, 0), transpose(positions.rotate(k, 0)));
  const Mask mask =
      Mask::from(q.size(0), q.size(0), [&](Size i, Size j) { return j <= i && i - j < window; });
  return matmul(masked_softmax(scores / std::sqrt(static_cast<double>(q.size(1))), mask), v);
}

}  // namespace

void judge(Judge& judge) {
  const auto compare = [&](Size time, Size window, Size width) {
    const Tensor q = judge.normal({time, width}), k = judge.normal({time, width}),
                 v = judge.normal({time, width});
    judge.same(read_with_window(q, k, v, window), with_a_mask(q, k, v, window), "the contexts");
  };
  judge.claim("equals attention with a mask while the window is not full", [&] {
    judge.example("3 tokens, window 4, d = 4");
    compare(3, 4, 4);
  });
  judge.claim("equals attention with a mask after keys have left the cache", [&] {
    judge.each_size({{"tokens", 1, 12}, {"window", 1, 5}, {"pairs", 1, 4}},
                    [&](const Sizes& n) { compare(n[0], n[1], 2 * n[2]); });
  });
}
