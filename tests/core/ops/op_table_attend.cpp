// The row of core/ops/attend: attention with masks, shared heads and learned scores, written out in loops.
#include <cmath>

#include "core/attention/attend.hpp"
#include "core/attention/score_lambda.hpp"
#include "tests/core/ops/op_table.hpp"

namespace tapestry::table {

namespace {

/// A score: how attend() is told, and as one writes it on paper (p[3…] are what is learned).
struct Score {
  ScoreMod (*mod)(const Tensors& learned) = nullptr;
  double (*plain)(double s, const QueryKey& at, const Plains& p) = nullptr;
  std::vector<Dims> learned = {};
  /// What makes the scores unit by unit, from p[3…] and before what changes them.
  PairScore (*pairs)(const Tensors& learned) = nullptr;
  double (*unit)(double q, double k, Size u, const Plains& p) = nullptr;
  /// The same where a unit knows its place.
  double (*unit_at)(double q, double k, Size u, const QueryKey& at, const Plains& p) = nullptr;
  bool sink = false;  ///< the last of what is learned is the sink's
};

struct AttendCase {
  std::string label;
  Dims q, k, v;
  bool (*may)(const QueryKey&) = nullptr;
  Size mask_batch = 1, mask_heads = 1;
  Score score = {};
  std::optional<double> scale = {};
  bool sink = false, with_lse = false, zero_gradient = false;
};

/// Σ_j exp(s_ij) v_jc / Σ_j exp(s_ij), or the logarithm of the lower sum behind the last column.
Plain on_paper(const AttendCase& c, const Plains& p) {
  const int rank = c.q.rank();
  Dims shape = c.q;
  shape.back() = c.v.back() + (c.with_lse ? 1 : 0);
  const double scale = c.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<Size>(1, c.q.back()))));
  return by_rows(shape, [&](const Index& at, double* out) {
    QueryKey pair{rank > 2 ? at[0] : 0, 0, at[at.size() - 2], 0};
    for (int axis = 1; axis < rank - 2; ++axis)
      pair.h = pair.h * c.q[axis] + at[static_cast<std::size_t>(axis)];
    const double* q = row_at(p[0], at);
    double sum = c.sink ? 1 : 0;
    if (c.score.sink) sum = std::exp(pick(p.back(), {pair.h}));
    for (; pair.j < c.k[c.k.rank() - 2]; ++pair.j) {
      if (c.may != nullptr && !c.may(pair)) continue;
      const Index key = with(at, -2, pair.j);
      const double *k = row_at(p[1], key), *v = row_at(p[2], key);
      double s = 0;
      for (Size e = 0; e < c.q.back(); ++e)
        s += c.score.unit != nullptr      ? c.score.unit(q[e], k[e], e, p)
             : c.score.unit_at != nullptr ? c.score.unit_at(q[e], k[e], e, pair, p)
                                          : scale * q[e] * k[e];
      if (c.score.plain != nullptr) s = c.score.plain(s, pair, p);
      const double weight = std::exp(s);
      sum += weight;
      for (Size e = 0; e < c.v.back(); ++e) out[e] += weight * v[e];
    }
    for (Size e = 0; e < c.v.back(); ++e) out[e] = sum == 0 ? 0 : out[e] / sum;
    if (c.with_lse) out[c.v.back()] = std::log(sum);
  });
}

Sample sample_of(const AttendCase& c) {
  Plains inputs{normal(c.q, 61), normal(c.k, 62), normal(c.v, 63)};
  for (const Dims& shape : c.score.learned) inputs.push_back(uniform(shape, 64 + inputs.size(), 0.3, 1.2));
  const auto op = [c](const Tensors& t) {
    AttendOptions options{.scale = c.scale, .sink = c.sink};
    if (c.may != nullptr)
      options.mask =
          BlockMask::where(c.q[c.q.rank() - 2], c.k[c.k.rank() - 2], c.may, c.mask_batch, c.mask_heads);
    if (c.score.mod != nullptr) options.score_mod = c.score.mod({t.begin() + 3, t.end()});
    if (c.score.sink) options.sink = learned(t.back());
    if (c.score.pairs != nullptr) options.pair_score = c.score.pairs({t.begin() + 3, t.end()});
    if (!c.with_lse) return attend(t[0], t[1], t[2], options);
    const PartialAttention both = attend_partial(t[0], t[1], t[2], options);
    return concat({both.context, unsqueeze(both.log_sum_exp, -1)}, -1);
  };
  return {text(c.q) + " " + text(c.k) + " " + text(c.v) + " " + c.label, std::move(inputs), op,
          [c](const Plains& p) { return on_paper(c, p); }, c.zero_gradient};
}

