// Tiled attention against loops and against plain ops: values and gradients, masks, sizes, parts, threads.
#include "core/attention/attend.hpp"

#include <array>
#include <functional>

#include "core/simd/runtime/threads.hpp"
#include "tests/catch.hpp"
#include "tests/core/attention/attention_checks.hpp"

using namespace tapestry;
using namespace tapestry::checks;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<Tensor> inputs_of(const Dims& q, const Dims& k, const Dims& v, DType dtype) {
  return {random_normal(q, 1, dtype), random_normal(k, 2, dtype), random_normal(v, 3, dtype)};
}

Function tiled(const AttendOptions& options) {
  return [options](const std::vector<Tensor>& x) { return attend(x[0], x[1], x[2], options); };
}
Function by_ops(const AttendOptions& options) {
  return [options](const std::vector<Tensor>& x) { return attend_by_ops(x[0], x[1], x[2], options); };
}

/// Values and gradients as plain ops have them, in f64 and in f32.
void check_against_ops(const Dims& q, const Dims& k, const Dims& v, const AttendOptions& options = {}) {
  CAPTURE(to_string(q), to_string(k), to_string(v));
  const Results want = run(by_ops(options), inputs_of(q, k, v, DType::f64));
  check_near(run(tiled(options), inputs_of(q, k, v, DType::f64)), want, 1e-12);
  check_near(run(tiled(options), inputs_of(q, k, v, DType::f32)), want, 1e-5);
}

/// One head's attention on paper, added up in long double: y, lse, dq, dk, dv from dy and d_lse.
struct Loops {
  Size queries, keys, width, value_width;
  std::function<bool(Size, Size)> may;
  bool sink = false;
  std::vector<double> y, lse, dq, dk, dv;

  void run(const double* q, const double* k, const double* v, const double* dy, const double* d_lse) {
    using Real = long double;
    const Real scale = 1 / std::sqrt(static_cast<Real>(width));
    const auto at = [](Size i) { return static_cast<std::size_t>(i); };
    y.assign(at(queries * value_width), 0), lse.assign(at(queries), 0), dq.assign(at(queries * width), 0);
    std::vector<Real> k_sum(at(keys * width)), v_sum(at(keys * value_width)), p(at(keys)), dp(at(keys));
    for (Size i = 0; i < queries; ++i) {
      Real sum = sink ? 1 : 0, mean = 0;
      for (Size j = 0; j < keys; ++j) {
        Real s = 0;
        for (Size c = 0; c < width; ++c) s += static_cast<Real>(q[i * width + c]) * k[j * width + c];
        sum += p[at(j)] = may(i, j) ? std::exp(scale * s) : 0;
      }
      lse[at(i)] = static_cast<double>(std::log(sum));
      if (sum == 0) continue;
      for (Size j = 0; j < keys; ++j) {
        p[at(j)] /= sum, dp[at(j)] = 0;
        for (Size c = 0; c < value_width; ++c) {
          y[at(i * value_width + c)] += static_cast<double>(p[at(j)] * v[j * value_width + c]);
          v_sum[at(j * value_width + c)] += p[at(j)] * dy[i * value_width + c];
          dp[at(j)] += static_cast<Real>(dy[i * value_width + c]) * v[j * value_width + c];
        }
        mean += p[at(j)] * dp[at(j)];
      }
      for (Size j = 0; j < keys; ++j) {
        const Real ds = p[at(j)] * (dp[at(j)] - mean + d_lse[i]) * scale;
        for (Size c = 0; c < width; ++c) {
          dq[at(i * width + c)] += static_cast<double>(ds * k[j * width + c]);
          k_sum[at(j * width + c)] += ds * q[i * width + c];
        }
      }
    }
    dk.assign(k_sum.begin(), k_sum.end()), dv.assign(v_sum.begin(), v_sum.end());
  }
};

