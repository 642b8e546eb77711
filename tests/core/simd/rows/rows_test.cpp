// The fused row kernels against plain f64 formulas: all tail lengths, row strides, masks with poison behind
// them, empty and infinite rows; gradients against f64 formulas too; the same bits for any number of threads.
#include "core/simd/rows/rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "core/simd/runtime/threads.hpp"
#include "tests/catch.hpp"

using namespace tapestry;
using namespace tapestry::simd;

namespace {

const std::vector<Size>& widths() {
  static const std::vector<Size> all = [] {
    std::vector<Size> w;
    for (Size n = 1; n < 40; ++n) w.push_back(n);
    for (const Size n : {63, 64, 65, 130, 1023, 2049, 3000}) w.push_back(n);
    return w;
  }();
  return all;
}

/// A matrix with some elements between its rows.
template <class T>
struct Matrix {
  Matrix(Size rows_in, Size columns_in, double value = 0)
      : rows(rows_in),
        columns(columns_in),
        stride(columns_in + 3),
        memory(static_cast<std::size_t>(rows * stride), static_cast<T>(value)) {}
  void randomise(std::mt19937& random, double spread) {
    std::normal_distribution<double> normal(0, spread);
    for (auto& v : memory) v = static_cast<T>(normal(random));
  }
  T& operator()(Size r, Size c) { return memory[static_cast<std::size_t>(r * stride + c)]; }
  double get(Size r, Size c) const {
    return static_cast<double>(memory[static_cast<std::size_t>(r * stride + c)]);
  }
  Rows<T> view() { return {memory.data(), rows, columns, stride}; }
  Rows<const T> view() const { return {memory.data(), rows, columns, stride}; }

  Size rows, columns, stride;
  std::vector<T> memory;
};

template <class T>
double tolerance() {
  return sizeof(T) == 4 ? 4e-6 : 1e-14;
}

/// Softmax of row r over the places where `may` holds, in f64.
template <class T, class May>
std::vector<double> softmax_reference(const Matrix<T>& x, Size r, const May& may) {
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (Size c = 0; c < x.columns; ++c)
    if (may(c)) top = std::max(top, x.get(r, c));
  std::vector<double> y(static_cast<std::size_t>(x.columns), 0.0);
  for (Size c = 0; c < x.columns; ++c)
    if (may(c)) sum += y[static_cast<std::size_t>(c)] = std::exp(x.get(r, c) - top);
  for (auto& v : y) v = sum > 0 ? v / sum : 0;
  return y;
}

template <class T>
void require_close(double got, double want, double scale = 1) {
  if (std::fabs(got - want) > tolerance<T>() * std::max({scale, std::fabs(want)})) {
    INFO("got " << got << " want " << want);
    FAIL();
  }
}

}  // namespace

TEMPLATE_TEST_CASE("softmax, log-softmax, log-sum-exp: values and gradients", "[simd][rows]", float, double) {
  using T = TestType;
  std::mt19937 random(1);
  for (const Size n : widths()) {
    Matrix<T> x(3, n), dy(3, n), y(3, n, -7), dx(3, n, -7), log_y(3, n), log_dx(3, n);
    x.randomise(random, 5);
    dy.randomise(random, 1);
    for (Size c = 0; c < n; ++c) x(1, c) += T(1000);  // would overflow
    softmax<T>(y.view(), x.view());
    softmax_backward<T>(dx.view(), y.view(), dy.view());
    log_softmax<T>(log_y.view(), x.view());
    log_softmax_backward<T>(log_dx.view(), log_y.view(), dy.view());
    std::vector<T> lse(3);
    logsumexp<T>(lse.data(), x.view());
    for (Size r = 0; r < 3; ++r) {
      const auto want = softmax_reference(x, r, [](Size) { return true; });
      double dot = 0, total = 0, sum = 0, size = 0;
      for (Size c = 0; c < n; ++c) {
        dot += want[static_cast<std::size_t>(c)] * dy.get(r, c);
        total += dy.get(r, c);
        size += std::fabs(dy.get(r, c));
        sum += std::exp(x.get(r, c) - x.get(r, 0));
      }
      require_close<T>(static_cast<double>(lse[static_cast<std::size_t>(r)]), x.get(r, 0) + std::log(sum));
      for (Size c = 0; c < n; ++c) {
        const double p = want[static_cast<std::size_t>(c)];
        require_close<T>(y.get(r, c), p, 0.01);
        require_close<T>(dx.get(r, c), p * (dy.get(r, c) - dot));
        require_close<T>(log_y.get(r, c), std::log(p), 10);
        require_close<T>(log_dx.get(r, c), dy.get(r, c) - p * total, size);
      }
      REQUIRE(y.memory[static_cast<std::size_t>(r * y.stride + n)] == T(-7));  // between the rows
      REQUIRE(dx.memory[static_cast<std::size_t>(r * dx.stride + n)] == T(-7));
    }
    Matrix<T> in_place = x;
    softmax<T>(in_place.view(), std::as_const(in_place).view());
    for (Size r = 0; r < 3; ++r)
      for (Size c = 0; c < n; ++c) REQUIRE(in_place(r, c) == y(r, c));
  }
}

