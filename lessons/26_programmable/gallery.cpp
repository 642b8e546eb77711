// The gallery: its list, and the mechanisms by ops or of their own score; those by element are in
// gallery_element.cpp. Each function is one mechanism, whole. Look for the one that is nearest to yours, and
// change it.
//
// The last query stands at the last key's place. Where there are fewer queries than keys, as with a cache of
// keys, query i is therefore at place i + keys − queries, and all that asks for a place says so.
#include "lessons/26_programmable/gallery.hpp"

#include <algorithm>
#include <cmath>

#include "core/attention/score_lambda.hpp"
#include "core/core.hpp"
#include "lessons/26_programmable/gallery_element.hpp"
#include "nn/attention/visibility.hpp"
#include "nn/positions/absolute.hpp"

namespace lesson26 {

using namespace tapestry;
using kit::Mechanism;
using Learned = std::vector<Tensor>;

namespace {

constexpr Size kHeads = 4, kWidth = 16;

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

}  // namespace

const std::vector<GalleryEntry>& gallery() {
  static const std::vector<GalleryEntry> all = {
      {causal(), "element", "nobody looks ahead", "Vaswani et al. 2017", 6},
      {sliding_window(), "element", "the last six", "Beltagy et al. 2020", 8},
      {dilated(), "element", "every third", "Child et al. 2019", 8},
      {prefix(), "element", "the prompt sees itself whole", "Raffel et al. 2020", 7},
      {documents(), "element", "several texts in one row", "Krell et al. 2021", 9},
      {block_diagonal(), "element", "blocks of six", "Qiu et al. 2020", 7},
      {global_and_window(), "element", "neighbours, and two for all", "Beltagy et al. 2020", 8},
      {tree(), "element", "only one's ancestors", "Cai et al. 2024", 9},
      {alibi_bias(), "element", "far keys count less", "Press et al. 2022", 12},
      {relative_bias(), "element", "a number for each distance", "Liu et al. 2021", 11},
      {buckets(), "element", "far distances share a number", "Raffel et al. 2020", 15},
      {soft_cap(), "element", "no score beyond a cap", "Gemma 2, 2024", 5},
      {distance_decay(), "element", "falls as the log of the distance", "Chi et al. 2022", 14},
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
