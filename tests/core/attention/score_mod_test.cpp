// Scores written as lambdas: values and all gradients as plain ops have them, and as differences have them.

#include "core/attention/attend.hpp"
#include "core/attention/score_lambda.hpp"
#include "core/check/gradcheck.hpp"
#include "tests/catch.hpp"
#include "tests/core/attention/attention_checks.hpp"
#include "tests/sanitized.hpp"
#include "tests/threads.hpp"

using namespace tapestry;
using namespace tapestry::checks;

namespace {

/// A batch of so many heads, queries and keys.
struct Sizes {
  Size batch, heads, queries, keys;
};

/// A score, what it learns, and which pairs count (none: all).
struct LambdaScore {
  std::string name;
  std::function<ScoreMod(const std::vector<Tensor>& learned, const Sizes&)> make;
  std::function<std::vector<Dims>(const Sizes&)> learned = [](const Sizes&) { return std::vector<Dims>(); };
  std::function<bool(const QueryKey&)> may = {};
};

/// Documents of 1, 2, 3, … tokens, and in each batch row one token later.
Indices documents(const Sizes& n) {
  std::vector<std::int64_t> ids;
  for (Size b = 0; b < n.batch; ++b)
    for (Size j = 0, id = 0, end = 1 + b; j < std::max(n.queries, n.keys); ++j) {
      if (j == end) ++id, end += id + 1;
      ids.push_back(id);
    }
  return Indices(ids, {n.batch, std::max(n.queries, n.keys)});
}

/// T5's buckets: one for each small distance, then wider and wider ones (Raffel et al. 2020, section 2.1).
Indices buckets(Size distances) {
  std::vector<std::int64_t> ids;
  for (Size d = 0; d < distances; ++d)
    ids.push_back(d < 4 ? d : std::min<std::int64_t>(7, 4 + std::ilogb(static_cast<double>(d) / 4)));
  return Indices(ids, {distances});
}

bool causal_pair(const QueryKey& p) { return p.j <= p.i; }

const std::vector<LambdaScore>& gallery() {
  const auto none = [](const Sizes&) { return std::vector<Dims>(); };
  const auto heads = [](const Sizes& n) { return std::vector<Dims>{{n.heads}}; };
  static const std::vector<LambdaScore> all{
      {"unchanged", [](auto&, auto&) { return score_mod([](auto s, auto) { return s; }); }},
      {"ALiBi",
       [](auto& t, auto&) {
         return score_mod([](auto s, auto at, auto slope) { return s - slope(at.h) * abs(at.i - at.j); },
                          learned(t[0]));
       },
       heads, causal_pair},
      {"relative bias",
       [](auto& t, auto& n) {
         return score_mod(
             [T = n.keys](auto s, auto at, auto bias) { return s + bias(at.h, at.i - at.j + (T - 1)); },
             learned(t[0]));
       },
       [](const Sizes& n) {
         return std::vector<Dims>{{n.heads, n.queries + n.keys - 1}};
       }},
      {"relative bias, causal: only half a table",
       [](auto& t, auto&) {
         return score_mod([](auto s, auto at, auto bias) { return s + bias(at.h, at.i - at.j); },
                          learned(t[0]));
       },
       [](const Sizes& n) {
         return std::vector<Dims>{{n.heads, n.queries}};
       },
       causal_pair},
      {"soft-cap", [](auto&, auto&) { return score_mod([](auto s, auto) { return 2 * tanh(s / 2); }); }},
      {"learned temperature",
       [](auto& t, auto&) {
         return score_mod([](auto s, auto, auto warm) { return s * warm(); }, learned(t[0]));
       },
       [](const Sizes&) { return std::vector<Dims>{{}}; }},
      {"documents",
       [](auto&, auto& n) {
         return score_mod(
             [](auto s, auto at, auto document) {
               return select(document(at.b, at.i) == document(at.b, at.j), s, -kInf);
             },
             documents(n));
       },
       none, causal_pair},
      {"T5 buckets",
       [](auto& t, auto& n) {
         return score_mod(
             [](auto s, auto at, auto bucket, auto bias) { return s + bias(bucket(at.i - at.j), at.h); },
             buckets(n.queries), learned(t[0]));
       },
       [](const Sizes& n) {
         return std::vector<Dims>{{8, n.heads}};
       },
       causal_pair},
      {"distance decay",
       [](auto& t, auto&) {
         return score_mod(
             [](auto s, auto at, auto rate) { return s * exp(-rate(at.h) * abs(at.i - at.j) / 20); },
             learned(t[0]));
       },
       heads},
      {"logarithm of the distance",
       [](auto& t, auto&) {
         return score_mod(
             [](auto s, auto at, auto rate) { return s - rate(at.h) * log(1 + abs(at.i - at.j)); },
             learned(t[0]));
       },
       heads},
      {"square root",
       [](auto& t, auto&) {
         return score_mod([](auto s, auto at, auto a) { return sqrt(s * s + a(at.j)) - sqrt(1 + at.j); },
                          learned(t[0]));
       },
       [](const Sizes& n) { return std::vector<Dims>{{n.keys}}; }},
      {"between two limits",
       [](auto& t, auto&) {
         return score_mod([](auto s, auto at, auto a) { return max(min(s, a(at.h)), -a(at.h) / 2); },
                          learned(t[0]));
       },
       heads},
      {"the larger of two learned",
       [](auto& t, auto&) {
         return score_mod(
             [](auto s, auto at, auto a, auto b) { return s + max(a(at.i), b(at.j)) + min(a(at.i), 0.8); },
             learned(t[0]), learned(t[1]));
       },
       [](const Sizes& n) {
         return std::vector<Dims>{{n.queries}, {n.keys}};
       }},
      {"one way above, another below",
       [](auto& t, auto&) {
         return score_mod(
             [](auto s, auto at, auto a) {
               return select((at.j < at.i) | (s > 1), s * a(at.h), abs(s) - a(at.h) * s);
             },
             learned(t[0]));
       },
       heads},
      {"a choice by head and place",
       [](auto& t, auto&) {
         return score_mod(
             [](auto s, auto at, auto a) {
               auto sum = s;
               sum += a(at.h), sum *= 2, sum -= s, sum /= 1.5;
               return select(at.h < 1, sum, select(at.i != at.j, s, s * a(at.h)));
             },
             learned(t[0]));
       },
       heads},
      {"every second place, and from the end",
       [](auto& t, auto& n) {
         return score_mod(
             [last = static_cast<double>(n.keys - 1)](auto s, auto at, auto a, auto b) {
               return s * a(2 * at.j + 1) + b(last - at.j, at.h) - a(2 * last - 2 * at.j);
             },
             learned(t[0]), learned(t[1]));
       },
       [](const Sizes& n) {
         return std::vector<Dims>{{2 * n.keys}, {n.keys, n.heads}};
       }},
      {"a gate",
       [](auto& t, auto&) {
         return score_mod(
             [](auto s, auto at, auto a, auto b) { return s * sigmoid(a(at.b, at.h) * s - b(at.i)); },
             learned(t[0]), learned(t[1]));
       },
       [](const Sizes& n) {
         return std::vector<Dims>{{n.batch, n.heads}, {n.queries}};
       }},
      {"a quotient of four learned",
       [](auto& t, auto&) {
         return score_mod(
             [](auto s, auto at, auto a, auto b, auto c, auto d) {
               return (s * a() - b(at.h)) / (2 + c(at.j) * d(at.b, at.h, at.i, at.j) * s * s);
             },
             learned(t[0]), learned(t[1]), learned(t[2]), learned(t[3]));
       },
       [](const Sizes& n) {
         return std::vector<Dims>{{}, {n.heads}, {n.keys}, {n.batch, n.heads, n.queries, n.keys}};
       }},
      {"learned and constant in turn",
       [](auto& t, auto& n) {
         return score_mod([](auto s, auto at, auto place, auto a, auto numbers,
                             auto b) { return s * numbers(at.h) + a(place(at.j)) * b(place(at.i)); },
                          buckets(std::max(n.queries, n.keys)), learned(t[0]), tensor({0.5, 1.5, -0.5}),
                          learned(t[1]));
       },
       [](const Sizes&) {
         return std::vector<Dims>{{8}, {8}};
       }},
      {"waves",
       [](auto& t, auto&) {
         return score_mod(
             [](auto s, auto at, auto a) {
               return s + sin(a(at.h) * (at.i - at.j)) * cos(s) - cos(a(at.h + 0) * at.h);
             },
             learned(t[0]));
       },
       heads},
      {"remainders and whole parts",
       [](auto& t, auto&) {
         return score_mod(
             [](auto s, auto at, auto a, auto b) {
               const auto parity = (at.i - at.j) % 2;
               return s * a((at.h + 1) % 2) + b(at.j % 7, (at.b + at.h) % 3) * parity + at.h / 2 - at.b % 2 +
                      floor((at.j + at.h) / 3) * a(abs(at.h - 2) % 2) - fmod(at.j * 0.75, a(0)) +
                      select(at.h % 2 == 1, s, 1.5 % (1 + at.i)) + 7 % (at.h + 2) * s;
             },
             learned(t[0]), learned(t[1]));
       },
       [](const Sizes&) {
         return std::vector<Dims>{{2}, {7, 3}};
       }},
      {"powers",
       [](auto& t, auto&) {
         return score_mod(
             [](auto s, auto at, auto a) {
               return pow(s, 2) - pow(1 + at.j, -0.5) + pow(a(at.h), s / 4) - pow(abs(s) + 1, a(at.h)) / 9 +
                      pow(2, -(at.h + 1)) * s - pow(0.9, abs(at.i - at.j));
             },
             learned(t[0]));
       },
       heads},
      {"scores that ignore queries and keys",
       [](auto& t, auto&) { return score_mod([](auto, auto at, auto a) { return a(at.j); }, learned(t[0])); },
       [](const Sizes& n) { return std::vector<Dims>{{n.keys}}; }}};
  return all;
}

AttendOptions options_of(const LambdaScore& entry, const Sizes& n, const std::vector<Tensor>& learned) {
  AttendOptions options;
  options.score_mod = entry.make(learned, n);
  if (entry.may) options.mask = BlockMask::where(n.queries, n.keys, entry.may);
  return options;
}

/// Query, key, value and what is learned.
std::vector<Tensor> inputs_of(const LambdaScore& entry, const Sizes& n, Size width, DType dtype) {
  std::vector<Tensor> x{random_normal({n.batch, n.heads, n.queries, width}, 1, dtype),
                        random_normal({n.batch, n.heads, n.keys, width}, 2, dtype),
                        random_normal({n.batch, n.heads, n.keys, 3}, 3, dtype)};
  for (const Dims& shape : entry.learned(n))
    x.push_back(random_uniform(shape, 4 + x.size(), 0.3, 1.2, dtype));
  return x;
}

Function tiled(const LambdaScore& entry, const Sizes& n) {
  return [&entry, n](const std::vector<Tensor>& x) {
    return attend(x[0], x[1], x[2], options_of(entry, n, {x.begin() + 3, x.end()}));
  };
}
Function by_ops(const LambdaScore& entry, const Sizes& n) {
  return [&entry, n](const std::vector<Tensor>& x) {
    return attend_by_ops(x[0], x[1], x[2], options_of(entry, n, {x.begin() + 3, x.end()}));
  };
}

}  // namespace

