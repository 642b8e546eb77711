// The gallery's mechanisms by ops, and those that compute their own score. Each function is a complete
// mechanism. In the formulas, i is the position of a query, j that of a key, h a head (from 0), s_ij the
// usual score, z_ij the changed score, and α_ij the weight.
//
// The last query is at the position of the last key. If there are fewer queries than keys, as with a cache of
// keys, query i is therefore at position i + keys − queries. All code that needs a position uses this one.
#include "lessons/26_programmable/gallery_ops.hpp"

#include <cmath>

#include "core/attention/score_lambda.hpp"
#include "core/core.hpp"
#include "nn/attention/masking.hpp"

namespace lesson26 {

using namespace tapestry;
using Learned = std::vector<Tensor>;

namespace {

constexpr Size kHeads = 4, kWidth = 16;

/// Returns first, first + 1, …, with `count` numbers.
Tensor places(Size first, Size count, DType dtype) {
  return arange(static_cast<double>(first), static_cast<double>(first + count), 1, dtype);
}

/// Fills a matrix with mix / heads, and adds 1 − mix on the diagonal.
void fill_mixed(const InitialiserArguments& first, double mix) {
  for (std::size_t i = 0; i < first.values.size(); ++i)
    first.values[i] = mix / kHeads + (i % (kHeads + 1) == 0 ? 1 - mix : 0);
}

}  // namespace

// R_i rotates each pair of numbers, one from each half of the vector, by an angle that grows with the
// position i: θ_im for pair m. So the score of two given words depends only on their distance.
//     z_ij = (R_i q_i) · (R_j k_j) / √d     θ_im = i / base^{2m/d}
Mechanism rotary(double base) {
  return {.name = "rotary", .ops = [=](const Tensor& q, const Tensor& k, const Tensor& v, const Learned&) {
            const auto turn = [=](const Tensor& x, Size first) {
              constexpr Size half = kWidth / 2;
              const Tensor pace = exp(places(0, half, x.dtype()) * (-std::log(base) / half));
              const Tensor angle = unsqueeze(places(first, x.size(-2), x.dtype()), 1) * pace;
              const Tensor a = slice(x, -1, 0, half), b = slice(x, -1, half, 2 * half);
              return concat({a * cos(angle) - b * sin(angle), a * sin(angle) + b * cos(angle)}, -1);
            };
            return attend(turn(q, k.size(-2) - q.size(-2)), turn(k, 0), v);
          }};
}

// The norms of queries and keys have no effect.
//     z_ij = gain · q_i · k_j / (|q_i| |k_j|)
Mechanism cosine(double gain) {
  return {.name = "cosine",
          .learned = {{"gain", {1}, constant(gain)}},
          .ops = [](const Tensor& q, const Tensor& k, const Tensor& v, const Learned& learned) {
            const auto direction = [](const Tensor& x) { return x / sqrt(sum(x * x, {-1}, Keep::yes)); };
            return attend(learned[0] * direction(q), direction(k), v, {.scale = 1});
          }};
}

// The additive score of lesson 11, in which the norm of v is a separate number, the gain.
//     z_ij = gain · v · tanh(q_i + k_j + b) / |v|
Mechanism normed_additive(double gain) {
  return {.name = "normed additive",
          .learned = {{"v", {kWidth}, normal(1)}, {"gain", {1}, constant(gain)}, {"b", {kWidth}, zeros}},
          .pair_score = [](const Learned& p) {
            const Tensor v = p[1] * p[0] / sqrt(sum(p[0] * p[0]));
            return pair_score([](auto q, auto k, auto of_unit, auto b) { return of_unit * tanh(q + k + b); },
                              learned(v), learned(p[2]));
          }};
}

// The score depends on the weights of earlier queries, so this form needs all queries of a text at once.
//     z_ij = v · tanh(q_i + k_j + c_ij u)     c_ij = Σ_{l < i} α_lj
Mechanism coverage(double spread) {
  return {.name = "coverage",
          .learned = {{"v", {kWidth}, normal(1)}, {"u", {kWidth}, normal(spread)}},
          .ops = [](const Tensor& q, const Tensor& k, const Tensor& v, const Learned& learned) {
            Tensor past = zeros({q.size(0), q.size(1), k.size(2)}, q.dtype());  // Σ α so far
            std::vector<Tensor> rows;
            for (Size i = 0; i < q.size(2); ++i) {
              const Tensor units = tanh(slice(q, 2, i, i + 1) + k + unsqueeze(past, -1) * learned[1]);
              const Tensor weights = softmax(sum(units * learned[0], {-1}), -1);
              past = past + weights;
              rows.push_back(matmul(unsqueeze(weights, 2), v));
            }
            return concat(rows, 2);
          }};
}

// Each query predicts a position p. The weights of keys far from p are reduced.
//     α_ij = softmax_j(s_ij) · e^{−(j − p_i)² / (2 deviation²)}
//     p_i = n · σ(v · tanh(W q_i))
Mechanism local_p(double deviation) {
  return {.name = "local-p",
          .learned = {{"W", {kWidth, kWidth}, normal(0.5)}, {"v", {kWidth, 1}, normal(1)}},
          .ops = [=](const Tensor& q, const Tensor& k, const Tensor& v, const Learned& learned) {
            const auto keys = static_cast<double>(k.size(2));
            const Tensor p = keys * sigmoid(matmul(tanh(matmul(q, learned[0])), learned[1]));  // (…, Tq, 1)
            const Tensor far = places(0, k.size(2), q.dtype()) - p;
            const Tensor weights =
                softmax(matmul(q, transpose(k)) / std::sqrt(static_cast<double>(kWidth)), -1);
            return matmul(weights * exp(far * far / (-2 * deviation * deviation)), v);
          }};
}

// Each half of a query and a key has its own attention, and the second is subtracted from the first.
//     α = softmax(Q₁ K₁ᵀ / √(d/2)) − λ softmax(Q₂ K₂ᵀ / √(d/2)),     j ≤ i
Mechanism differential(double lambda) {
  return {.name = "differential",
          .learned = {{"lambda", {1}, constant(lambda)}},
          .ops = [](const Tensor& q, const Tensor& k, const Tensor& v, const Learned& learned) {
            const Size half = q.size(-1) / 2;
            const AttendOptions options{.mask = BlockMask::causal(q.size(-2), k.size(-2))};
            const auto one = [&](Size from) {
              return attend(slice(q, -1, from, from + half), slice(k, -1, from, from + half), v, options);
            };
            return one(0) - learned[0] * one(half);
          }};
}

// A and B mix the heads, before and after the softmax.
//     α_h = Σ_g B_hg softmax(Σ_l A_gl s_l)     at first A = B = (1 − mix) I + mix / heads
Mechanism talking_heads(double mix) {
  const auto first = [=](const InitialiserArguments& values) { fill_mixed(values, mix); };
  return {.name = "talking heads",
          .learned = {{"scores", {kHeads, kHeads}, first}, {"weights", {kHeads, kHeads}, first}},
          .ops = [](const Tensor& q, const Tensor& k, const Tensor& v, const Learned& learned) {
            const auto heard = [](const Tensor& heads, const Tensor& x) {  // x (B, H, Tq, Tk)
              const Tensor flat = reshape(x, {x.size(0), x.size(1), x.size(2) * x.size(3)});
              return reshape(matmul(heads, flat), x.shape());
            };
            const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(kWidth));
            return matmul(heard(learned[1], softmax(heard(learned[0], scores), -1)), v);
          }};
}