/// attend_partial of rank 2, and of the same in a batch of heads, against loops.
void check_against_loops(Size queries, Size keys, Size width, Size value_width, const BlockMask& mask,
                         const std::function<bool(Size, Size)>& may, bool sink = false) {
  CAPTURE(queries, keys, width, value_width, sink);
  const AttendOptions options{.mask = mask, .sink = sink};
  const Tensor d_lse = random_normal({queries}, 5, DType::f64);
  const auto blind = [&](Size i) {
    for (Size j = 0; j < keys; ++j)
      if (may(i, j)) return false;
    return !sink;
  };
  std::vector<double> both_dy;  // beside each row of dy that of its sum
  const std::vector<double> dy = random_normal({queries, value_width}, 4, DType::f64).to_vector();
  for (Size i = 0; i < queries; ++i) {
    for (Size c = 0; c < value_width; ++c)
      both_dy.push_back(dy[static_cast<std::size_t>(i * value_width + c)]);
    both_dy.push_back(blind(i) ? 0 : d_lse.at({i}));
  }
  const std::vector<Tensor> x = inputs_of({queries, width}, {keys, width}, {keys, value_width}, DType::f64);
  Loops want{queries, keys, width, value_width, may, sink, {}, {}, {}, {}, {}};
  want.run(x[0].data<double>(), x[1].data<double>(), x[2].data<double>(), dy.data(), d_lse.data<double>());
  const Tensor given = tensor(both_dy, {queries, value_width + 1}, DType::f64);
  Results partial = run(
      [&](const std::vector<Tensor>& t) {
        const PartialAttention part = attend_partial(t[0], t[1], t[2], options);
        return concat({part.context, unsqueeze(part.log_sum_exp, -1)}, -1);
      },
      x, given);
  std::vector<double> y, lse;
  for (std::size_t i = 0; i < partial[0].size(); ++i)
    ((static_cast<Size>(i) + 1) % (value_width + 1) == 0 ? lse : y).push_back(partial[0][i]);
  check_near({y, lse, partial[1], partial[2], partial[3]}, {want.y, want.lse, want.dq, want.dk, want.dv},
             1e-12);
  check_near({attend(x[0], x[1], x[2], options).to_vector()}, {want.y}, 1e-12);
}

/// The rows of x along axis 2 of (B, H, T, d) for which `which` says so, filled with `value`.
Tensor filled(const Tensor& x, double value, const std::function<bool(Size b, Size h, Size j)>& which) {
  std::vector<double> v = x.to_vector();
  const Size heads = x.size(1), rows = x.size(2), width = x.size(3);
  for (std::size_t i = 0; i < v.size(); ++i) {
    const Size row = static_cast<Size>(i) / width;
    if (which(row / rows / heads, row / rows % heads, row % rows)) v[i] = value;
  }
  return tensor(v, x.shape(), x.dtype());
}

}  // namespace

TEST_CASE("attention in tiles is what loops say, with its sums and all gradients") {
  for (const auto& [queries, keys] : std::vector<std::pair<Size, Size>>{
           {1, 1}, {17, 17}, {1, 1025}, {130, 1}, {47, 95}, {49, 97}, {96, 193}, {400, 30}}) {
    check_against_loops(queries, keys, 5, 3, {}, all_pairs);
    check_against_loops(queries, keys, 5, 3, {}, all_pairs, true);
    const Size ahead = keys - queries;
    check_against_loops(queries, keys, 8, 16, BlockMask::causal(queries, keys),
                        [=](Size i, Size j) { return j <= i + ahead; });
    check_against_loops(queries, keys, 3, 1, BlockMask::window(queries, keys, 12, 3),
                        [=](Size i, Size j) { return j >= i + ahead - 12 && j <= i + ahead + 3; });
    const auto sparse = [](Size i, Size j) { return i % 5 != 0 && (i * 7 + j * 3) % 11 == 0 && j > 3; };
    check_against_loops(queries, keys, 9, 7,
                        BlockMask::where(queries, keys, [&](QueryKey p) { return sparse(p.i, p.j); }),
                        sparse);
    check_against_loops(queries, keys, 9, 7,
                        BlockMask::where(queries, keys, [&](QueryKey p) { return sparse(p.i, p.j); }), sparse,
                        true);
    // Strips that see a few keys each, in no order, and strips that see none.
    const auto jumping = [](Size i, Size j) { return i / 12 % 3 != 1 && (j + i / 12 * 29) % 96 < 5; };
    check_against_loops(queries, keys, 16, 5,
                        BlockMask::where(queries, keys, [&](QueryKey p) { return jumping(p.i, p.j); }),
                        jumping);
  }
}

TEST_CASE("strips that see other keys meet in one register tile, whatever the number of queries") {
  for (Size queries = 1; queries <= 48; ++queries) {
    for (const bool down : {false, true}) {
      const auto steps = [=](Size i, Size j) {
        const Size first = (down ? 7 - i / 12 : i / 12) * 13;
        return j >= first && j < first + 3;
      };
      check_against_loops(queries, 97, 4, 3,
                          BlockMask::where(queries, 97, [&](QueryKey p) { return steps(p.i, p.j); }), steps);
    }
  }
}

