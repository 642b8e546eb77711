// Mistakes in a lambda get a sentence: reading outside, a score that is no number, wrong indices and types.
#include <limits>
#include <memory>
#include <string>

#include "core/attention/attend.hpp"
#include "core/attention/score_lambda.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/views.hpp"
#include "core/simd/runtime/threads.hpp"
#include "core/tape/tape.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"
#include "tests/not_finite.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

constexpr Size kQueries = 60, kKeys = 110;

Tensor attend_with(const ScoreMod& score, const BlockMask& mask = {}, DType dtype = DType::f32) {
  return attend(random_normal({2, 2, kQueries, 5}, 1, dtype), random_normal({2, 2, kKeys, 5}, 2, dtype),
                random_normal({2, 2, kKeys, 3}, 3, dtype), {.mask = mask, .score_mod = score});
}

/// The message of the error that it makes, in f32 and in f64 alike.
std::string message_of(const ScoreMod& score, const BlockMask& mask = {}) {
  std::string found[2];
  for (const DType dtype : {DType::f32, DType::f64}) try {
      attend_with(score, mask, dtype);
    } catch (const Error& error) {
      found[dtype == DType::f64] = error.what();
    }
  CHECK(found[0].substr(0, found[0].rfind('(')) == found[1].substr(0, found[1].rfind('(')));
  return found[0];
}

/// Only pair (i, j), of head 1 of batch row 1.
BlockMask only(Size i, Size j) {
  return BlockMask::where(
      kQueries, kKeys, [=](QueryKey p) { return p.b == 1 && p.h == 1 && p.i == i && p.j == j; }, 2, 2);
}

const Tensor kTable = random_normal({2, 20}, 4);

}  // namespace

TEST_CASE("reading outside a table names the index, the axis, the shape, the query and the key") {
  const ScoreMod bias =
      score_mod([](auto s, auto at, auto table) { return s + table(at.h, at.i - at.j + 10); }, kTable);
  CHECK_THAT(message_of(bias, only(53, 43)),
             ContainsSubstring("[score_mod] index 20 is outside axis 1 of a table (2,20), for query 53 and "
                               "key 43 (batch row ") &&
                 ContainsSubstring("): clamp it, or mask the pair") &&
                 ContainsSubstring("score_mistakes_test.cpp:"));
  CHECK_THAT(message_of(bias, only(50, 99)),
             ContainsSubstring("index -39 is outside axis 1 of a table (2,20)") &&
                 ContainsSubstring("query 50 and key 99"));
  CHECK_THAT(message_of(bias),
             ContainsSubstring("index -1 is outside axis 1") && ContainsSubstring("query 0 and key 11"));
  CHECK(message_of(bias, only(50, 50)).empty());
  CHECK(message_of(bias,
                   BlockMask::where(kQueries, kKeys,
                                    [](QueryKey p) { return p.i - p.j + 10 >= 0 && p.i - p.j + 10 < 20; }))
            .empty());

  const ScoreMod by_row =
      score_mod([](auto s, auto at, auto table) { return s + table(at.b, at.h + 19); }, kTable);
  CHECK_THAT(message_of(by_row, only(3, 4)),
             ContainsSubstring("index 20 is outside axis 1 of a table (2,20)"));
  CHECK(message_of(by_row, BlockMask::where(
                               kQueries, kKeys, [](QueryKey p) { return p.h == 0; }, 1, 2))
            .empty());
  const ScoreMod first_axis = score_mod([](auto s, auto at, auto table) { return s * table(at.h + 1, 0); },
                                        learned(kTable.to(DType::f32)));
  CHECK_THROWS_WITH(attend_with(first_axis),
                    ContainsSubstring("index 2 is outside axis 0 of a table (2,20)"));
  const ScoreMod low = score_mod([](auto s, auto at, auto table) { return s * table(at.h - 1, 0); }, kTable);
  CHECK_THAT(message_of(low), ContainsSubstring("index -1 is outside axis 0"));
  const ScoreMod nothing = score_mod([](auto s, auto at, auto table) { return s + table(at.j); }, zeros({0}));
  CHECK_THAT(message_of(nothing), ContainsSubstring("index 0 is outside axis 0 of a table (0)"));
  const ScoreMod through =
      score_mod([](auto s, auto at, auto place, auto table) { return s + table(0, place(at.j)); },
                Indices{3, 25}, kTable);
  CHECK_THAT(message_of(through, only(5, 1)),
             ContainsSubstring("index 25 is outside axis 1 of a table (2,20)"));
  CHECK(message_of(through, only(5, 0)).empty());
}