// A query selects the earlier keys that have a positive score in head 0. From then on, these keys have lower
// scores, in all heads. No query selects its own key or key 0. This form needs all queries of a text at once.
//     z_ij = s_ij − factor · Σ_{l < i} S_lj,     j ≤ i
//     S_lj = max(0, s_lj of head 0) if 0 < j < l, else 0
Mechanism selective(double factor) {
  return {.name = "selective", .ops = [=](const Tensor& q, const Tensor& k, const Tensor& v, const Learned&) {
            const Size queries = q.size(2), keys = k.size(2);
            const Tensor scores =
                matmul(select(q, 1, 0), transpose(select(k, 1, 0))) / std::sqrt(static_cast<double>(kWidth));
            const Mask may = Mask::from(queries, keys, [](Size i, Size j) { return 0 < j && j < i; });
            const Tensor selected = zero_masked(may, relu(scores));
            const Tensor earlier = factor * (cumsum(selected, 1) - selected);  // over l < i
            const auto score = score_mod(
                [](auto s, auto at, auto less) { return s - less(at.b, at.i, at.j); }, learned(earlier));
            return attend(q, k, v, {.mask = BlockMask::causal(queries, keys), .score_mod = score});
          }};
}

// zero_masked() is called twice: inside, so that no masked score has a derivative, and outside, because σ(0)
// is a half. n is the number of keys.
//     α_ij = σ(s_ij + bias − log n),     j ≤ i
Mechanism sigmoid_attention(double bias) {
  return {
      .name = "sigmoid", .mask = BlockMask::causal, .normalise = [=](const Tensor& scores, const Mask& mask) {
        const double shift = bias - std::log(static_cast<double>(scores.size(-1)));
        return zero_masked(mask, sigmoid(zero_masked(mask, scores) + shift));
      }};
}

// A gate for each head and query multiplies the result of the head. In the paper, the gate is computed from
// the layer's input and has no `open`. The paper also has a gate for each number of the result.
//     α_ij = g_i · softmax_j(s_ij),     j ≤ i
//     g_i = σ(w_h · q_i + open)
Mechanism output_gate(double open) {
  return {.name = "output gate",
          .learned = {{"w", {kHeads, kWidth}, normal(0.5)}},
          .ops = [=](const Tensor& q, const Tensor& k, const Tensor& v, const Learned& learned) {
            const Tensor gate = sigmoid(sum(q * unsqueeze(learned[0], 1), {-1}, Keep::yes) + open);
            return gate * attend(q, k, v, {.mask = BlockMask::causal(q.size(-2), k.size(-2))});
          }};
}

}  // namespace lesson26