TEST_CASE("attention in tiles is what plain ops say") {
  SECTION("heads, head sizes, and lengths of queries and keys") {
    for (const Size width : {1, 5, 16, 33}) {
      check_against_ops({2, 3, 50, width}, {2, 3, 100, width}, {2, 3, 100, 7});
      check_against_ops({2, 3, 100, width}, {2, 3, 50, width}, {2, 3, 50, width},
                        {.mask = BlockMask::causal(100, 50)});
    }
    check_against_ops({9, 17, 5}, {9, 17, 5}, {9, 17, 5}, {.mask = BlockMask::causal(17, 17)});
    check_against_ops({1, 1, 3}, {1, 1, 3}, {1, 1, 2});
  }
  SECTION("few heads with many keys, which are cut into parts") {
    check_against_ops({1, 1, 1025, 4}, {1, 1, 1025, 4}, {1, 1, 1025, 4});
    check_against_ops({1, 3, 70, 16}, {1, 3, 401, 16}, {1, 3, 401, 16}, {.mask = BlockMask::causal(70, 401)});
    check_against_ops({1, 1025, 16}, {1, 1025, 16}, {1, 1025, 8},
                      {.mask = BlockMask::window(1025, 1025, 30, 0), .sink = true});
  }
  SECTION("heads that share keys and values") {
    check_against_ops({2, 6, 50, 4}, {2, 1, 100, 4}, {2, 1, 100, 5});
    check_against_ops({2, 2, 3, 50, 4}, {2, 2, 1, 100, 4}, {2, 2, 1, 100, 5},
                      {.mask = BlockMask::causal(50, 100), .sink = true});
    check_against_ops({2, 2, 3, 50, 16}, {2, 2, 1, 100, 16}, {2, 2, 1, 100, 16});
    check_against_ops({2, 2, 3, 50, 16}, {2, 2, 1, 60, 16}, {2, 2, 1, 60, 16});
    check_against_ops({2, 2, 3, 50, 16}, {2, 1, 3, 100, 16}, {100, 16});
    check_against_ops({3, 4, 20, 16}, {1, 4, 30, 16}, {4, 30, 16});
    check_against_ops({1, 2, 3, 50, 16}, {1, 2, 1, 300, 16}, {1, 2, 1, 300, 16},
                      {.mask = BlockMask::where(
                           50, 300, [](QueryKey p) { return (p.i + p.j + p.h) % 4 == 0; }, 1, 6)});
  }
  SECTION("masks of each batch row and each head") {
    const auto length = [](QueryKey p) { return p.j < 60 * p.b; };
    check_against_ops({3, 2, 50, 4}, {3, 2, 130, 4}, {3, 2, 130, 4},
                      {.mask = BlockMask::where(50, 130, length, 3)});
    const auto by_head = [](QueryKey p) { return p.j <= p.i && p.j % (p.h + 2) != p.b; };
    check_against_ops({3, 2, 130, 4}, {3, 2, 130, 4}, {3, 2, 130, 4},
                      {.mask = BlockMask::where(130, 130, by_head, 3, 2)});
    check_against_ops({3, 2, 60, 4}, {3, 2, 60, 4}, {3, 2, 60, 4},
                      {.mask = BlockMask::where(
                           60, 60, [](QueryKey p) { return p.j < 20 + 30 * p.h; }, 1, 2)});
    check_against_ops({2, 2, 3, 60, 4}, {2, 2, 3, 60, 4}, {2, 2, 3, 60, 4},
                      {.mask = BlockMask::where(
                           60, 60, [](QueryKey p) { return p.j < 9 * p.h + p.b; }, 2, 6)});
  }
  SECTION("scale and sink") {
    check_against_ops({2, 50, 4}, {2, 100, 4}, {2, 100, 4}, {.scale = 0.0});
    check_against_ops({2, 50, 4}, {2, 100, 4}, {2, 100, 4}, {.scale = -1.5, .sink = true});
  }
}

TEST_CASE("large scores neither overflow nor shrink what was summed before") {
  // Later keys score higher, tile after tile, or lower.
  for (const double direction : {1.0, -1.0, 40.0}) {
    const Tensor q = full({60, 1}, 2.0, DType::f64), v = random_normal({300, 3}, 3, DType::f64);
    const Tensor k = direction * arange(0, 300, 1, DType::f64);
    const std::vector<Tensor> x{q, reshape(k, {300, 1}), v};
    check_near(run(tiled({}), x), run(by_ops({}), x), 1e-10);  // keys are up to 12,000
    if (direction == 1) CHECK(attend(x[0], x[1], x[2]).at({5, 0}) == Approx(v.at({299, 0})).epsilon(0.5));
  }
}