double learned(const Plains& p, std::size_t which, const Index& at) { return pick(p[3 + which], at); }

const Score kAlibi{[](const Tensors& t) {
                     return score_mod(
                         [](auto s, auto at, auto slope) { return s - slope(at.h) * abs(at.i - at.j); },
                         learned(t[0]));
                   },
                   [](double s, const QueryKey& at, const Plains& p) {
                     return s - learned(p, 0, {at.h}) * static_cast<double>(std::abs(at.i - at.j));
                   },
                   {{2}}};

/// A temperature, and a bias for each distance.
const Score kTwo{[](const Tensors& t) {
                   return score_mod([](auto s, auto at, auto warm,
                                       auto bias) { return s * warm() + bias(at.h, at.i - at.j + 8); },
                                    learned(t[0]), learned(t[1]));
                 },
                 [](double s, const QueryKey& at, const Plains& p) {
                   return s * learned(p, 0, {}) + learned(p, 1, {at.h, at.i - at.j + 8});
                 },
                 {{}, {2, 17}}};

/// One table read twice, once through another.
const Score kThree{[](const Tensors& t) {
                     return score_mod(
                         [](auto s, auto at, auto a, auto b, auto c) {
                           return s / a(at.i) + b(at.j) * b(at.i) + sigmoid(c(at.b, at.h) * s);
                         },
                         learned(t[0]), learned(t[1]), learned(t[2]));
                   },
                   [](double s, const QueryKey& at, const Plains& p) {
                     return s / learned(p, 0, {at.i}) + learned(p, 1, {at.j}) * learned(p, 1, {at.i}) +
                            sigmoid_of(learned(p, 2, {at.b, at.h}) * s);
                   },
                   {{5}, {6}, {2, 2}}};

const Score kFour{[](const Tensors& t) {
                    return score_mod(
                        [](auto s, auto at, auto a, auto b, auto c, auto d) {
                          return a() * tanh(s * b(at.h)) + select(at.j < at.i, c(at.i), d(at.j));
                        },
                        learned(t[0]), learned(t[1]), learned(t[2]), learned(t[3]));
                  },
                  [](double s, const QueryKey& at, const Plains& p) {
                    return learned(p, 0, {}) * std::tanh(s * learned(p, 1, {at.h})) +
                           (at.j < at.i ? learned(p, 2, {at.i}) : learned(p, 3, {at.j}));
                  },
                  {{}, {2}, {5}, {6}}};

/// Additive attention (Bahdanau, Cho & Bengio 2015).
const Score kAdditive{
    nullptr,
    nullptr,
    {{3}},
    [](const Tensors& t) {
      return pair_score([](auto q, auto k, auto v) { return v * tanh(q + k); }, learned(t[0]));
    },
    [](double q, double k, Size u, const Plains& p) { return learned(p, 0, {u}) * std::tanh(q + k); }};

/// Distances weighed by two learned vectors, and then ALiBi. Units of zeros do not give 0.
const Score kDistances{
    [](const Tensors& t) {
      return score_mod([](auto s, auto at, auto slope) { return s - slope(at.h) * abs(at.i - at.j); },
                       learned(t[2]));
    },
    [](double s, const QueryKey& at, const Plains& p) {
      return s - learned(p, 2, {at.h}) * static_cast<double>(std::abs(at.i - at.j));
    },
    {{5}, {5}, {2}},
    [](const Tensors& t) {
      return pair_score([](auto q, auto k, auto v, auto w) { return exp(-v * (q - k) * (q - k)) - w * k; },
                        learned(t[0]), learned(t[1]));
    },
    [](double q, double k, Size u, const Plains& p) {
      return std::exp(-learned(p, 0, {u}) * (q - k) * (q - k)) - learned(p, 1, {u}) * k;
    }};

/// More than are learned as a rule.
const Score kSix{[](const Tensors& t) {
                   return score_mod(
                       [](auto s, auto at, auto a, auto b, auto c, auto d, auto e, auto f) {
                         return s * a() + s * b(at.h) * c(at.i) - d(at.j) / e(at.b) + f(at.i, at.j) * s;
                       },
                       learned(t[0]), learned(t[1]), learned(t[2]), learned(t[3]), learned(t[4]),
                       learned(t[5]));
                 },
                 [](double s, const QueryKey& at, const Plains& p) {
                   return s * learned(p, 0, {}) + s * learned(p, 1, {at.h}) * learned(p, 2, {at.i}) -
                          learned(p, 3, {at.j}) / learned(p, 4, {at.b}) + learned(p, 5, {at.i, at.j}) * s;
                 },
                 {{}, {2}, {3}, {4}, {2}, {3, 4}}};

