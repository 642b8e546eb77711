// What is promised about NaN, infinity and hidden pairs (core/attention/attend.hpp), kept in tiles, by ops
// and in second derivatives; held against loops that never evaluate a hidden pair.

#include "core/attention/attend.hpp"
#include "core/attention/score_lambda.hpp"
#include "core/tape/derivatives.hpp"
#include "tests/catch.hpp"
#include "tests/core/attention/attention_checks.hpp"

using namespace tapestry;
using namespace tapestry::checks;

namespace {

/// A score that goes wrong at pairs that do not count: as a lambda, and on paper, with its slopes in s and w,
/// for those that do. Where it gives nothing the pair is hidden by −∞.
struct Paper {
  double score, ds, dw;
};
struct FaultyScore {
  std::string name;
  ScoreMod (*mod)(const Tensor& w);
  std::optional<Paper> (*paper)(double s, Size i, Size j, double w);
  bool (*may)(Size i, Size j);
};

bool causal(Size i, Size j) { return j <= i; }
bool band(Size i, Size j) { return j <= i && i - j < 3; }
bool lengths(Size i, Size j) { return j < 4 && j <= i + 1; }
bool holes(Size i, Size j) { return i != 2 && j != 3 && j <= i && (i + j) % 3 != 1; }

/// Fill in what differs: `f(s, at, w)` and its paper.
const std::vector<FaultyScore>& entries() {
  using P = Paper;
  using O = std::optional<Paper>;
  static const std::vector<FaultyScore> list{
      {"logarithm",
       [](const Tensor& w) {
         return score_mod([](auto s, auto at, auto u) { return s - u() * log(1 + at.i - at.j); }, learned(w));
       },
       [](double s, Size i, Size j, double w) -> O {
         const double l = std::log(static_cast<double>(1 + i - j));
         return P{s - w * l, 1, -l};
       },
       causal},
      {"square root",
       [](const Tensor& w) {
         return score_mod([](auto s, auto at, auto u) { return s * u() + sqrt(1 + at.i - at.j); },
                          learned(w));
       },
       [](double s, Size i, Size j, double w) -> O {
         return P{s * w + std::sqrt(static_cast<double>(1 + i - j)), w, s};
       },
       causal},
      {"square root of what is learned",
       [](const Tensor& w) {
         return score_mod([](auto s, auto at, auto u) { return s + sqrt(u() * (1 + at.i - at.j)); },
                          learned(w));
       },
       [](double s, Size i, Size j, double w) -> O {
         const double d = static_cast<double>(1 + i - j), r = std::sqrt(w * d);
         return P{s + r, 1, d / (2 * r)};
       },
       band},
      {"quotient",
       [](const Tensor& w) {
         return score_mod([](auto s, auto at, auto u) { return s * u() / (1 + at.i - at.j); }, learned(w));
       },
       [](double s, Size i, Size j, double w) -> O {
         const double d = static_cast<double>(1 + i - j);
         return P{s * w / d, w / d, s / d};
       },
       causal},
      {"quotient that is 0 / 0, in a rectangle of lengths",
       [](const Tensor& w) {
         return score_mod([](auto s, auto at,
                             auto u) { return s * u() * (at.j - 4) / (at.j - 4) + 1 / (2 + at.i - at.j); },
                          learned(w));
       },
       [](double s, Size i, Size j, double w) -> O {
         return P{s * w + 1 / static_cast<double>(2 + i - j), w, s};
       },
       lengths},
      {"exponential that overflows",
       [](const Tensor& w) {
         return score_mod([](auto s, auto at, auto u) { return s * u() * exp(1000 * max(at.j - at.i, 0)); },
                          learned(w));
       },
       [](double s, Size, Size, double w) -> O {
         return P{s * w, w, s};
       },
       causal},
      {"branches of select that were not taken",
       [](const Tensor& w) {
         return score_mod(
             [](auto s, auto at, auto u) {
               return select(at.j <= at.i, s + log(u() * (1 + at.i - at.j)), s * sqrt(u() * (at.j - at.i)));
             },
             learned(w));
       },
       [](double s, Size i, Size j, double w) -> O {
         const double d = static_cast<double>(j - i);
         if (j <= i) return P{s + std::log(w * (1 - d)), 1, 1 / w};
         const double r = std::sqrt(w * d);
         return P{s * r, r, s * d / (2 * r)};
       },
       all_pairs},
      {"branches in branches, one value used inside and outside",
       [](const Tensor& w) {
         return score_mod(
             [](auto s, auto at, auto u) {
               const auto d = 1 + at.i - at.j;
               const auto r = u() / d;
               const auto inner = select(at.i < 3, log(r), sqrt(r) + r);
               return select(at.j > at.i, s * u(), s + inner);
             },
             learned(w));
       },
       [](double s, Size i, Size j, double w) -> O {
         if (j > i) return P{s * w, w, s};
         const double d = static_cast<double>(1 + i - j), r = w / d;
         if (i < 3) return P{s + std::log(r), 1, 1 / w};
         return P{s + std::sqrt(r) + r, 1, 0.5 / std::sqrt(w * d) + 1 / d};
       },
       all_pairs},
      {"a table of logarithms",
       [](const Tensor& w) {
         return score_mod(
             [](auto s, auto at, auto u, auto table) { return s * u() + log(table(at.i - at.j)) * u(); },
             learned(w), tensor({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, DType::f64));
       },
       [](double s, Size i, Size j, double w) -> O {
         const double l = std::log(static_cast<double>(1 + i - j));
         return P{s * w + l * w, w, s + l};
       },
       causal},
      {"a table with NaN that only hidden pairs read, by indices from a table",
       [](const Tensor& w) {
         return score_mod(
             [](auto s, auto at, auto place, auto u, auto table) { return s * u() * table(place(at.j)); },
             Indices{0, 1, 2, 4, 2, 1}, learned(w), tensor({1.0, 2.0, 0.5, kInf, kNaN}, DType::f64));
       },
       [](double s, Size, Size j, double w) -> O {
         constexpr std::array<double, 6> kBy{1, 2, 0.5, 0, 0.5, 2};
         const double t = kBy[static_cast<std::size_t>(j)];
         return P{s * w * t, w * t, s * t};
       },
       holes},
      {"a row of −∞",
       [](const Tensor& w) {
         return score_mod([](auto s, auto at, auto u) { return select(at.i == 2, -kInf, s * u()); },
                          learned(w));
       },
       [](double s, Size i, Size, double w) -> O {
         if (i == 2) return {};
         return P{s * w, w, s};
       },
       all_pairs},
      {"−∞ above the diagonal and a row of it, by a logarithm",
       [](const Tensor& w) {
         return score_mod(
             [](auto s, auto at, auto u) { return s * u() + u() * log(at.i) + log(max(1 + at.i - at.j, 0)); },
             learned(w));
       },
       [](double s, Size i, Size j, double w) -> O {
         if (i == 0 || j > i) return {};
         const double l = std::log(static_cast<double>(i));
         return P{s * w + w * l + std::log(static_cast<double>(1 + i - j)), w, s + l};
       },
       all_pairs},
      {"−∞ at pairs of a window",
       [](const Tensor& w) {
         return score_mod([](auto s, auto at, auto u) { return select(at.i - at.j == 1, -kInf, s * u()); },
                          learned(w));
       },
       [](double s, Size i, Size j, double w) -> O {
         if (i - j == 1) return {};
         return P{s * w, w, s};
       },
       band}};
  return list;
}

constexpr Size kQ = 5, kK = 6, kD = 3, kV = 2, kH = 2;

/// y, dq, dk, dv, dw on paper, of (1, H, Q, d), (1, H, K, d), (1, H, K, v), w () under dy; hidden pairs are
/// never evaluated.
std::vector<std::vector<double>> on_paper(const FaultyScore& e, const std::vector<std::vector<double>>& x,
                                          const std::vector<double>& dy, bool sink) {
  const auto at = [](Size i) { return static_cast<std::size_t>(i); };
  std::vector<std::vector<double>> r{std::vector<double>(at(kH * kQ * kV)),
                                     std::vector<double>(x[0].size()),
                                     std::vector<double>(x[1].size()),
                                     std::vector<double>(x[2].size()),
                                     {0.0}};
  const double scale = 1 / std::sqrt(static_cast<double>(kD));
  for (Size h = 0; h < kH; ++h)
    for (Size i = 0; i < kQ; ++i) {
      const Size q = (h * kQ + i) * kD, o = (h * kQ + i) * kV;
      std::vector<std::pair<Size, Paper>> seen;
      double sum = sink ? 1 : 0, mean = 0;
      for (Size j = 0; j < kK; ++j) {
        if (!e.may(i, j)) continue;
        double s = 0;
        for (Size c = 0; c < kD; ++c) s += scale * x[0][at(q + c)] * x[1][at((h * kK + j) * kD + c)];
        if (const auto paper = e.paper(s, i, j, x[3][0])) {
          seen.emplace_back(j, *paper);
          sum += std::exp(paper->score);
        }
      }
      const auto gain = [&](Size j) {
        double g = 0;
        for (Size c = 0; c < kV; ++c) g += dy[at(o + c)] * x[2][at((h * kK + j) * kV + c)];
        return g;
      };
      for (const auto& [j, p] : seen) mean += std::exp(p.score) / sum * gain(j);
      for (const auto& [j, p] : seen) {
        const double a = std::exp(p.score) / sum, ds = a * (gain(j) - mean);
        for (Size c = 0; c < kV; ++c) {
          r[0][at(o + c)] += a * x[2][at((h * kK + j) * kV + c)];
          r[3][at((h * kK + j) * kV + c)] += a * dy[at(o + c)];
        }
        for (Size c = 0; c < kD; ++c) {
          r[1][at(q + c)] += ds * p.ds * scale * x[1][at((h * kK + j) * kD + c)];
          r[2][at((h * kK + j) * kD + c)] += ds * p.ds * scale * x[0][at(q + c)];
        }
        r[4][0] += ds * p.dw;
      }
    }
  return r;
}

std::vector<Tensor> inputs() {
  return {random_normal({1, kH, kQ, kD}, 1, DType::f64), random_normal({1, kH, kK, kD}, 2, DType::f64),
          random_normal({1, kH, kK, kV}, 3, DType::f64), scalar(0.7, DType::f64)};
}

AttendOptions options_of(const FaultyScore& e, const Tensor& w, bool sink) {
  AttendOptions options{.score_mod = e.mod(w), .sink = sink};
  if (e.may != all_pairs)
    options.mask = BlockMask::where(kQ, kK, [&](QueryKey p) { return e.may(p.i, p.j); });
  return options;
}

/// All arguments in one vector, for derivatives of derivatives.
std::vector<Tensor> split(const Tensor& all_in_one) {
  std::vector<Tensor> parts;
  Size first = 0;
  for (const Tensor& part : inputs()) {
    parts.push_back(reshape(slice(all_in_one, 0, first, first + part.count()), part.shape()));
    first += part.count();
  }
  return parts;
}
std::vector<double> joined(const std::vector<Tensor>& parts) {
  std::vector<double> values;
  for (const Tensor& part : parts)
    for (const double v : part.to_vector()) values.push_back(v);
  return values;
}

}  // namespace

TEST_CASE("what a score gives at hidden pairs and in branches that were not taken touches nothing") {
  for (const FaultyScore& e : entries())
    for (const bool sink : {false, true}) {
      CAPTURE(e.name, sink);
      const std::vector<Tensor> x = inputs();
      const Tensor dy = random_normal({1, kH, kQ, kV}, 9, DType::f64);
      const auto want =
          on_paper(e, {x[0].to_vector(), x[1].to_vector(), x[2].to_vector(), {0.7}}, dy.to_vector(), sink);
      const Function tiled = [&](const auto& t) {
        return attend(t[0], t[1], t[2], options_of(e, t[3], sink));
      };
      check_near(run(tiled, x), want, 1e-12);
      check_near(
          run([&](const auto& t) { return attend_by_ops(t[0], t[1], t[2], options_of(e, t[3], sink)); }, x),
          want, 1e-12);
      check_near(run(
                     [&](const auto& t) {
                       return attend_partial(t[0], t[1], t[2], options_of(e, t[3], sink)).context;
                     },
                     x),
                 want, 1e-12);
      {  // through the decomposition
        Tape tape;
        std::vector<Tensor> t;
        for (const Tensor& one : x) t.push_back(variable(one));
        const Tensor y = tiled(t);
        Results got{y.to_vector()};
        for (const Tensor& g : tape.gradients(y, dy, t, {.create_graph = true})) got.push_back(g.to_vector());
        check_near(got, want, 1e-12);
      }
      // H v against differences of gradients on paper.
      const std::vector<double> at = joined(x);
      const Size n = static_cast<Size>(at.size());
      const Tensor v = random_normal({n}, 5, DType::f64);
      const std::vector<double> direction = v.to_vector();
      const auto gradient = [&](double step) {
        std::vector<std::vector<double>> moved;
        std::size_t next = 0;
        for (const Tensor& one : x) {
          moved.emplace_back();
          for (Size i = 0; i < one.count(); ++i, ++next)
            moved.back().push_back(at[next] + step * direction[next]);
        }
        const auto r = on_paper(e, moved, dy.to_vector(), sink);
        std::vector<double> all_of_it;
        for (std::size_t which = 1; which < r.size(); ++which)
          all_of_it.insert(all_of_it.end(), r[which].begin(), r[which].end());
        return all_of_it;
      };
      constexpr double kStep = 1e-4;
      const auto up = gradient(kStep), down = gradient(-kStep), up2 = gradient(2 * kStep),
                 down2 = gradient(-2 * kStep);
      std::vector<double> second;
      for (std::size_t i = 0; i < up.size(); ++i)
        second.push_back((8 * (up[i] - down[i]) - (up2[i] - down2[i])) / (12 * kStep));
      const Tensor hv = hessian_vector([&](const Tensor& z) { return sum(tiled(split(z)) * dy); },
                                       tensor(at, {n}, DType::f64), v);
      check_near({hv.to_vector()}, {second}, 1e-9);
    }
}

namespace {

/// Rows of x (1, H, T, d) for which `which` says so, filled with `value`.
Tensor filled(const Tensor& x, double value, const std::function<bool(Size)>& which) {
  const Mask rows =
      Mask::from(x.size(2), 1, [&](Size row, Size) { return which(row); }).reshape({1, 1, x.size(2), 1});
  return where(rows, scalar(value, x.dtype()), x);
}

/// Values, first gradients in tiles' own way, then by the decomposition, and H v.
Results all_of(const Function& f, const std::vector<Tensor>& x) {
  Results results = run(f, x);
  const Tensor dy = random_normal(f(x).shape(), 9, DType::f64);
  Tape tape;
  std::vector<Tensor> t;
  for (const Tensor& one : x) t.push_back(variable(one));
  const std::vector<Tensor> first =
      tape.gradients(f(t), dy, t, {.create_graph = true, .zero_if_unused = true});
  Tensor along;
  for (std::size_t i = 0; i < first.size(); ++i) {
    results.push_back(first[i].to_vector());
    const Tensor term = sum(first[i] * random_normal(first[i].shape(), 20 + i, DType::f64));
    along = i == 0 ? term : along + term;
  }
  for (const Tensor& second : tape.gradients(along, t, {.zero_if_unused = true}))
    results.push_back(second.to_vector());
  return results;
}

}  // namespace

TEST_CASE("poison in what nobody sees, and in queries that see nothing, touches nothing in any derivative") {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    const std::vector<double> draw = random_uniform({8, 9}, seed, 0, 1, DType::f64).to_vector();
    const auto may = [&](Size i, Size j) {
      return i != 2 && i != 7 && j != 1 && j != 8 && draw[static_cast<std::size_t>(i * 9 + j)] < 0.5;
    };
    const auto blind = [&](Size i) {
      for (Size j = 0; j < 9; ++j)
        if (may(i, j)) return false;
      return true;
    };
    const auto unseen = [&](Size j) {
      for (Size i = 0; i < 8; ++i)
        if (may(i, j)) return false;
      return true;
    };
    const std::vector<Tensor> clean{random_normal({1, 2, 8, 3}, 11, DType::f64),
                                    random_normal({1, 2, 9, 3}, 12, DType::f64),
                                    random_normal({1, 2, 9, 2}, 13, DType::f64)};
    for (const bool sink : {false, true})
      for (const bool with_score : {false, true})
        for (const double poison : {kNaN, kInf, -kInf}) {
          CAPTURE(seed, sink, with_score, poison);
          AttendOptions options{.mask = BlockMask::where(8, 9, [&](QueryKey p) { return may(p.i, p.j); }),
                                .sink = sink};
          // Query 4 sees nothing by its scores.
          if (with_score)
            options.score_mod = score_mod([](auto s, auto at) { return select(at.i == 4, -kInf, s * 2); });
          const auto is_blind = [&](Size i) { return blind(i) || (with_score && i == 4); };
          const std::vector<Tensor> bad{filled(clean[0], poison, is_blind), filled(clean[1], poison, unseen),
                                        filled(clean[2], poison, unseen)};
          const Function tiles = [&](const auto& t) { return attend(t[0], t[1], t[2], options); };
          const Function ops = [&](const auto& t) { return attend_by_ops(t[0], t[1], t[2], options); };
          const Results want = all_of(ops, clean);
          check_near(all_of(tiles, clean), want, 1e-12);
          check_near(all_of(tiles, bad), want, 1e-12);
          check_near(all_of(ops, bad), want, 1e-12);
          // A key that others see: queries with no pairs stay 0, and all who see it know.
          std::vector<Tensor> seen = bad;
          Size key = 0;
          while (unseen(key)) ++key;
          for (const std::size_t which : {1U, 2U})
            seen[which] = filled(bad[which], kNaN, [&](Size j) { return j == key; });
          for (const Function& f : {tiles, ops}) {
            const Results got = run(f, seen);
            for (Size i = 0; i < 8; ++i)
              for (const std::size_t which : {0U, 1U}) {
                const Size width = which == 0 ? 2 : 3;
                const double value = got[which][static_cast<std::size_t>(i * width)];
                if (is_blind(i)) CHECK(value == 0);
                if (!is_blind(i) && may(i, key)) CHECK(std::isnan(value));
              }
          }
        }
  }
}