TEST_CASE("a lambda's values and gradients are those of plain ops") {
  for (const LambdaScore& entry : gallery())
    for (const Sizes& n :
         {Sizes{2, 3, 50, 100}, {1, 3, 49, 197}, {1, 3, 400, 20}, {2, 3, 7, 5}, {1, 3, 1, 17}}) {
      if (kAddressSanitizer && n.queries > 49) continue;
      CAPTURE(entry.name, n.queries, n.keys);
      const Results want = run(by_ops(entry, n), inputs_of(entry, n, 5, DType::f64));
      check_near(run(tiled(entry, n), inputs_of(entry, n, 5, DType::f64)), want, 1e-11);
      // What is learned sums over up to 30,000 pairs, of which most cancels.
      if (n.queries > 7) check_near(run(tiled(entry, n), inputs_of(entry, n, 5, DType::f32)), want, 5e-5);
      if (n.queries == 1 || entry.name == "scores that ignore queries and keys") continue;
      for (const std::vector<double>& list : want) {  // a check of zeros would prove nothing
        const auto [low, high] = std::minmax_element(list.begin(), list.end());
        CHECK(std::max(-*low, *high) > 0.01);
      }
    }
}

TEST_CASE("a lambda's gradients are those of differences", "[unsanitized]") {
  const Sizes n{2, 3, 4, 5};
  for (const LambdaScore& entry : gallery()) {
    GradcheckOptions options;
    options.name = entry.name;
    options.expect_zero = entry.name == "scores that ignore queries and keys";
    const auto result = gradcheck(tiled(entry, n), inputs_of(entry, n, 2, DType::f64), options);
    INFO(result.report());
    CHECK(result.ok());
    CHECK(result.kinks.empty());
  }
}