/// A sink with a score of its own for each head, or one for all.
const Score kSink{nullptr, nullptr, {{2}}, nullptr, nullptr, nullptr, true};
const Score kOneSink{nullptr, nullptr, {{}}, nullptr, nullptr, nullptr, true};
const Score kAlibiAndSink{kAlibi.mod, kAlibi.plain, {{2}, {2}}, nullptr, nullptr, nullptr, true};

/// Additive attention with weights of each head, that fades with the distance, and a unit's own for all
/// heads.
const Score kFading{nullptr,
                    nullptr,
                    {{2, 5}, {5}},
                    [](const Tensors& t) {
                      return pair_score(
                          [](auto q, auto k, auto at, auto v, auto w) {
                            return v * tanh(q + k) / (1 + abs(at.i - at.j) + at.h) +
                                   w * (at.b - at.j % 2) * q;
                          },
                          learned(t[0]), learned(t[1]));
                    },
                    nullptr,
                    [](double q, double k, Size u, const QueryKey& at, const Plains& p) {
                      const auto apart = static_cast<double>(1 + std::abs(at.i - at.j) + at.h);
                      return learned(p, 0, {at.h, u}) * std::tanh(q + k) / apart +
                             learned(p, 1, {u}) * static_cast<double>(at.b - at.j % 2) * q;
                    }};

bool causal(const QueryKey& p) { return p.j <= p.i; }
bool window(const QueryKey& p) { return p.j <= p.i + 50 && p.i + 50 - p.j < 20; }
bool lengths(const QueryKey& p) { return p.j < 2 + 2 * p.b; }
bool by_head(const QueryKey& p) { return (p.i + p.j + p.h + p.b) % 3 != 0; }
bool keys_of_head(const QueryKey& p) { return p.j % 3 == p.h % 3 || p.j % 5 == p.b; }
bool far_window(const QueryKey& p) { return p.j <= p.i + 60 && p.i - p.j < 150; }
/// Query 1 sees nothing, and nobody sees key 2.
bool holes(const QueryKey& p) { return p.i != 1 && p.j != 2; }

