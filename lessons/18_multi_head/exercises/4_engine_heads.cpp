// 18.4 engine_heads: Causal multi-head attention for your engine
// implement, 20 minutes, piece heads.hpp
//
// Write multi-head self-attention with a causal mask for your engine. The input is x (B, T, d), with four
// matrices (d, d). Each of the H heads has c = d / H columns. Counted from 0, head h has the columns h · c to
// (h + 1) · c of Q, K and V:
//
//     Q = x W_q    K = x W_k    V = x W_v    head_h = softmax(Q_h K_hᵀ / √c + mask) V_h
//     y = [head_1 … head_H] W_o
//
// mask_ij is 0 for j ≤ i and −∞ for j > i, so that later tokens get the weight 0. Your matmul takes one or more
// batch axes if both sides have the same ones or the right side has none. These functions are available,
// written by you or by us:
//
//     reshape(x, {2, 3, 4})   permute(x, {0, 2, 1})   transpose(x), the last two axes   matmul(x, y)
//     softmax(x), along the last axis   x + y and x * y, with broadcasting   x * 2.0
//     x.tape->leaf(array), a Value
#include "engine/embedding.hpp"
#include "lessons/grader/answer.hpp"

namespace engine {

/// Returns (T, T): 0 where row i may attend to column j, and −∞ elsewhere.
inline Array causal_mask(int length) {
  Array mask = filled({length, length}, 0);
  //[ two loops
  //: not_written_yet();
  for (int i = 0; i < length; ++i)
    for (int j = i + 1; j < length; ++j)  // j = i is allowed: a token attends to itself
      mask.data[static_cast<std::size_t>(i * length + j)] = -std::numeric_limits<double>::infinity();
  //]
  return mask;
}

/// (B, T, H · c) → (B, H, T, c).
inline Value split_heads(const Value& x, int heads) {
  const std::vector<int> shape = x.array().shape;
  //[ one line
  //: return not_written_yet();
  return permute(reshape(x, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
  //]
}

/// (B, H, T, c) → (B, T, H · c).
inline Value merge_heads(const Value& x) {
  const std::vector<int> shape = x.array().shape;
  //[ one line
  //: return not_written_yet();
  return reshape(permute(x, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
  //]
}

struct Heads {
  int count;
  Value w_q, w_k, w_v, w_o;  // (d, d)
};

/// x (B, T, d) → (B, T, d).
inline Value self_attention(const Value& x, const Heads& heads) {
  const std::vector<int> shape = x.array().shape;
  //[ queries, keys, values, weights and the result: about six lines
  //: return not_written_yet();
  const Value q = split_heads(matmul(x, heads.w_q), heads.count);
  const Value k = split_heads(matmul(x, heads.w_k), heads.count);
  const Value v = split_heads(matmul(x, heads.w_v), heads.count);
  const double scale = 1 / std::sqrt(shape[2] / heads.count);  // a head's score is a sum of c products
  const Value scores = matmul(q, transpose(k)) * scale + x.tape->leaf(causal_mask(shape[1]));
  return matmul(merge_heads(matmul(softmax(scores), v)), heads.w_o);
  //]
}

}  // namespace engine

// hint: In exercise 18.1 you split heads and merged them again. Which two ops of your engine (2.6) do that?
// hint: First reshape the last axis to (H, c). Then exchange two axes with permute(…, {0, __, __, 3}). To
//   merge, undo both steps, the last one first.
// hint: One product gives the scores of all heads, (B, H, T, T). Add the mask (T, T) as a leaf: it broadcasts
//   over batch and heads. How many products does a score sum? Then apply softmax, multiply with v, merge, and
//   multiply with W_o.
//
// wrong: No token may attend to itself, so the first token has no key at all. j = i must be allowed.
// - for (int j = i + 1; j < length; ++j)
// + for (int j = i; j < length; ++j)
// wrong: Your mask hides the past and shows the future. Row i is the token with the query, and column j is the
//   token with the key.
// - for (int j = i + 1; j < length; ++j)
// + for (int j = 0; j < i; ++j)
// wrong: A reshape alone keeps the order of the numbers, so a "head" gets rows of other tokens. Split only the
//   last axis with a reshape, and then exchange two axes.
// - return permute(reshape(x, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
// + return reshape(x, {shape[0], heads, shape[1], shape[2] / heads});
// wrong: You merge without exchanging the axes back. Then the rows of head 1 for all tokens come first and are
//   mistaken for the first tokens.
// - return reshape(permute(x, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
// + return reshape(x, {shape[0], shape[2], shape[1] * shape[3]});
// wrong: You divide the scores by the root of the whole width. A head's score is a sum of c = d / H products.
// - const double scale = 1 / std::sqrt(shape[2] / heads.count);
// + const double scale = 1 / std::sqrt(shape[2]);
// wrong: The scale is missing: the scores are Q_h K_hᵀ, not Q_h K_hᵀ / √c.
// - const double scale = 1 / std::sqrt(shape[2] / heads.count);
// + const double scale = 1;
// wrong: The mask is missing, so each token can attend to later tokens. A model that predicts the next token
//   could then copy it.
// - const Value scores = matmul(q, transpose(k)) * scale + x.tape->leaf(causal_mask(shape[1]));
// + const Value scores = matmul(q, transpose(k)) * scale;
// wrong: You concatenate the heads, but W_o is missing. So nothing mixes the results of different heads.
// - return matmul(merge_heads(matmul(softmax(scores), v)), heads.w_o);
// + return merge_heads(matmul(softmax(scores), v));

//= judge
#include "core/attention/attend.hpp"
#include "lessons/grader/judge/engine.hpp"

namespace {

/// Computes one head after another with slices and Tapestry's fused attention.
Tensor their_attention(const std::vector<Tensor>& v, Size heads) {
  const Size width = v[0].size(2) / heads;
  const Tensor q = matmul(v[0], v[1]), k = matmul(v[0], v[2]), values = matmul(v[0], v[3]);
  std::vector<Tensor> found;
  for (Size h = 0; h < heads; ++h) {
    const auto part = [&](const Tensor& x) { return slice(x, 2, h * width, (h + 1) * width); };
    found.push_back(attend(part(q), part(k), part(values), {.mask = Mask::causal(q.size(1), q.size(1))}));
  }
  return matmul(concat(found, 2), v[4]);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("lets each token attend to itself and to earlier tokens", [&] {
    for (const int length : {1, 4}) {
      judge.example("a mask of " + std::to_string(length) + " tokens");
      const engine::Array mask = engine::causal_mask(length);
      std::vector<double> expected;
      for (int i = 0; i < length; ++i)
        for (int j = 0; j < length; ++j)
          expected.push_back(j <= i ? 0 : -std::numeric_limits<double>::infinity());
      judge.same(grader::tensor_of(mask), tensor(expected, {length, length}, DType::f64), "the mask");
    }
  });
  judge.claim("splits the columns into heads and merges them again", [&] {
    judge.each_size({{"B", 1, 3}, {"T", 1, 4}, {"heads", 1, 3}, {"c", 1, 3}}, [&](const Sizes& n) {
      const int heads = static_cast<int>(n[2]);
      const Tensor x = judge.normal({n[0], n[1], n[2] * n[3]});
      grader::agree<engine::Tape>(
          judge, {x}, [&](const std::vector<engine::Value>& v) { return engine::split_heads(v[0], heads); },
          [&](const std::vector<Tensor>& v) {
            std::vector<Tensor> parts;
            for (Size h = 0; h < n[2]; ++h) parts.push_back(slice(v[0], 2, h * n[3], (h + 1) * n[3]));
            return stack(parts, 1);
          });
      grader::agree<engine::Tape>(
          judge, {judge.normal({n[0], n[2], n[1], n[3]})},
          [&](const std::vector<engine::Value>& v) { return engine::merge_heads(v[0]); },
          [&](const std::vector<Tensor>& v) {
            std::vector<Tensor> parts;
            for (Size h = 0; h < n[2]; ++h) parts.push_back(select(v[0], 1, h));
            return concat(parts, 2);
          });
    });
  });
  judge.claim("agrees with Tapestry's attention in values and gradients", [&] {
    judge.each_size({{"B", 1, 3}, {"T", 1, 4}, {"heads", 1, 3}, {"c", 1, 3}}, [&](const Sizes& n) {
      const int heads = static_cast<int>(n[2]);
      const Size d = n[2] * n[3];
      std::vector<Tensor> inputs{judge.normal({n[0], n[1], d})};
      for (int k = 0; k < 4; ++k) inputs.push_back(judge.normal({d, d}));
      grader::agree<engine::Tape>(
          judge, inputs,
          [&](const std::vector<engine::Value>& v) {
            return engine::self_attention(v[0], {heads, v[1], v[2], v[3], v[4]});
          },
          [&](const std::vector<Tensor>& v) { return their_attention(v, n[2]); });
    });
  });
}