TEST_CASE("pairs that do not count, and places behind the last key, are never read") {
  // Tables that end with the last key and the last query that count: one place more would throw.
  for (const Size keys : {1, 3, 5, 13, 17, 95, 97, 101}) {
    CAPTURE(keys);
    const Tensor by_key = random_normal({keys}, 5), q = random_normal({2, keys, 4}, 1),
                 v = random_normal({2, keys, 3}, 2);
    const ScoreMod all =
        score_mod([](auto s, auto at, auto a) { return s + a(at.j) * a(at.i); }, learned(by_key));
    CHECK_NOTHROW(attend(q, q, v, {.score_mod = all}));
    const Tensor before = random_normal({std::max<Size>(1, keys - 2)}, 6);
    const ScoreMod some = score_mod([](auto s, auto at, auto a) { return s + a(at.j); }, learned(before));
    const BlockMask mask =
        BlockMask::where(keys, keys, [=](QueryKey p) { return p.j < std::max<Size>(1, keys - 2); });
    const Tensor x = variable(q), bias = variable(before);
    Tape tape;
    Tensor y;
    REQUIRE_NOTHROW(y = attend(x, q, v,
                               {.mask = mask,
                                .score_mod = score_mod([](auto s, auto at, auto a) { return s + a(at.j); },
                                                       learned(bias))}));
    REQUIRE_NOTHROW(tape.backward(sum(y)));
    if (keys > 3) CHECK_THROWS_AS(attend(q, q, v, {.score_mod = some}), Error);
  }
}

TEST_CASE("a score that is no number is an error, and says where") {
  const ScoreMod divided = score_mod([](auto s, auto at) { return s * 0 / (at.i - at.j); });
  CHECK_THAT(
      message_of(divided),
      ContainsSubstring("[score_mod] the score of query 0 and key 0 (batch row 0, head 0) became NaN; check "
                        "what the lambda divides by, takes the logarithm of, or reads from a table") &&
          ContainsSubstring("score_mistakes_test.cpp:"));
  CHECK_THAT(message_of(divided, only(57, 57)),
             ContainsSubstring("query 57 and key 57 (batch row 1, head 1) became NaN"));
  CHECK(message_of(divided, only(57, 58)).empty());
  const ScoreMod infinite = score_mod([](auto s, auto at) { return s - log(abs(at.i - at.j) / 100); });
  CHECK_THAT(message_of(infinite, only(50, 50)),
             ContainsSubstring("query 50 and key 50 (batch row 1, head 1) became infinity"));
  const ScoreMod hidden = score_mod([](auto s, auto at) { return s + log(abs(at.i - at.j) / 100); });
  CHECK(message_of(hidden, only(50, 50)).empty());
  CHECK(message_of(hidden).empty());  // −∞ on the diagonal hides it
  // What was no number before the lambda is not the lambda's fault.
  Tensor y;
  const Tensor bad = full({1, 3, 2}, std::numeric_limits<double>::quiet_NaN());
  REQUIRE_NOTHROW(
      y = attend(bad, bad, ones({1, 3, 2}), {.score_mod = score_mod([](auto s, auto) { return s * 2; })}));
  CHECK(std::isnan(y.at({0, 0, 0})));
}

TEST_CASE("a lambda's mistake leaves threads and tape usable") {
  const int before = simd::thread_count();
  simd::set_thread_count(2);
  const Tensor q = variable(random_normal({4, 4, 100, 16}, 1));
  Tape tape;
  const ScoreMod wrong = score_mod([](auto s, auto at, auto a) { return s + a(at.i); }, zeros({99}));
  CHECK_THROWS_AS(attend(q, q, q, {.score_mod = wrong}), Error);
  const ScoreMod right = score_mod([](auto s, auto at, auto a) { return s + a(at.i); }, zeros({100}));
  tape.backward(sum(attend(q, q, q, {.score_mod = right})));
  CHECK(q.has_grad());
  simd::set_thread_count(before);
}

TEST_CASE("a table is read with one index for each axis") {
  const auto one = [](auto s, auto at, auto table) { return s + table(at.j); };
  const auto three = [](auto s, auto at, auto table) { return s + table(at.b, at.h, at.j); };
  const auto none = [](auto s, auto, auto table) { return s + table(); };
  CHECK_THAT(message_of(score_mod(one, kTable)),
             ContainsSubstring("[score_mod] a table (2,20) is read with 1 indices: give one for each axis"));
  CHECK_THAT(message_of(score_mod(three, kTable)),
             ContainsSubstring("a table (2,20) is read with 3 indices"));
  CHECK_THAT(message_of(score_mod(none, kTable)), ContainsSubstring("a table (2,20) is read with 0 indices"));
  CHECK_THAT(message_of(score_mod(one, zeros({}))), ContainsSubstring("a table () is read with 1 indices"));
  const Tensor x = random_normal({1, 1, 3, 2}, 1);
  for (const ScoreMod& score : {score_mod(one, kTable), score_mod(three, kTable), score_mod(none, kTable)})
    CHECK_THROWS_WITH(attend_by_ops(x, x, x, {.score_mod = score}),
                      ContainsSubstring("a table (2,20) is read with"));
}