TEST_CASE("queries with nothing to attend to give exactly 0, and take no gradient") {
  const auto may = [](QueryKey p) { return p.i % 3 != 1 && p.b == 0; };
  const AttendOptions options{.mask = BlockMask::where(70, 110, may, 2)};
  for (const DType dtype : {DType::f32, DType::f64}) {
    const std::vector<Tensor> x = inputs_of({2, 2, 70, 8}, {2, 2, 110, 8}, {2, 2, 110, 5}, dtype);
    const Results got = run(tiled(options), x);
    for (const std::size_t which : {0U, 1U}) {
      const Size width = which == 0 ? 5 : 8;
      for (std::size_t i = 0; i < got[which].size(); ++i) {
        const Size row = static_cast<Size>(i) / width;
        if (!may(QueryKey{row / 140, 0, row % 70, 0}) && got[which][i] != 0) FAIL(which << " at " << i);
      }
    }
    for (const std::size_t which : {2U, 3U})  // nobody of batch row 1 looks at keys or values
      for (std::size_t i = got[which].size() / 2; i < got[which].size(); ++i)
        if (got[which][i] != 0) FAIL(which << " at " << i);
    const PartialAttention part = attend_partial(x[0], x[1], x[2], options);
    CHECK(part.log_sum_exp.at({0, 1, 1}) == -kInf);
    CHECK(part.log_sum_exp.at({1, 1, 0}) == -kInf);
    CHECK(std::isfinite(part.log_sum_exp.at({0, 1, 2})));
    CHECK(attend(x[0], x[1], x[2], {.mask = options.mask, .sink = true}).at({1, 0, 5, 0}) == 0);
    CHECK(attend_partial(x[0], x[1], x[2], {.mask = options.mask, .sink = true}).log_sum_exp.at({1, 0, 5}) ==
          0);
  }
}

TEST_CASE("no heads of queries over keys that all heads share: gradients are 0") {
  const Tensor query = variable(zeros({2, 0, 3, 16})), key = variable(random_normal({2, 1, 3, 16}, 1));
  { const Tensor filled = full({2, 1, 3, 16}, 7); }  // what stands in the memory that comes next
  Tape tape;
  tape.backward(sum(attend(query, key, key)));
  CHECK(key.grad().to_vector() == std::vector<double>(96, 0));
}

TEST_CASE("what stands at keys and values that nobody sees touches nothing, forward or backward") {
  // Of each group of two heads, both look away; key 99 is seen by one head, so it counts.
  const auto may = [](QueryKey p) { return p.j % 7 != 3 && p.j < 100 - 40 * p.b && (p.j != 99 || p.h == 0); };
  const auto unseen = [&](Size b, Size, Size j) { return !may(QueryKey{b, 0, 0, j}); };
  for (const bool shared : {false, true})
    for (const double poison : {kNaN, kInf, -kInf, 1e300})
      for (const DType dtype : {DType::f64, DType::f32}) {
        CAPTURE(shared, poison, name_of(dtype));
        const Size heads = shared ? 1 : 2;
        std::vector<Tensor> x = inputs_of({2, 2, 60, 5}, {2, heads, 110, 5}, {2, heads, 110, 4}, dtype);
        const auto hides = [&](Size b, Size h, Size j) {
          return shared ? unseen(b, h, j) : !may(QueryKey{b, h, 0, j});
        };
        const AttendOptions options{.mask = BlockMask::where(60, 110, may, 2, 2)};
        const Results clean = run(tiled(options), x);
        if (dtype == DType::f64) check_near(clean, run(by_ops(options), x), 1e-12);
        x[1] = filled(x[1], poison, hides), x[2] = filled(x[2], poison, hides);
        const Results poisoned = run(tiled(options), x);
        check_same(poisoned, clean);
        for (const std::size_t which : {2U, 3U}) {
          const Tensor d = tensor(poisoned[which], x[which - 1].shape(), DType::f64);
          const Tensor rest = filled(d, 0, [&](Size b, Size h, Size j) { return !hides(b, h, j); });
          check_same({rest.to_vector()}, {std::vector<double>(poisoned[which].size(), 0.0)});
        }
        if (!shared && dtype == DType::f64) check_near(run(by_ops(options), x), clean, 1e-12);
      }
}