std::vector<AttendCase> attend_cases() {
  std::vector<AttendCase> list{
      {"plain", {3, 3}, {3, 3}, {3, 3}},
      {"causal", {3, 3}, {3, 3}, {3, 3}, causal},
      {"batch", {2, 3, 4}, {2, 5, 4}, {2, 5, 3}},
      {"heads", {2, 2, 3, 4}, {2, 2, 5, 4}, {2, 2, 5, 3}},
      {"keys for all", {2, 2, 3, 4}, {5, 4}, {5, 3}},
      {"keys for all, values not", {2, 2, 3, 4}, {1, 1, 5, 4}, {2, 2, 5, 3}},
      {"values for all rows", {2, 2, 3, 4}, {2, 2, 5, 4}, {1, 2, 5, 3}},
      {"one head of keys", {2, 3, 2, 4}, {2, 1, 5, 4}, {2, 1, 5, 3}},
      {"one head of keys, masks for each", {2, 3, 4, 2}, {2, 1, 5, 2}, {2, 1, 5, 3}, by_head, 2, 3},
      {"one head of keys, values not", {2, 3, 2, 4}, {2, 1, 5, 4}, {2, 3, 5, 3}},
      {"grouped heads", {2, 2, 3, 2, 2}, {2, 2, 1, 3, 2}, {2, 2, 1, 3, 2}},
      {"grouped heads, keys for all rows", {2, 2, 2, 2, 2}, {2, 1, 3, 2}, {1, 2, 1, 3, 2}},
      {"lengths", {2, 2, 3, 2}, {2, 2, 5, 2}, {2, 2, 5, 3}, lengths, 2},
      {"masks for each head", {2, 2, 3, 2}, {2, 2, 5, 2}, {2, 2, 5, 3}, by_head, 2, 2},
      {"holes", {2, 3, 2}, {2, 5, 2}, {2, 5, 3}, holes},
      {"sink", {2, 3, 2}, {2, 5, 2}, {2, 5, 3}, nullptr, 1, 1, {}, {}, true},
      {"sink and holes", {2, 3, 2}, {2, 5, 2}, {2, 5, 3}, holes, 1, 1, {}, {}, true},
      {"scale", {2, 3, 2}, {2, 5, 2}, {2, 5, 3}, nullptr, 1, 1, {}, 1.7},
      {"with its sum", {2, 3, 3}, {2, 3, 3}, {2, 3, 3}, nullptr, 1, 1, {}, {}, false, true},
      {"with its sum, heads", {2, 2, 3, 3}, {2, 2, 4, 3}, {2, 2, 4, 2}, causal, 1, 1, {}, {}, true, true},
      {"ALiBi", {2, 2, 3, 3}, {2, 2, 3, 3}, {2, 2, 3, 3}, causal, 1, 1, kAlibi},
      {"ALiBi, one head of keys", {2, 2, 5, 2}, {2, 1, 5, 2}, {2, 1, 5, 2}, holes, 1, 1, kAlibi},
      {"two learned", {2, 2, 3, 3}, {2, 2, 4, 3}, {2, 2, 4, 2}, nullptr, 1, 1, kTwo, {}, true},
      {"three learned", {2, 2, 5, 2}, {2, 2, 5, 2}, {2, 2, 5, 2}, nullptr, 1, 1, kThree},
      {"three learned, with its sum",
       {2, 2, 4, 2},
       {2, 2, 5, 2},
       {5, 2},
       lengths,
       2,
       1,
       kThree,
       {},
       false,
       true},
      {"four learned", {2, 2, 3, 2}, {2, 2, 5, 2}, {2, 2, 5, 3}, by_head, 2, 2, kFour, 0.9},
      {"six learned", {2, 2, 3, 2}, {2, 2, 4, 2}, {2, 2, 4, 3}, causal, 1, 1, kSix},
      {"a learned sink", {2, 2, 3, 2}, {2, 2, 5, 2}, {2, 2, 5, 3}, nullptr, 1, 1, kSink},
      {"a learned sink, one for all", {3, 2}, {5, 2}, {5, 3}, nullptr, 1, 1, kOneSink},
      {"a learned sink and ALiBi, with its sum",
       {2, 2, 3, 2},
       {2, 1, 5, 2},
       {2, 1, 5, 3},
       holes,
       1,
       1,
       kAlibiAndSink,
       {},
       false,
       true},
      {"pairs that know their place", {2, 2, 3, 5}, {2, 2, 4, 5}, {2, 2, 4, 2}, by_head, 2, 2, kFading},
      {"pairs that know their place, one head of keys",
       {2, 2, 3, 5},
       {2, 1, 4, 5},
       {2, 1, 4, 2},
       nullptr,
       1,
       1,
       kFading},
      {"additive pairs", {2, 3, 3}, {2, 3, 3}, {2, 3, 3}, holes, 1, 1, kAdditive},
      {"additive pairs, one head of keys",
       {2, 3, 2, 3},
       {2, 1, 5, 3},
       {2, 1, 5, 2},
       by_head,
       2,
       3,
       kAdditive,
       {},
       true,
       true},
      {"distances", {2, 2, 3, 5}, {2, 2, 4, 5}, {2, 2, 4, 2}, causal, 1, 1, kDistances},
      {"additive pairs, tiles and their edges", {49, 3}, {97, 3}, {97, 2}, window, 1, 1, kAdditive},
      {"tiles and their edges", {47, 2}, {95, 2}, {95, 2}},
      {"tiles and their edges", {48, 2}, {96, 2}, {96, 2}},
      {"tiles and their edges", {49, 2}, {97, 2}, {97, 2}},
      {"tiles and their edges, window", {49, 2}, {97, 2}, {97, 2}, window},
      {"keys seen by one head each", {2, 3, 4, 2}, {2, 1, 9, 2}, {2, 1, 9, 3}, keys_of_head, 2, 3},
      {"several tiles", {2, 101, 9}, {2, 199, 9}, {2, 199, 3}, window, 1, 1, {}, {}, true},
      {"chunks of queries", {830, 5}, {700, 5}, {700, 3}, far_window, 1, 1, {}, {}, false, true},
      {"parts of keys", {120, 9}, {830, 9}, {830, 17}},
      {"one head of keys, many tiles", {2, 3, 110, 16}, {2, 1, 290, 16}, {2, 1, 290, 8}, keys_of_head, 2, 3},
      {"grouped heads, many", {2, 3, 4, 50, 9}, {2, 3, 1, 101, 9}, {2, 3, 1, 101, 8}, far_window},
      {"ALiBi, many tiles", {9, 2, 101, 8}, {9, 2, 200, 8}, {9, 2, 200, 8}, far_window, 1, 1, kAlibi},
      {"distances, many tiles", {2, 2, 60, 5}, {2, 2, 110, 5}, {2, 2, 110, 9}, far_window, 1, 1, kDistances},
      {"no queries", {2, 0, 3}, {2, 4, 3}, {2, 4, 2}},
      {"no keys", {2, 3, 3}, {2, 0, 3}, {2, 0, 2}},
      {"no keys", {2, 3, 3}, {2, 0, 3}, {2, 0, 2}, causal},
      {"no keys, but a sink", {2, 3, 3}, {2, 0, 3}, {2, 0, 2}, causal, 1, 1, {}, {}, true},
      {"no batch", {0, 2, 3, 3}, {0, 2, 4, 3}, {0, 2, 4, 2}, causal, 1, 1, kAlibi},
      {"no heads", {2, 0, 3, 3}, {2, 0, 4, 3}, {2, 0, 4, 2}},
      {"no width", {2, 3, 0}, {2, 4, 0}, {2, 4, 2}},
      {"no width of values", {2, 3, 2}, {2, 4, 2}, {2, 4, 0}}};
  for (Size n : kLengths) {
    if (n == 0) continue;
    list.push_back({"keys", {2, 2}, {n, 2}, {n, 2}});
    list.push_back({"queries", {n, 2}, {3, 2}, {3, 2}});
    if (n <= 33) list.push_back({"widths", {2, n}, {3, n}, {3, n}});
  }
  for (AttendCase& c : list)
    c.zero_gradient = c.q.count() * c.k.count() * c.v.count() == 0 || c.k[c.k.rank() - 2] == 1;
  return list;
}

}  // namespace

