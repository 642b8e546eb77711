// One sound attention and seven broken ones: the patients of lesson 07's clinic.
#include "lessons/07_masks/patients.hpp"

#include <cmath>

#include "nn/attention/attention.hpp"

namespace tapestry::lesson07 {
namespace {

// The sound attention. The heads are a transposed view, (B, T, H·d) → (B, H, T, d). The mask must broadcast to
// (B, H, T, T). (B, 1, 1, T) & (T, T) has the shape (B, 1, T, T), which does. In a mask (B, T, T), the batch axis
// would be matched with the heads. That is an error if you are lucky. If the number of heads equals the number of
// strings, it silently masks with the lengths of the wrong strings.

Tensor split(const Tensor& x) {
  return transpose(reshape(x, {x.size(0), x.size(1), kHeads, x.size(2) / kHeads}), 1, 2);
}
Tensor join(const Tensor& x) {
  return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), kHeads * x.size(3)});
}
Mask columns_of(const Mask& valid) { return valid.reshape({valid.shape()[0], 1, 1, valid.shape()[1]}); }
Mask pairs_of(const Mask& valid) {
  return columns_of(valid) & Mask::causal(valid.shape()[1], valid.shape()[1]);
}
double root(const Tensor& q) { return std::sqrt(static_cast<double>(q.size(-1) / kHeads)); }  // √d

Tensor attend_with(const Attention& attention, const Tensor& q, const Tensor& k, const Tensor& v,
                   const Mask& mask) {
  return join(attention(split(q), split(k), split(v), mask).context);
}
Tensor sound(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& valid) {
  return attend_with(Attention{scaled_dot()}, q, k, v, pairs_of(valid));
}

// 1. Softmax over the wrong axis. In some libraries, `softmax(scores)` without an axis uses axis 0, the batch, for a
// tensor with three axes. Here the same happens with four axes. The weights then add up to 1 over the strings of the
// batch. In a batch of one string, every allowed key has a weight of exactly 1. (core's softmax has no default axis,
// so you would have to write the wrong axis yourself.)

Tensor wrong_axis(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& valid) {
  const auto over_batch = [](const Tensor& scores, const Mask& mask) {
    const Tensor weights = softmax(where(mask, scores, scalar(-1e9, scores.dtype())), 0);  // -1 is right
    return where(mask, weights, scalar(0, scores.dtype()));
  };
  return attend_with(Attention{scaled_dot(), {.normalise = over_batch}}, q, k, v, pairs_of(valid));
}

// 2. The transposed mask: the upper triangle instead of the lower one. Query i may attend to the keys from i on, so
// the pair with the answer is allowed.

Tensor transposed_mask(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& valid) {
  const Size n = valid.shape()[1];
  const Mask upper = Mask::from(n, n, [](Size i, Size j) { return j >= i; });  // j <= i is right
  return attend_with(Attention{scaled_dot()}, q, k, v, columns_of(valid) & upper);
}

// 3. Inverted polarity. In one layer, true means "may attend", and in the next one it means "hidden". Both
// conventions are in use, even within one library.

Tensor inverted(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& valid) {
  return sound(q, k, v, !valid);
}

// 4. −1e9 instead of a mask. As long as the row has an allowed key, e^{−1e9} is exactly 0 and the result is right. In
// an empty row, all scores are −1e9 and hence equal. The weights are uniform, also over padding.

Tensor minus_1e9(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& valid) {
  const Tensor scores = matmul(split(q), transpose(split(k))) / root(q);
  const Tensor weights = softmax(where(pairs_of(valid), scores, scalar(-1e9, scores.dtype())), -1);
  return join(matmul(weights, split(v)));
}

// 5. Heads by reshape. Reshaping (B, T, H·d) directly to (B, H, T, d) gives the right shape and the wrong numbers:
// the first head gets the first half of the string, cut into pieces.

Tensor heads_by_reshape(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& valid) {
  const auto cut = [](const Tensor& x) {
    return reshape(x, {x.size(0), kHeads, x.size(1), x.size(2) / kHeads});  // the transpose is missing
  };
  return reshape(Attention{scaled_dot()}(cut(q), cut(k), cut(v), pairs_of(valid)).context, v.shape());
}

// 6. Divided after the product: softmax(q k) v / √d instead of softmax(q k / √d) v.

Tensor divided_late(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& valid) {
  return attend_with(Attention{dot()}, q, k, v, pairs_of(valid)) / root(q);
}

// 7. The target shifted by one: the target of each position is the value of the pair that it has just received. The
// attention is sound, but the model does not need it.

}  // namespace

const std::vector<Patient>& patients() {
  static const std::vector<Patient> all = {{"0 sound", sound},
                                           {"1 softmax over the batch", wrong_axis},
                                           {"2 transposed mask", transposed_mask},
                                           {"3 inverted polarity", inverted},
                                           {"4 −1e9 for a mask", minus_1e9},
                                           {"5 heads by reshape", heads_by_reshape},
                                           {"6 divided after product", divided_late},
                                           {"7 target shifted by one", sound, 0}};
  return all;
}

}  // namespace tapestry::lesson07