TEST_CASE("infinite and NaN scores behave as softmax does") {
  const std::vector<Tensor> x = inputs_of({60, 1}, {110, 1}, {110, 3}, DType::f64);
  const auto with_key = [&](double key, double query) {
    return std::vector<Tensor>{
        filled(reshape(full({60, 1}, query, DType::f64), {1, 1, 60, 1}), query,
               [](Size, Size, Size) { return false; }),
        filled(reshape(x[1], {1, 1, 110, 1}), key, [](Size, Size, Size j) { return j == 100; }),
        reshape(x[2], {1, 1, 110, 3})};
  };
  // −∞: as if the key were hidden.
  const AttendOptions hidden{.mask = BlockMask::where(60, 110, [](QueryKey p) { return p.j != 100; })};
  check_near({attend(with_key(-kInf, 1)[0], with_key(-kInf, 1)[1], with_key(-kInf, 1)[2]).to_vector()},
             {run(tiled(hidden), with_key(0, 1))[0]}, 1e-12);
  // +∞ and NaN: no number, in exactly the rows that see it.
  for (const double key : {kInf, kNaN}) {
    const std::vector<Tensor> bad = with_key(key, 1);
    const Tensor y =
        attend(bad[0], bad[1], bad[2],
               {.mask = BlockMask::where(60, 110, [](QueryKey p) { return p.j != 100 || p.i == 50; })});
    CHECK(std::isnan(y.at({0, 0, 50, 0})));
    for (const Size i : {0, 49, 51, 59}) CHECK(std::isfinite(y.at({0, 0, i, 2})));
  }
  // A gradient that is no number, of a query with nothing to attend to, reaches neither queries nor keys.
  const Tensor dy =
      filled(random_normal({1, 1, 60, 3}, 4, DType::f64), kNaN, [](Size, Size, Size i) { return i == 50; });
  const Results blind = run(tiled({.mask = BlockMask::where(60, 110, [](QueryKey p) { return p.i != 50; })}),
                            with_key(1, 1), dy);
  for (const std::size_t which : {1U, 2U})
    for (const double value : blind[which])
      if (!std::isfinite(value)) FAIL("result " << which << " has " << value);
}

TEST_CASE("the same bits on any number of threads") {
  const int before = simd::thread_count();
  struct PutBack {
    int threads;
    ~PutBack() { simd::set_thread_count(threads); }
  } const put_back{before};
  for (const auto& [q, k] : std::vector<std::pair<Dims, Dims>>{{{1, 1, 500, 16}, {1, 1, 700, 16}},
                                                               {{3, 2, 2, 70, 12}, {3, 2, 1, 210, 12}},
                                                               {{5, 2, 90, 16}, {5, 2, 90, 16}}})
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Dims query = q, key = k;
      const AttendOptions options{.mask = BlockMask::causal(query[query.rank() - 2], key[key.rank() - 2])};
      const auto on = [&](int threads) {
        simd::set_thread_count(threads);
        return run(tiled(options), inputs_of(query, key, key, dtype));
      };
      const Results one = on(1);
      check_same(on(2), one);
      check_same(on(3), one);
    }
}

TEST_CASE("attention to parts of the keys merges to attention to all") {
  const Size queries = 60, keys = 130;
  // Query 7 has pairs in no part, query 8 only in the last.
  const auto may = [](QueryKey p) { return p.i != 7 && (p.i != 8 || p.j >= 90) && (p.i + p.j) % 3 != 0; };
  for (const std::vector<Size>& cuts :
       {std::vector<Size>{0, 130}, {0, 50, 130}, {0, 40, 90, 130}, {0, 0, 1, 130}}) {
    CAPTURE(cuts.size(), cuts[1]);
    for (const bool sink : {false, true}) {
      const auto whole = [&](const std::vector<Tensor>& x, bool merged) {
        std::vector<PartialAttention> parts;
        for (std::size_t c = 0; merged && c + 1 < cuts.size(); ++c) {
          const Size first = cuts[c], n = cuts[c + 1] - first;
          const AttendOptions options{
              .mask = BlockMask::where(queries, n,
                                       [&](QueryKey p) {
                                         return may(QueryKey{p.b, p.h, p.i, p.j + first});
                                       }),
              .sink = sink && c == 0};
          parts.push_back(attend_partial(x[0], slice(x[1], -2, first, first + n),
                                         slice(x[2], -2, first, first + n), options));
        }
        const PartialAttention all =
            merged ? merge(parts)
                   : attend_partial(x[0], x[1], x[2],
                                    {.mask = BlockMask::where(queries, keys, may), .sink = sink});
        // Gradients flow through both results; where there are no pairs, the sum is left out.
        const Mask seen = Mask::from(queries, 1, [&](Size i, Size) { return i != 7 || sink; });
        return concat({all.context, where(seen, unsqueeze(all.log_sum_exp, -1), scalar(0, x[0].dtype()))},
                      -1);
      };
      const std::vector<Tensor> x = inputs_of({2, queries, 4}, {2, keys, 4}, {2, keys, 3}, DType::f64);
      const Results want = run([&](const auto& t) { return whole(t, false); }, x);
      check_near(run([&](const auto& t) { return whole(t, true); }, x), want, 1e-12);
      check_near(run([&](const auto& t) { return whole(t, true); },
                     inputs_of({2, queries, 4}, {2, keys, 4}, {2, keys, 3}, DType::f32)),
                 want, 1e-5);
    }
  }
}