Rows attend_rows() {
  Row row{"attend", {}};
  for (const AttendCase& c : attend_cases()) row.samples.push_back(sample_of(c));
  row.errors = {
      {[] {
         attend(zeros({3, 4}), zeros({5, 3}), zeros({5, 2}));
       },
       "[attend] query (3,4), key (5,3) and value (5,2) must have shapes (…,Tq,d), (…,Tk,d) and "
       "(…,Tk,d_v)"},
      {[] {
         attend(zeros({3, 4}), zeros({5, 4}), zeros({4, 2}));
       },
       "[attend] query (3,4), key (5,4) and value (4,2) must have shapes"},
      {[] {
         attend(zeros({4}), zeros({5, 4}), zeros({5, 2}));
       },
       "[attend] query (4), key (5,4)"},
      {[] {
         attend(zeros({3, 4}), zeros({2, 5, 4}), zeros({5, 2}));
       },
       "must have shapes"},
      {[] {
         attend(zeros({3, 4}), zeros({5, 4}), zeros({2, 5, 2}));
       },
       "must have shapes"},
      {[] {
         attend(zeros({2, 3, 4}), zeros({3, 5, 4}), zeros({5, 2}));
       },
       "[attend] leading axes of key (3,5,4) must broadcast to those of query (2,3,4)"},
      {[] {
         attend(zeros({2, 3, 4}), zeros({5, 4}), zeros({3, 5, 2}));
       },
       "[attend] leading axes of value (3,5,2) must broadcast to those of query (2,3,4)"},
      {[] {
         attend(zeros({3, 4}), zeros({5, 4}, DType::f64), zeros({5, 2}));
       },
       "must have the same dtype, got f32 and f64"},
      {[] {
         attend(zeros({3, 4}), zeros({5, 4}), zeros({5, 2}, DType::f64));
       },
       "must have the same dtype, got f32 and f64"},
      {[] {
         attend(zeros({3, 4}), zeros({5, 4}), zeros({5, 2}), {.mask = BlockMask::causal(3, 4)});
       },
       "[attend] mask for batch 1, 1 heads, 3 queries and 4 keys must fit batch 1, 1 heads, 3 queries "
       "and 5 keys"},
      {[] {
         attend(zeros({3, 4}), zeros({5, 4}), zeros({5, 2}), {.sink = learned(zeros({2}))});
       },
       "[attend] scores (2) of a sink must have one number for each of 1 heads, or one for all"},
      {[] {
         attend(zeros({3, 4}), zeros({5, 4}), zeros({5, 2}), {.dropout = 1});
       },
       "[attend] dropout must be in [0, 1), got 1"},
      {[] {
         attend(zeros({2, 4, 3, 4}), zeros({2, 2, 5, 4}), zeros({2, 2, 5, 2}));
       },
       "query (B,groups,heads per group,Tq,d) with key and value (B,groups,1,Tk,…)"},
      {[] {
         attend(Tensor(), zeros({5, 4}), zeros({5, 2}));
       },
       "empty Tensor handle"}};
  row.f32_tolerance = 5e-6;
  return {row};
}

}  // namespace tapestry::table