TEMPLATE_TEST_CASE("masked softmax: poison behind the mask changes nothing", "[simd][rows]", float, double) {
  using T = TestType;
  const T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
  std::mt19937 random(2);
  for (const Size n : widths()) {
    const Size batch = 2, queries = 3, rows = batch * queries;
    Matrix<T> x(rows, n), y(rows, n, -7), clean(rows, n);
    x.randomise(random, 3);
    // One mask row a batch item, shared by its queries; stride 2 between its keys in the second round.
    for (const Size step : {1, 2}) {
      const std::unique_ptr<bool[]> bits(new bool[static_cast<std::size_t>(batch * n * step)]);
      for (Size i = 0; i < batch * n * step; ++i) bits[static_cast<std::size_t>(i)] = random() % 3 != 0;
      for (Size c = 0; c < n; ++c) bits[static_cast<std::size_t>((n + c) * step)] = n > 20 && c == n - 1;
      const View<const bool> mask{bits.get(), {batch, queries, n}, {n * step, 0, step}};
      const auto may = [&](Size r, Size c) {
        return bits[static_cast<std::size_t>((r / queries * n + c) * step)];
      };
      Matrix<T> poisoned = x;
      for (Size r = 0; r < rows; ++r)
        for (Size c = 0; c < n; ++c)
          if (!may(r, c)) poisoned(r, c) = c % 3 == 0 ? nan : c % 3 == 1 ? inf : -inf;
      masked_softmax<T>(y.view(), poisoned.view(), mask);
      for (Size r = 0; r < rows; ++r) {
        const auto want = softmax_reference(x, r, [&](Size c) { return may(r, c); });
        for (Size c = 0; c < n; ++c) {
          require_close<T>(y.get(r, c), want[static_cast<std::size_t>(c)]);
          if (!may(r, c)) REQUIRE(y.get(r, c) == 0);
        }
      }
      Matrix<T> dy(rows, n), dx(rows, n), dx_clean(rows, n);
      dy.randomise(random, 1);
      softmax_backward<T>(dx_clean.view(), y.view(), dy.view());
      for (Size r = 0; r < rows; ++r)
        for (Size c = 0; c < n; ++c)
          if (!may(r, c)) dy(r, c) = nan;
      softmax_backward<T>(dx.view(), y.view(), dy.view());
      for (Size r = 0; r < rows; ++r)
        for (Size c = 0; c < n; ++c) REQUIRE(dx(r, c) == dx_clean(r, c));
    }
  }
  // A mask for all rows with no axes but the last, and one value for everything.
  Matrix<T> x(4, 9), y(4, 9);
  const bool yes = true, no = false;
  masked_softmax<T>(y.view(), x.view(), {&yes, {4, 9}, {0, 0}});
  CHECK(y.get(3, 8) == Approx(1.0 / 9));
  masked_softmax<T>(y.view(), x.view(), {&no, {4, 9}, {0, 0}});
  CHECK(y.get(3, 8) == 0);
  x(0, 0) = nan;
  masked_softmax<T>(y.view(), x.view(), {&yes, {4, 9}, {0, 0}});
  CHECK(std::isnan(y.get(0, 5)));
}

TEMPLATE_TEST_CASE("masked softmax: a NaN that is allowed reaches the allowed, and nothing else",
                   "[simd][rows]", float, double) {
  using T = TestType;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const Size n : widths()) {
    if (n < 3) continue;
    const std::unique_ptr<bool[]> may(new bool[static_cast<std::size_t>(n)]);
    for (Size c = 0; c < n; ++c) may[static_cast<std::size_t>(c)] = c % 2 == 0;
    for (const Size at : {Size{0}, (n - 1) / 2 * 2}) {
      Matrix<T> x(1, n, T(1)), y(1, n, T(-7));
      x(0, at) = nan;
      masked_softmax<T>(y.view(), x.view(), {may.get(), {1, n}, {0, 1}});
      for (Size c = 0; c < n; ++c) REQUIRE((c % 2 == 0 ? std::isnan(y.get(0, c)) : y.get(0, c) == 0));
    }
  }
}

