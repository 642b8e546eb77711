// The gallery: each function is one mechanism, whole. Look for the one that is nearest to yours, and change
// it.
//
// The last query stands at the last key's place. Where there are fewer queries than keys, as with a cache of
// keys, query i is therefore at place i + keys − queries, and all that asks for a place says so.
#include "lessons/26_programmable/gallery.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/attention/score_lambda.hpp"
#include "core/core.hpp"
#include "nn/attention/visibility.hpp"
#include "nn/positions/absolute.hpp"

namespace lesson26 {

using namespace tapestry;
using kit::Mechanism;
using Learned = std::vector<Tensor>;

namespace {

constexpr Size kHeads = 4, kWidth = 16;

/// Where query 0 stands among the keys, as a number for scores.
double first_place(Size queries, Size keys) { return static_cast<double>(keys - queries); }

// ---- By element: which pairs ----

Mechanism causal() {
  return {.name = "causal", .mask = [](Size queries, Size keys) {
            return BlockMask::where(queries, keys,
                                    [first = keys - queries](auto p) { return p.j <= p.i + first; });
          }};
}

Mechanism sliding_window() {
  return {.name = "sliding window", .mask = [](Size queries, Size keys) {
            return BlockMask::where(queries, keys, [first = keys - queries](auto p) {
              const Size distance = p.i + first - p.j;
              return distance >= 0 && distance < 6;
            });
          }};
}

Mechanism dilated() {
  return {.name = "dilated", .mask = [](Size queries, Size keys) {
            return BlockMask::where(queries, keys, [first = keys - queries](auto p) {
              const Size distance = p.i + first - p.j;
              return distance >= 0 && distance % 3 == 0;
            });
          }};
}

Mechanism prefix() {
  return {.name = "prefix-LM", .mask = [](Size queries, Size keys) {
            return BlockMask::where(
                queries, keys, [first = keys - queries](auto p) { return p.j <= p.i + first || p.j < 7; });
          }};
}

Mechanism documents() {
  return {.name = "document", .mask = [](Size queries, Size keys) {
            const std::array<Size, 3> ends = {5, 9, 16};  // the rest is a document too
            const auto document = [&](Size t) { return std::upper_bound(ends.begin(), ends.end(), t); };
            return BlockMask::where(queries, keys, [&, first = keys - queries](auto p) {
              return p.j <= p.i + first && document(p.i + first) == document(p.j);
            });
          }};
}

Mechanism block_diagonal() {
  return {.name = "block-diagonal", .mask = [](Size queries, Size keys) {
            return BlockMask::where(
                queries, keys, [first = keys - queries](auto p) { return (p.i + first) / 6 == p.j / 6; });
          }};
}

Mechanism global_and_window() {
  return {.name = "global + window", .mask = [](Size queries, Size keys) {
            return BlockMask::where(queries, keys, [first = keys - queries](auto p) {
              const Size i = p.i + first;
              return i < 2 || p.j < 2 || std::abs(i - p.j) <= 3;
            });
          }};
}

Mechanism tree() {
  return {.name = "tree mask", .mask = [](Size queries, Size keys) {
            return BlockMask::where(queries, keys, [first = keys - queries](auto p) {
              Size node = p.i + first;
              while (node > p.j) node = (node - 1) / 2;  // up to the parent: node i has 2 i + 1 and 2 i + 2
              return node == p.j;
            });
          }};
}

// ---- By element: what is done to the score ----

Mechanism alibi_bias() {
  return {.name = "ALiBi",
          .score =
              [](const Learned&, Size queries, Size keys) {
                return score_mod(
                    [first = first_place(queries, keys)](auto s, auto at, auto slope) {
                      return s - slope(at.h) * abs(at.i + first - at.j);
                    },
                    tensor({1.0 / 4, 1.0 / 16, 1.0 / 64, 1.0 / 256}));
              },
          .mask = BlockMask::causal};
}

Mechanism relative_bias() {
  return {.name = "relative bias",
          .learned = {{"bias", {kHeads, 17}, normal(1)}},
          .score = [](const Learned& p, Size queries, Size keys) {
            return score_mod(
                [first = first_place(queries, keys)](auto s, auto at, auto bias) {
                  return s + bias(at.h, max(min(at.j - at.i - first, 8), -8) + 8);
                },
                learned(p[0]));
          }};
}

Mechanism buckets() {
  return {.name = "T5 buckets",
          .learned = {{"bias", {kHeads, 16}, normal(1)}},
          .score =
              [](const Learned& p, Size queries, Size keys) {
                std::vector<double> bucket;  // one each for 0 … 7, then as log(far)
                for (double far = 0; far < static_cast<double>(keys); ++far)
                  bucket.push_back(far < 8 ? far : std::min(15.0, std::floor(2 * std::log2(far) + 2)));
                const auto score = [first = first_place(queries, keys)](auto s, auto at, auto bias, auto of) {
                  return s + bias(at.h, of(at.i + first - at.j));
                };
                return score_mod(score, learned(p[0]), tensor(bucket, {keys}));
              },
          .mask = BlockMask::causal};
}

Mechanism soft_cap() {
  return {.name = "soft-cap", .score = [](const Learned&, Size, Size) {
            return score_mod([](auto s, auto) { return 2 * tanh(s / 2); });
          }};
}

Mechanism distance_decay() {
  return {.name = "distance decay",
          .learned = {{"amount", {kHeads}, constant(1)}, {"rate", {kHeads}, constant(1)}},
          .score =
              [](const Learned& p, Size queries, Size keys) {
                return score_mod(
                    [first = first_place(queries, keys)](auto s, auto at, auto amount, auto rate) {
                      return s - amount(at.h) * log(1 + rate(at.h) * abs(at.i + first - at.j));
                    },
                    learned(p[0]), learned(p[1]));
              },
          .mask = BlockMask::causal};
}

Mechanism learned_temperature() {
  return {.name = "learned temperature",
          .learned = {{"temperature", {kHeads}, constant(0.5)}},
          .score = [](const Learned& p, Size, Size) {
            return score_mod([](auto s, auto at, auto t) { return s / t(at.h); }, learned(p[0]));
          }};
}

// Gates f for each head and 16 places, again and again. In the paper a word makes its own.
Mechanism forgetting() {
  return {.name = "forgetting",
          .learned = {{"gate", {kHeads, 16}, normal(1)}},
          .score =
              [](const Learned& p, Size queries, Size keys) {
                const std::vector<Tensor> again(static_cast<std::size_t>(keys / 16 + 1), p[0]);
                const Tensor logs = neg(softplus(neg(concat(again, 1))));  // log f = log σ(gate)
                const auto score = [first = first_place(queries, keys)](auto s, auto at, auto kept) {
                  return s + kept(at.h, at.i + first) - kept(at.h, at.j);
                };
                return score_mod(score, learned(cumulative_sum(logs, 1)));
              },
          .mask = BlockMask::causal};
}

// ---- By ops around tiles, or by mechanism ----

Mechanism rotary() {
  return {.name = "rotary", .ops = [](const Tensor& q, const Tensor& k, const Tensor& v, const Learned&) {
            const auto turn = [](const Tensor& x, Size first) {
              const Size n = x.size(-2), half = x.size(-1) / 2;
              const Tensor hands = reshape(sinusoids(first, n, 2 * half, x.dtype()), {n, half, 2});
              const Tensor sine = select(hands, 2, 0), cosine = select(hands, 2, 1);
              const Tensor a = slice(x, -1, 0, half), b = slice(x, -1, half, 2 * half);
              return concat({a * cosine - b * sine, a * sine + b * cosine}, -1);
            };
            return attend(turn(q, k.size(-2) - q.size(-2)), turn(k, 0), v);
          }};
}

Mechanism cosine() {
  return {.name = "cosine",
          .learned = {{"gain", {1}, constant(5)}},
          .ops = [](const Tensor& q, const Tensor& k, const Tensor& v, const Learned& learned) {
            const auto direction = [](const Tensor& x) { return x / sqrt(sum(x * x, {-1}, Keep::yes)); };
            return attend(learned[0] * direction(q), direction(k), v, {.scale = 1});
          }};
}

Mechanism normed_additive() {
  return {.name = "normed additive",
          .learned = {{"v", {kWidth}, normal(1)}, {"gain", {1}, constant(2)}, {"b", {kWidth}, zeros}},
          .pairs = [](const Learned& p) {
            const Tensor v = p[1] * p[0] / sqrt(sum(p[0] * p[0]));
            return pair_score([](auto q, auto k, auto of_unit, auto b) { return of_unit * tanh(q + k + b); },
                              learned(v), learned(p[2]));
          }};
}

// What was read before must be known: it is for all queries of a text at once.
Mechanism coverage() {
  return {.name = "coverage",
          .learned = {{"v", {kWidth}, normal(1)}, {"u", {kWidth}, normal(1)}},
          .ops = [](const Tensor& q, const Tensor& k, const Tensor& v, const Learned& learned) {
            Tensor past = zeros({q.size(0), q.size(1), k.size(2)}, q.dtype());  // so far
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

Mechanism local_p() {
  return {.name = "local-p",
          .learned = {{"W", {kWidth, kWidth}, normal(0.5)}, {"v", {kWidth, 1}, normal(1)}},
          .ops = [](const Tensor& q, const Tensor& k, const Tensor& v, const Learned& learned) {
            const double keys = static_cast<double>(k.size(2)), deviation = 2;
            const Tensor p = keys * sigmoid(matmul(tanh(matmul(q, learned[0])), learned[1]));  // (…, Tq, 1)
            const Tensor far = arange(0, keys, 1, q.dtype()) - p;
            const Tensor weights =
                softmax(matmul(q, transpose(k)) / std::sqrt(static_cast<double>(kWidth)), -1);
            return matmul(weights * exp(far * far / (-2 * deviation * deviation)), v);
          }};
}

Mechanism differential() {
  return {.name = "differential",
          .learned = {{"lambda", {1}, constant(0.5)}},
          .ops = [](const Tensor& q, const Tensor& k, const Tensor& v, const Learned& learned) {
            const Size half = q.size(-1) / 2;
            const AttendOptions options{.mask = BlockMask::causal(q.size(-2), k.size(-2))};
            const auto one = [&](Size from) {
              return attend(slice(q, -1, from, from + half), slice(k, -1, from, from + half), v, options);
            };
            return one(0) - learned[0] * one(half);
          }};
}

Mechanism talking_heads() {
  return {
      .name = "talking heads",
      .learned = {{"scores", {kHeads, kHeads}, constant(0.5)}, {"weights", {kHeads, kHeads}, constant(0.5)}},
      .ops = [](const Tensor& q, const Tensor& k, const Tensor& v, const Learned& learned) {
        const auto mix = [](const Tensor& heads, const Tensor& x) {  // x (B, H, Tq, Tk)
          const Tensor flat = reshape(x, {x.size(0), x.size(1), x.size(2) * x.size(3)});
          return reshape(matmul(heads, flat), x.shape());
        };
        const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(kWidth));
        return matmul(mix(learned[1], softmax(mix(learned[0], scores), -1)), v);
      }};
}

// Kept twice: inside so that no masked score meets a derivative, outside since σ(0) is a half.
Mechanism sigmoid_attention() {
  return {
      .name = "sigmoid", .mask = BlockMask::causal, .normalise = [](const Tensor& scores, const Mask& mask) {
        const double bias = -std::log(static_cast<double>(scores.size(-1)));
        return keep(mask, sigmoid(keep(mask, scores) + bias));
      }};
}

Mechanism sink() { return {.name = "sink", .mask = BlockMask::causal, .sink = true}; }

}  // namespace

const std::vector<GalleryEntry>& gallery() {
  static const std::vector<GalleryEntry> all = {
      {causal(), "element", "nobody looks ahead", "Vaswani et al. 2017", 6},
      {sliding_window(), "element", "the last six", "Beltagy et al. 2020", 8},
      {dilated(), "element", "every third", "Child et al. 2019", 8},
      {prefix(), "element", "the prompt sees itself whole", "Raffel et al. 2020", 6},
      {documents(), "element", "several texts in one row", "Krell et al. 2021", 9},
      {block_diagonal(), "element", "blocks of six", "Qiu et al. 2020", 6},
      {global_and_window(), "element", "neighbours, and two for all", "Beltagy et al. 2020", 8},
      {tree(), "element", "only one's ancestors", "Cai et al. 2024", 9},
      {alibi_bias(), "element", "far keys count less", "Press et al. 2022", 12},
      {relative_bias(), "element", "a number for each distance", "Liu et al. 2021", 11},
      {buckets(), "element", "far distances share a number", "Raffel et al. 2020", 15},
      {soft_cap(), "element", "no score beyond a cap", "Gemma 2, 2024", 5},
      {distance_decay(), "element", "falls as the log of the distance", "Chi et al. 2022", 13},
      {learned_temperature(), "element", "each head as sharp as it likes", "Lin et al. 2018", 7},
      {forgetting(), "element", "the past fades, place by place", "Lin et al. 2025", 14},
      {rotary(), "ops", "turn by place, then compare", "Su et al. 2021", 12},
      {cosine(), "ops", "directions alone", "Henry et al. 2020", 8},
      {normed_additive(), "mechanism", "a layer of tanh compares", "Salimans & Kingma 2016", 9},
      {coverage(), "ops", "what was read is remembered", "Tu et al. 2016", 15},
      {local_p(), "ops", "near a place that is predicted", "Luong et al. 2015", 12},
      {differential(), "ops", "one attention less another", "Ye et al. 2024", 12},
      {talking_heads(), "ops", "heads mix scores and weights", "Shazeer et al. 2020", 13},
      {sigmoid_attention(), "ops", "each key by itself", "Ramapuram et al. 2024", 7},
      {sink(), "element", "may look at nothing", "Miller 2023; Xiao et al. 2023", 1}};
  return all;
}

}  // namespace lesson26