TEST_CASE("merging: nothing to merge, nothing in a part") {
  CHECK_THROWS_WITH(merge({}), ContainsSubstring("[merge] parts must not be empty"));
  const std::vector<Tensor> x = inputs_of({2, 3, 4}, {2, 0, 4}, {2, 0, 5}, DType::f64);
  const PartialAttention none = attend_partial(x[0], x[1], x[2]);
  const std::array<PartialAttention, 2> parts{none, none};
  const PartialAttention both = merge(parts);
  CHECK(both.context.to_vector() == std::vector<double>(30, 0.0));
  CHECK(both.log_sum_exp.to_vector() == std::vector<double>(6, -kInf));
}

TEST_CASE("a query with nothing to attend to is an error in strict mode") {
  const std::vector<Tensor> x = inputs_of({2, 3, 60, 4}, {2, 3, 5, 4}, {2, 3, 5, 4}, DType::f32);
  const auto may = [](QueryKey p) { return p.b == 0 || p.h != 1 || p.i != 50; };
  const AttendOptions options{.mask = BlockMask::where(60, 5, may, 2, 3), .strict = true};
  CHECK_THROWS_WITH(attend(x[0], x[1], x[2], options),
                    ContainsSubstring("mask must leave query 50 of batch row 1, head 1 at least one key; "
                                      "unmask a key or turn strict off") &&
                        ContainsSubstring("attend_test.cpp:"));
  CHECK_THROWS_AS(attend_partial(x[0], x[1], x[2], options), Error);
  CHECK_NOTHROW(attend(x[0], x[1], x[2], {.mask = BlockMask::window(60, 5, 59, 59), .strict = true}));
  CHECK_NOTHROW(attend(x[0], x[1], x[2], {.strict = true}));
  const std::vector<Tensor> keyless = inputs_of({2, 3, 60, 4}, {2, 3, 0, 4}, {2, 3, 0, 4}, DType::f32);
  CHECK_THROWS_WITH(attend(keyless[0], keyless[1], keyless[2], {.strict = true}),
                    ContainsSubstring("key (2,3,0,4) must have rows"));
}

TEST_CASE("masks that do not fit, with what was expected") {
  const std::vector<Tensor> x = inputs_of({2, 3, 6, 4}, {2, 3, 5, 4}, {2, 3, 5, 4}, DType::f32);
  const auto any = [](QueryKey) { return true; };
  for (const BlockMask& mask : {BlockMask::causal(6, 6), BlockMask::causal(5, 5),
                                BlockMask::where(6, 5, any, 3), BlockMask::where(6, 5, any, 2, 2)})
    CHECK_THROWS_WITH(attend(x[0], x[1], x[2], {.mask = mask}),
                      ContainsSubstring("must fit batch 2, 3 heads, 6 queries and 5 keys;") &&
                          ContainsSubstring("attend_test.cpp:"));
  CHECK_THROWS_WITH(attend_by_ops(x[0], x[1], x[2], {.mask = BlockMask::causal(6, 6)}),
                    ContainsSubstring("must fit"));
  CHECK_NOTHROW(attend(x[0], x[1], x[2], {.mask = BlockMask::where(6, 5, any, 2, 3)}));
}

TEST_CASE("the result of interleaved heads is interleaved, so that joining them is a view") {
  const Tensor flat = random_normal({2, 50, 12}, 1);
  const Tensor q = permute(reshape(flat, {2, 50, 3, 4}), {0, 2, 1, 3});
  const Tensor joined = permute(attend(q, q, q), {0, 2, 1, 3});
  CHECK(joined.is_contiguous());
}