TEMPLATE_TEST_CASE("log-sum-exp: infinite and empty rows", "[simd][rows]", float, double) {
  using T = TestType;
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T x[] = {-inf, -inf, -inf, 1, inf, 2, 3, nan, 4, -inf, 5, -inf};
  T out[4];
  logsumexp<T>(out, {x, 4, 3, 3});
  CHECK(out[0] == -inf);
  CHECK(out[1] == inf);
  CHECK(std::isnan(out[2]));
  CHECK(out[3] == 5);
  logsumexp<T>(out, {x, 2, 0, 0});
  CHECK(out[1] == -inf);
}

TEMPLATE_TEST_CASE("layer norm: values and gradients", "[simd][rows]", float, double) {
  using T = TestType;
  std::mt19937 random(3);
  for (const Size n : widths())
    for (const bool affine : {true, false}) {
      const Size rows = n % 7 == 0 ? 133 : 5;
      const double epsilon = 1e-5;
      Matrix<T> x(rows, n), dy(rows, n), y(rows, n, -7), dx(rows, n, -7), weight(1, n), bias(1, n);
      x.randomise(random, 2);
      for (Size c = 0; c < n; ++c) x(0, c) += T(100);
      dy.randomise(random, 1);
      weight.randomise(random, 1);
      bias.randomise(random, 1);
      const T* g = affine ? weight.memory.data() : nullptr;
      const auto width = static_cast<std::size_t>(n);
      std::vector<T> mean(static_cast<std::size_t>(rows)), inverse_std(mean.size()), dweight(width),
          dbias(width);
      layer_norm<T>(y.view(), mean.data(), inverse_std.data(), x.view(), g,
                    affine ? bias.memory.data() : nullptr, T(epsilon));
      layer_norm_backward<T>(dx.view(), dweight.data(), dbias.data(), dy.view(), x.view(), mean.data(),
                             inverse_std.data(), g);
      std::vector<double> want_weight(width, 0.0), want_bias(width, 0.0);
      for (Size r = 0; r < rows; ++r) {
        double centre = 0, variance = 0, mean_g = 0, mean_gx = 0;
        for (Size c = 0; c < n; ++c) centre += x.get(r, c) / static_cast<double>(n);
        for (Size c = 0; c < n; ++c) variance += std::pow(x.get(r, c) - centre, 2) / static_cast<double>(n);
        const double factor = 1 / std::sqrt(variance + epsilon);
        const auto scale_at = [&](Size c) { return affine ? weight.get(0, c) : 1; };
        const auto normal = [&](Size c) { return (x.get(r, c) - centre) * factor; };
        for (Size c = 0; c < n; ++c) {
          mean_g += dy.get(r, c) * scale_at(c) / static_cast<double>(n);
          mean_gx += dy.get(r, c) * scale_at(c) * normal(c) / static_cast<double>(n);
          want_weight[static_cast<std::size_t>(c)] += dy.get(r, c) * normal(c);
          want_bias[static_cast<std::size_t>(c)] += dy.get(r, c);
        }
        // Row 0 sits at 100 with a spread of 2: its inputs have lost digits, and the narrow rows divide by a
        // small spread.
        const double scale = (r == 0 ? 200 : 5) * std::max(1.0, factor);
        for (Size c = 0; c < n; ++c) {
          require_close<T>(y.get(r, c), normal(c) * scale_at(c) + (affine ? bias.get(0, c) : 0), scale);
          require_close<T>(dx.get(r, c), factor * (dy.get(r, c) * scale_at(c) - mean_g - normal(c) * mean_gx),
                           scale * std::max(1.0, factor));
        }
        REQUIRE(y.memory[static_cast<std::size_t>(r * y.stride + n)] == T(-7));
      }
      for (std::size_t c = 0; c < width; ++c) {
        require_close<T>(static_cast<double>(dweight[c]), want_weight[c], 400);
        require_close<T>(static_cast<double>(dbias[c]), want_bias[c], 20);
      }
    }
}

TEMPLATE_TEST_CASE("layer norm: weight and bias get their sums from more groups of rows than are kept",
                   "[simd][rows]", float, double) {
  using T = TestType;
  const Size rows = 1237, n = 1030;
  std::mt19937 random(7);
  Matrix<T> x(rows, n), dy(rows, n), y(rows, n), dx(rows, n);
  x.randomise(random, 1);
  dy.randomise(random, 1);
  const auto width = static_cast<std::size_t>(n), height = static_cast<std::size_t>(rows);
  std::vector<T> weight(width, T(1.5)), mean(height), inverse_std(height), dweight(width), dbias(width);
  layer_norm<T>(y.view(), mean.data(), inverse_std.data(), x.view(), weight.data(), nullptr, T(1e-5));
  layer_norm_backward<T>(dx.view(), dweight.data(), dbias.data(), dy.view(), x.view(), mean.data(),
                         inverse_std.data(), weight.data());
  std::vector<double> want_weight(width, 0.0), want_bias(width, 0.0);
  for (Size r = 0; r < rows; ++r) {
    double centre = 0, variance = 0;
    for (Size c = 0; c < n; ++c) centre += x.get(r, c) / static_cast<double>(n);
    for (Size c = 0; c < n; ++c)
      variance += (x.get(r, c) - centre) * (x.get(r, c) - centre) / static_cast<double>(n);
    for (Size c = 0; c < n; ++c) {
      want_weight[static_cast<std::size_t>(c)] +=
          dy.get(r, c) * (x.get(r, c) - centre) / std::sqrt(variance + 1e-5);
      want_bias[static_cast<std::size_t>(c)] += dy.get(r, c);
    }
  }
  for (std::size_t c = 0; c < width; ++c) {
    require_close<T>(static_cast<double>(dweight[c]), want_weight[c], 100);
    require_close<T>(static_cast<double>(dbias[c]), want_bias[c], 100);
  }
}