TEST_CASE("a lambda's second gradients go through plain ops") {
  const Sizes n{1, 3, 3, 4};
  for (const std::string name : {"ALiBi", "a gate", "documents"})
    for (const LambdaScore& entry : gallery()) {
      if (entry.name != name) continue;
      const auto result = gradgradcheck(tiled(entry, n), inputs_of(entry, n, 2, DType::f64));
      INFO(result.report());
      CHECK(result.ok());
    }
}

TEST_CASE("a lambda with heads that share keys, a sink, and with the sum of parts") {
  const Sizes n{2, 3, 60, 110};
  for (const LambdaScore& entry : gallery()) {
    CAPTURE(entry.name);
    const auto with = [&](auto f) {
      return [&entry, n, f](const std::vector<Tensor>& x) {
        AttendOptions options = options_of(entry, n, {x.begin() + 3, x.end()});
        options.sink = true;
        return f(x[0], slice(x[1], 1, 0, 1), slice(x[2], 1, 0, 1), options);
      };
    };
    const auto inputs = inputs_of(entry, n, 4, DType::f64);
    const Results want = run(with([](const auto&... x) { return attend_by_ops(x...); }), inputs);
    check_near(run(with([](const auto&... x) { return attend(x...); }), inputs), want, 1e-11);
    check_near(run(with([](const auto&... x) { return attend_partial(x...).context; }), inputs), want, 1e-11);
  }
}