TEST_CASE("what a pair score gives at hidden pairs touches nothing, in any derivative") {
  const auto may = [](Size i, Size j) { return j <= i; };
  // Keys that later queries see are smaller than the earlier ones': √(q − k) is NaN above the diagonal.
  const Tensor q = reshape(arange(1, 13, 1, DType::f64), {1, 1, 4, 3}),
               k = reshape(arange(0, 12, 1, DType::f64), {1, 1, 4, 3}),
               v = random_normal({1, 1, 4, 2}, 3, DType::f64), w = random_normal({3}, 4, DType::f64);
  const auto with = [&](auto f) {
    return all_of(
        [=](const std::vector<Tensor>& t) {
          return attend(t[0], t[1], t[2],
                        {.pair_score = pair_score(f, learned(t[3])),
                         .mask = BlockMask::where(4, 4, [=](QueryKey p) { return may(p.i, p.j); })});
        },
        {q, k, v, w});
  };
  const Results got = with([](auto a, auto b, auto u) { return u * sqrt(a - b); });
  check_near(got, with([](auto a, auto b, auto u) { return u * sqrt(max(a - b, 0.5)); }), 1e-12);
  for (const auto& list : got)
    CHECK(std::none_of(list.begin(), list.end(), [](double x) { return std::isnan(x); }));
}