TEMPLATE_TEST_CASE("cross-entropy: smoothing, ignored targets, large logits", "[simd][rows]", float, double) {
  using T = TestType;
  std::mt19937 random(4);
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const Size n : widths())
    for (const double smoothing : {0.0, 0.1}) {
      const Size rows = 4;
      Matrix<T> x(rows, n), dx(rows, n, -7);
      x.randomise(random, 4);
      for (Size c = 0; c < n; ++c) {
        x(1, c) += T(500);
        x(2, c) = nan;                         // ignored
        x(3, c) += static_cast<T>(c) / T(16);  // the maximum keeps rising
      }
      const std::int64_t ids[] = {static_cast<std::int64_t>(random() % static_cast<unsigned>(n)), n - 1, -100,
                                  0};
      const Targets targets{ids, -100, smoothing};
      std::vector<T> loss(4), alone(4);
      cross_entropy<T>(loss.data(), dx.view(), x.view(), targets, T(-2));
      cross_entropy<T>(alone.data(), {}, x.view(), targets, T(-2));
      REQUIRE(alone == loss);
      for (Size r = 0; r < rows; ++r) {
        const auto i = static_cast<std::size_t>(r);
        if (r == 2) {
          REQUIRE(loss[i] == 0);
          for (Size c = 0; c < n; ++c) REQUIRE(dx(r, c) == 0);
          continue;
        }
        const auto p = softmax_reference(x, r, [](Size) { return true; });
        double top = x.get(r, 0), sum = 0, want = 0;
        for (Size c = 0; c < n; ++c) top = std::max(top, x.get(r, c));
        for (Size c = 0; c < n; ++c) sum += std::exp(x.get(r, c) - top);
        const double row_lse = top + std::log(sum);
        for (Size c = 0; c < n; ++c) {
          const double q = (c == ids[r] ? 1 - smoothing : 0) + smoothing / static_cast<double>(n);
          want -= q * (x.get(r, c) - row_lse);
          require_close<T>(dx.get(r, c), -2 * (p[static_cast<std::size_t>(c)] - q));
        }
        require_close<T>(static_cast<double>(loss[i]), want, r == 1 ? 500 : 10);
        REQUIRE(dx.memory[static_cast<std::size_t>(r * dx.stride + n)] == T(-7));
      }
    }
}

TEST_CASE("row kernels: the same bits for any number of threads", "[simd][rows][threads]") {
  const Size rows = 1000, n = 300;
  std::mt19937 random(6);
  Matrix<float> x(rows, n), dy(rows, n);
  x.randomise(random, 2);
  dy.randomise(random, 1);
  std::vector<float> weight(300, 1.5F);
  std::vector<std::int64_t> ids(1000, 7);
  const int threads = thread_count();
  std::vector<std::vector<float>> results;
  for (const int count : {1, 2, 4}) {
    set_thread_count(count);
    Matrix<float> y(rows, n), dx(rows, n), z(rows, n), dz(rows, n), dlogits(rows, n);
    std::vector<float> mean(1000), inverse_std(1000), sums(600), loss(1000);
    softmax<float>(y.view(), x.view());
    softmax_backward<float>(dx.view(), y.view(), dy.view());
    layer_norm<float>(z.view(), mean.data(), inverse_std.data(), x.view(), weight.data(), nullptr, 1e-5F);
    layer_norm_backward<float>(dz.view(), sums.data(), sums.data() + 300, dy.view(), x.view(), mean.data(),
                               inverse_std.data(), weight.data());
    cross_entropy<float>(loss.data(), dlogits.view(), x.view(), {ids.data()}, 1.0F);
    std::vector<float> all;
    for (const auto* part : {&dx.memory, &z.memory, &dz.memory, &sums, &loss, &dlogits.memory})
      all.insert(all.end(), part->begin(), part->end());
    results.push_back(all);
  }
  set_thread_count(threads);
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}