TEST_CASE("what is learned has the query's type") {
  const Tensor x = random_normal({1, 1, 3, 2}, 1), one = ones({3}), other = ones({3}, DType::f64);
  const auto add = [](auto s, auto at, auto a) { return s + a(at.j); };
  CHECK_THROWS_WITH(attend(x, x, x, {.score_mod = score_mod(add, learned(other))}),
                    ContainsSubstring("[attend]") && ContainsSubstring("f32 and f64"));
  // A constant takes the query's type.
  CHECK(attend(x, x, x, {.score_mod = score_mod(add, other)}).to_vector() ==
        attend(x, x, x, {.score_mod = score_mod(add, one)}).to_vector());
}

TEST_CASE("a learned tensor that two arguments share gets both gradients") {
  const Tensor x = random_normal({2, 2, 6, 3}, 1, DType::f64);
  const Tensor shared = variable(random_normal({6}, 2, DType::f64));
  const auto run = [&](auto f) {
    Tape tape;
    tape.backward(sum(f() * random_normal({2, 2, 6, 3}, 3, DType::f64)));
    const std::vector<double> gradient = shared.grad().to_vector();
    shared.clear_grad();
    return gradient;
  };
  const ScoreMod two = score_mod([](auto s, auto at, auto a, auto b) { return s * a(at.i) + b(at.j); },
                                 learned(shared), learned(shared));
  const std::vector<double> got = run([&] { return attend(x, x, x, {.score_mod = two}); }),
                            want = run([&] { return attend_by_ops(x, x, x, {.score_mod = two}); });
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]).epsilon(1e-11));
}

TEST_CASE("what used to be accepted in silence is refused: a scale, an index, a tensor without learned()") {
  const Tensor x = random_normal({1, 1, 4, 2}, 1), table = ones({20});
  for (const double scale :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    CHECK_THROWS_WITH(attend(x, x, x, {.scale = scale}), ContainsSubstring("[attend] scale must be finite"));
    CHECK_THROWS_WITH(attend_by_ops(x, x, x, {.scale = scale}),
                      ContainsSubstring("[attend] scale must be finite"));
  }
  const std::string sentence =
      "index 0.500000 of axis 0 of a table (20) must be a whole number, for query 1 and key 0";
  const auto half = [](auto s, auto at, auto t) { return s + t(at.i / 2); };
  CHECK_THROWS_WITH(attend(x, x, x, {.score_mod = score_mod(half, table)}), ContainsSubstring(sentence));
  CHECK_THROWS_WITH(attend_by_ops(x, x, x, {.score_mod = score_mod(half, table)}),
                    ContainsSubstring(sentence));
  const auto below = [](auto s, auto at, auto t) { return s + t(at.j - at.j / 2 - 0.5); };
  CHECK_THROWS_WITH(attend(x, x, x, {.score_mod = score_mod(below, table)}), ContainsSubstring("index -0.5"));
  CHECK_THROWS_WITH(attend_by_ops(x, x, x, {.score_mod = score_mod(below, table)}),
                    ContainsSubstring("index -0.5"));
  // Pairs that do not count may be read anywhere.
  const BlockMask even = BlockMask::where(4, 4, [](QueryKey p) { return p.i % 2 == 0; });
  CHECK_NOTHROW(attend(x, x, x, {.mask = even, .score_mod = score_mod(half, table)}));
  CHECK_NOTHROW(attend_by_ops(x, x, x, {.mask = even, .score_mod = score_mod(half, table)}));

  const auto scaled = [](auto s, auto at, auto t) { return s * t(at.j); };
  const Tensor weight = variable(ones({4}));
  CHECK_THROWS_WITH(score_mod(scaled, weight),
                    ContainsSubstring("must not require a gradient; wrap it in learned() to train it"));
  {
    Tape tape;
    const Tensor made = weight * 2.0;
    CHECK_THROWS_WITH(score_mod(scaled, made), ContainsSubstring("must not require a gradient"));
  }
  CHECK_NOTHROW(score_mod(scaled, weight.detach()));
  CHECK_NOTHROW(score_mod(scaled, learned(weight)));
}

