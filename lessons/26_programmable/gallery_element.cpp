// The gallery's mechanisms by element. Masks choose the visible pairs, and other lambdas change the scores
// one by one. In the formulas, i is the position of a query, j that of a key, h a head (from 0), s_ij the
// usual score, and z_ij the changed score.
//
// The last query is at the position of the last key. If there are fewer queries than keys, as with a cache of
// keys, query i is therefore at position i + keys − queries. All code that needs a position uses this one.
#include "lessons/26_programmable/gallery_element.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/attention/score_lambda.hpp"
#include "core/core.hpp"

namespace lesson26 {

using namespace tapestry;
using Learned = std::vector<Tensor>;

namespace {

constexpr Size kHeads = 4;

/// Returns the position of query 0 among the keys, as a number for scores.
double first_place(Size queries, Size keys) { return static_cast<double>(keys - queries); }

}  // namespace

// ---- Masks ----

//     j ≤ i
Mechanism causal() {
  return {.name = "causal", .mask = [](Size queries, Size keys) {
            return BlockMask::where(queries, keys,
                                    [first = keys - queries](auto p) { return p.j <= p.i + first; });
          }};
}

// The last few positions, including the query's own.
//     i − window < j ≤ i
Mechanism sliding_window(Size window) {
  return {.name = "sliding window", .mask = [=](Size queries, Size keys) {
            return BlockMask::where(queries, keys, [=, first = keys - queries](auto p) {
              const Size distance = p.i + first - p.j;
              return distance >= 0 && distance < window;
            });
          }};
}

// Every step-th position.
//     j ≤ i     (i − j) mod step = 0
Mechanism dilated(Size step) {
  return {.name = "dilated", .mask = [=](Size queries, Size keys) {
            return BlockMask::where(queries, keys, [=, first = keys - queries](auto p) {
              const Size distance = p.i + first - p.j;
              return distance >= 0 && distance % step == 0;
            });
          }};
}

//     j ≤ i     or     j < prompt
Mechanism prefix(Size prompt) {
  return {.name = "prefix-LM", .mask = [=](Size queries, Size keys) {
            return BlockMask::where(queries, keys, [=, first = keys - queries](auto p) {
              return p.j <= p.i + first || p.j < prompt;
            });
          }};
}

// Several texts in one row. Each text sees only itself.
//     j ≤ i     text(j) = text(i)
Mechanism documents(Size one, Size two, Size three) {
  return {.name = "document", .mask = [=](Size queries, Size keys) {
            const std::array<Size, 3> ends = {one, one + two, one + two + three};  // the rest is a text too
            const auto document = [&](Size t) { return std::upper_bound(ends.begin(), ends.end(), t); };
            return BlockMask::where(queries, keys, [&, first = keys - queries](auto p) {
              return p.j <= p.i + first && document(p.i + first) == document(p.j);
            });
          }};
}

// Blocks that see only themselves.
//     ⌊i / block⌋ = ⌊j / block⌋
Mechanism block_diagonal(Size block) {
  return {.name = "block-diagonal", .mask = [=](Size queries, Size keys) {
            return BlockMask::where(queries, keys, [=, first = keys - queries](auto p) {
              return (p.i + first) / block == p.j / block;
            });
          }};
}

// The first few positions see all keys and are seen by all queries.
//     |i − j| ≤ reach     or     i < global     or     j < global
Mechanism global_and_window(Size global, Size reach) {
  return {.name = "global + window", .mask = [=](Size queries, Size keys) {
            return BlockMask::where(queries, keys, [=, first = keys - queries](auto p) {
              const Size i = p.i + first;
              return i < global || p.j < global || std::abs(i - p.j) <= reach;
            });
          }};
}

// A tree whose node n has the children children · n + 1, children · n + 2, …
//     j = i, or j is an ancestor of i
Mechanism tree(Size children) {
  return {.name = "tree mask", .mask = [=](Size queries, Size keys) {
            return BlockMask::where(queries, keys, [=, first = keys - queries](auto p) {
              Size node = p.i + first;
              while (node > p.j) node = (node - 1) / children;  // up to the parent
              return node == p.j;
            });
          }};
}

// ---- Changes of the score ----

// The score falls with the distance, and each head has its own slope.
//     z_ij = s_ij − m_h · |i − j|     m_h = steepest / 4^h
Mechanism alibi_bias(double steepest) {
  return {.name = "ALiBi",
          .score_mod =
              [=](const Learned&, Size queries, Size keys) {
                return score_mod(
                    [first = first_place(queries, keys)](auto s, auto at, auto slope) {
                      return s - slope(at.h) * abs(at.i + first - at.j);
                    },
                    steepest * tensor({1, 1.0 / 4, 1.0 / 16, 1.0 / 64}));
              },
          .mask = BlockMask::causal};
}

// A learned bias for each head and distance.
//     z_ij = s_ij + b_h(max(min(j − i, farthest), −farthest))
Mechanism relative_bias(Size farthest) {
  return {.name = "relative bias",
          .learned = {{"bias", {kHeads, 17}, normal(1)}},
          .score_mod = [far = static_cast<double>(farthest)](const Learned& p, Size queries, Size keys) {
            return score_mod(
                [far, first = first_place(queries, keys)](auto s, auto at, auto bias) {
                  return s + bias(at.h, max(min(at.j - at.i - first, far), -far) + 8);
                },
                learned(p[0]));
          }};
}

// A learned bias for each head and bucket of distances. Distances up to 7 have one bucket each, and farther
// buckets are wider.
//     z_ij = s_ij + b_h(bucket(i − j))
//     bucket(n) = n if n < 8, else min(15, ⌊8 + 8 · log(n / 8) / log(farthest / 8)⌋)
Mechanism buckets(double farthest) {
  return {.name = "T5 buckets",
          .learned = {{"bias", {kHeads, 16}, normal(1)}},
          .score_mod =
              [grow = 8 / std::log2(farthest / 8)](const Learned& p, Size queries, Size keys) {
                std::vector<double> bucket;  // one each for 0 … 7, then growing as log(far)
                for (double far = 0; far < static_cast<double>(keys); ++far)
                  bucket.push_back(far < 8 ? far : std::min(15.0, std::floor(8 + grow * std::log2(far / 8))));
                const auto score = [first = first_place(queries, keys)](auto s, auto at, auto bias, auto of) {
                  return s + bias(at.h, of(at.i + first - at.j));
                };
                return score_mod(score, learned(p[0]), tensor(bucket, {keys}));
              },
          .mask = BlockMask::causal};
}

// Small scores hardly change, and large scores approach the cap.
//     z_ij = cap · tanh(s_ij / cap)
Mechanism soft_cap(double cap) {
  return {.name = "soft-cap", .score_mod = [=](const Learned&, Size, Size) {
            return score_mod([=](auto s, auto) { return cap * tanh(s / cap); });
          }};
}

// The score falls with the logarithm of the distance.
//     z_ij = s_ij − amount · log(1 + rate · |i − j|)
Mechanism distance_decay(double amount_at_first, double rate_at_first) {
  return {.name = "distance decay",
          .learned = {{"amount", {kHeads}, constant(amount_at_first)},
                      {"rate", {kHeads}, constant(rate_at_first)}},
          .score_mod =
              [](const Learned& p, Size queries, Size keys) {
                return score_mod(
                    [first = first_place(queries, keys)](auto s, auto at, auto amount, auto rate) {
                      return s - amount(at.h) * log(1 + rate(at.h) * abs(at.i + first - at.j));
                    },
                    learned(p[0]), learned(p[1]));
              },
          .mask = BlockMask::causal};
}

// Each head learns its own temperature.
//     z_ij = s_ij / t
Mechanism learned_temperature(double at_first) {
  return {.name = "learned temperature",
          .learned = {{"temperature", {kHeads}, constant(at_first)}},
          .score_mod = [](const Learned& p, Size, Size) {
            return score_mod([](auto s, auto at, auto t) { return s / t(at.h); }, learned(p[0]));
          }};
}

// The score falls by the gates f between key and query. Each head has 16 gates, which are repeated along the
// text. In the paper, the gates are computed from the words.
//     z_ij = s_ij + Σ_{j < l ≤ i} log f_l     f_l = σ(gate_l + open)
Mechanism forgetting(double open) {
  return {.name = "forgetting",
          .learned = {{"gate", {kHeads, 16}, normal(1)}},
          .score_mod =
              [=](const Learned& p, Size queries, Size keys) {
                const std::vector<Tensor> again(static_cast<std::size_t>(keys / 16 + 1), p[0]);
                const Tensor logs = neg(softplus(neg(concat(again, 1) + open)));  // log f
                const auto score = [first = first_place(queries, keys)](auto s, auto at, auto kept) {
                  return s + kept(at.h, at.i + first) - kept(at.h, at.j);
                };
                return score_mod(score, learned(cumsum(logs, 1)));
              },
          .mask = BlockMask::causal};
}

// With a sink, the sum of each row has an additional term e^{c_h}, which has no value. Each head learns its own
// c_h. In Miller's form, c_h is always 0.
//     α_ij = e^{s_ij} / (e^{c_h} + Σ_{l ≤ i} e^{s_il}),     j ≤ i
Mechanism sink(double at_first) {
  return {.name = "sink",
          .learned = {{"c", {kHeads}, constant(at_first)}},
          .mask = BlockMask::causal,
          .sink = [](const Learned& p) { return learned(p[0]); }};
}

}  // namespace lesson26