TEST_CASE("the same bits for what is learned, on any number of threads", "[unsanitized]") {
  for (const Sizes& n : {Sizes{1, 3, 100, 300}, {3, 3, 60, 110}})
    for (const LambdaScore& entry : gallery()) {
      if (entry.learned(n).size() < 2 && entry.name != "relative bias") continue;
      CAPTURE(entry.name);
      const auto on = [&](int threads) {
        const test::Threads scope(threads);
        return run(tiled(entry, n), inputs_of(entry, n, 8, DType::f32));
      };
      const Results one = on(1);
      check_same(on(2), one);
      check_same(on(3), one);
    }
}

TEST_CASE("−∞ from a lambda hides the pair, as a mask does") {
  const auto hide = [](auto s, auto at) { return select(at.j > at.i, -kInf, s); };
  const auto inputs = [](DType dtype) {
    return std::vector<Tensor>{random_normal({2, 2, 60, 5}, 1, dtype),
                               random_normal({2, 2, 110, 5}, 2, dtype),
                               random_normal({2, 2, 110, 3}, 3, dtype)};
  };
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Results want = run(
        [&](const auto& x) {
          return attend(x[0], x[1], x[2], {.mask = BlockMask::where(60, 110, causal_pair)});
        },
        inputs(dtype));
    const Results got =
        run([&](const auto& x) { return attend(x[0], x[1], x[2], {.score_mod = score_mod(hide)}); },
            inputs(dtype));
    check_near(got, want, dtype == DType::f32 ? 1e-6 : 1e-12);
  }
  // All of a query's pairs: nothing to attend to.
  const auto none = [](auto s, auto at) { return select(at.i == 50, -kInf, s); };
  const Results got =
      run([&](const auto& x) { return attend(x[0], x[1], x[2], {.score_mod = score_mod(none)}); },
          inputs(DType::f64));
  for (const std::size_t which : {0U, 1U})
    for (std::size_t c = 0; c < 3; ++c) CHECK(got[which][50 * (which == 0 ? 3 : 5) + c] == 0);
  for (const auto& list : got)
    CHECK(std::none_of(list.begin(), list.end(), [](double v) { return std::isnan(v); }));
}

TEST_CASE("what a lambda gives for pairs that do not count touches nothing, whatever its slope") {
  // On the diagonal, which is masked, it divides by 0.
  const BlockMask mask = BlockMask::where(60, 110, [](QueryKey p) { return p.j != p.i; });
  const auto with = [&](auto f) {
    return run(
        [&](const std::vector<Tensor>& x) {
          return attend(x[0], x[1], x[2], {.mask = mask, .score_mod = score_mod(f, learned(x[3]))});
        },
        {random_normal({2, 60, 5}, 1, DType::f64), random_normal({2, 110, 5}, 2, DType::f64),
         random_normal({2, 110, 3}, 3, DType::f64), random_normal({60}, 4, DType::f64)});
  };
  const Results got = with([](auto s, auto at, auto a) { return (s + a(at.i)) / abs(at.i - at.j); });
  check_same(got, with([](auto s, auto at, auto a) {
               return (s + a(at.i)) / select(at.i == at.j, 1.0 + 0 * at.i, abs(at.i - at.j));
             }));
}