TEST_CASE("by ops, a score's mistakes throw as in tiles") {
  const Tensor x = random_normal({1, 1, 4, 2}, 1);
  const ScoreMod divided = score_mod([](auto s, auto at) { return s * 0 / (at.i - at.j); });
  CHECK_THROWS_WITH(attend_by_ops(x, x, x, {.score_mod = divided}),
                    ContainsSubstring("the score of query 0 and key 0 (batch row 0, head 0) became NaN") &&
                        ContainsSubstring("score_mistakes_test.cpp:"));
  const ScoreMod outside = score_mod([](auto s, auto at, auto t) { return s + t(at.j); }, ones({3}));
  CHECK_THROWS_WITH(attend_by_ops(x, x, x, {.score_mod = outside}),
                    ContainsSubstring("index 3 is outside axis 0 of a table (3), for query 0 and key 3"));
}

TEST_CASE("a pair score that is no number is an error in tiles and by ops, and says where") {
  const Tensor x = arange(0, 60, 1, DType::f64), q = reshape(x, {1, 2, 15, 2}),
               v = ones({1, 2, 15, 3}, DType::f64);
  const PairScore root = pair_score([](auto a, auto b) { return sqrt(a - b); });
  const auto both_throw = [&](const Tensor& query, const AttendOptions& options, const std::string& start) {
    const auto check = [&](const std::string& message) {
      CHECK_THAT(message,
                 StartsWith("[pair_score] the score of " + start) &&
                     ContainsSubstring(" must be a finite number or −∞ for a finite query and key, got ") &&
                     ContainsSubstring("; check the lambda's weights") &&
                     ContainsSubstring("score_mistakes_test.cpp:"));
    };
    check(test::message_of<Error>([&] { attend(query, q, v, options); }));
    check(test::message_of<Error>([&] { attend_by_ops(query, q, v, options); }));
  };
  both_throw(q, {.pair_score = root}, "query 0 and key 1 (batch row 0, head 0)");
  const PairScore infinite =
      pair_score([](auto a, auto b, auto w) { return w / (a + b - 96); }, learned(ones({2}, DType::f64)));
  both_throw(q,
             {.pair_score = infinite, .mask = BlockMask::where(15, 15, [](QueryKey p) { return p.j == 9; })},
             "query 8 and key 9 (batch row 0, head 1)");
  // Hidden by the mask or by the score, it affects nothing.
  const auto causal = [](auto s, auto at) { return select(at.i < at.j, -test::kInf, s); };
  const BlockMask mask = BlockMask::causal(15, 15);
  for (const AttendOptions& hidden : {AttendOptions{.pair_score = root, .mask = mask},
                                      AttendOptions{.pair_score = root, .score_mod = score_mod(causal)}})
    for (const Tensor& y : {attend(q, q, v, hidden), attend_by_ops(q, q, v, hidden)})
      CHECK(min(y).item() == Approx(1));
  // A query that is no number is not the lambda's fault.
  const Tensor bad = where(Mask::from(30, 2, [](Size row, Size) { return row == 16; }).reshape({1, 2, 15, 2}),
                           scalar(test::kNaN, DType::f64), q);
  for (const Tensor& y : {attend(bad, q, v, {.pair_score = root, .mask = mask}),
                          attend_by_ops(bad, q, v, {.pair_score = root, .mask = mask})}) {
    CHECK(std::isnan(y.at({0, 1, 1, 0})));
    CHECK(y.at({0, 1, 2, 0}) == Approx(1));
  }
  both_throw(bad, {.pair_score = root}, "query 0 and key 1 (batch row 0, head 0)");
}

TEST_CASE("attend_by_ops refuses what attend refuses, and names the caller's line") {
  const Tensor x = random_normal({1, 1, 3, 2}, 1), wide = ones({3}, DType::f64), unit = ones({2}, DType::f64),
               sink = ones({1}, DType::f64);
  const auto add = [](auto s, auto at, auto a) { return s + a(at.j); };
  const auto scaled = [](auto q, auto k, auto w) { return q * k * w; };
  for (const AttendOptions& options : {AttendOptions{.score_mod = score_mod(add, learned(wide))},
                                       AttendOptions{.pair_score = pair_score(scaled, learned(unit))},
                                       AttendOptions{.sink = learned(sink)}, AttendOptions{.dropout = 1}}) {
    for (const std::string& message : {test::message_of<Error>([&] { attend(x, x, x, options); }),
                                       test::message_of<Error>([&] { attend_by_ops(x, x, x, options); })})
      CHECK_THAT(message, StartsWith("[attend] ") && ContainsSubstring("score_mistakes_test.cpp:"));
  }
}
