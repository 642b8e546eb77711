// Truth beyond every block, chunk, tile and part: the table's large samples against their plain references.
// Gradients are measured along random directions, on which each of their elements has its weight, by
// differences of the reference; so values and rules are both compared with plain loops, and not with each
// other or with another number of threads.
#include <algorithm>
#include <cmath>

#include "core/ops/arithmetic.hpp"
#include "core/ops/reduce.hpp"
#include "core/simd/runtime/threads.hpp"
#include "tests/catch.hpp"
#include "tests/core/ops/op_runs.hpp"
#include "tests/threads.hpp"

using namespace tapestry;
using namespace tapestry::table;
using test::Threads;

namespace {

constexpr double kStep = 1e-6;  // of the differences
constexpr double kSlopeTolerance =
    2e-5;  // relative to the gradient's length, of which one element in 10⁶ is a thousandth
constexpr double kF32Tolerance = 20;  // times a row's own: sums are longer

template <class F>
void each_large(const F& f) {
  for (const Row& row : rows())
    for (const Sample& sample : row.samples)
      if (is_large(sample)) f(row, sample);
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
double length(const std::vector<double>& a) { return std::sqrt(dot(a, a)); }

/// How fast ⟨weights, y⟩ grows from one end of two steps to the other: the ends are subtracted first, so that
/// long sums do not drown it in their rounding.
double slope_between(const std::vector<double>& weights, const std::vector<double>& before,
                     const std::vector<double>& after) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) sum += weights[i] * (after[i] - before[i]);
  return sum / (2 * kStep);
}

Plain moved(Plain x, const Plain& direction, double step) {
  for (std::size_t i = 0; i < x.v.size(); ++i) x.v[i] += step * direction.v[i];
  return x;
}

/// Requires of each gradient that it has the slope of ⟨dy, reference⟩ along a direction.
void require_slopes(const Sample& sample, const Results& results) {
  const Plain dy = cotangent(sample.reference(sample.inputs).shape);
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const Plain direction = noise(sample.inputs[i].shape, 200 + i);
    const auto at = [&](double step) {
      Plains inputs = sample.inputs;
      inputs[i] = moved(inputs[i], direction, step);
      return sample.reference(inputs).v;
    };
    const std::vector<double>& gradient = results[1 + i];
    const double slope = slope_between(dy.v, at(-kStep), at(kStep)), got = dot(gradient, direction.v);
    CAPTURE(i, slope, got, length(gradient));
    if (!sample.zero_gradient) REQUIRE(length(gradient) > 0);
    REQUIRE(std::abs(got - slope) <= kSlopeTolerance * length(gradient));
  }
}

/// ⟨u, gradients⟩ at some inputs, and its own gradients, from a derivative that is recorded.
struct Second {
  double value = 0;
  Results gradients;
};
Second second_of(const Sample& sample, const Plains& inputs, const Plains& u) {
  Tape tape;
  const Tensors xs = variables(tensors(inputs));
  const Tensor y = call(sample, xs);
  const auto first =
      tape.gradients(y, to_tensor(cotangent(y.shape())), xs, {.create_graph = true, .zero_if_unused = true});
  Second second;
  Tensor total;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Tensor term = sum(first[i] * to_tensor(u[i]));
    total = i == 0 ? term : total + term;
  }
  second.value = total.item();
  if (total.impl().node < 0) return second;
  for (const Tensor& g : tape.gradients(total, ones({}, DType::f64), xs, {.zero_if_unused = true}))
    second.gradients.push_back(g.to_vector());
  return second;
}

}  // namespace

TEST_CASE("large samples have the values and slopes of their plain references", "[unsanitized]") {
  std::size_t count = 0;
  each_large([&](const Row& row, const Sample& sample) {
    CAPTURE(row.name, sample.label);
    const Plain expected = sample.reference(sample.inputs);
    const Results results = results_of(sample, tensors(sample.inputs));
    require_near(results[0], expected.v, 1e-11);
    require_slopes(sample, results);
    ++count;
  });
  CHECK(count > 80);
}

TEST_CASE("every op that computes has a large sample") {
  for (const Row& row : rows()) {
    CAPTURE(row.name);
    CHECK(std::any_of(row.samples.begin(), row.samples.end(), is_large));
  }
}

TEST_CASE("large samples give the same in f32, with other strides and on three threads", "[threads]") {
  each_large([](const Row& row, const Sample& sample) {
    CAPTURE(row.name, sample.label);
    const Results dense = results_of(sample, tensors(sample.inputs));
    require_near(results_of(sample, tensors(sample.inputs, DType::f32)), dense,
                 kF32Tolerance * row.f32_tolerance);
    Tensors turned;
    for (const Plain& x : sample.inputs) turned.push_back(laid_out(x, Layout::reversed_axes, DType::f64));
    require_near(results_of(sample, turned, Layout::reversed_axes), dense, 1e-11);
    const Threads three(3);
    const bool same = results_of(sample, tensors(sample.inputs)) == dense;
    REQUIRE(same);
  });
}

TEST_CASE("second derivatives of large samples have the slopes of first ones", "[unsanitized]") {
  each_large([](const Row& row, const Sample& sample) {
    if (!row.twice) return;
    CAPTURE(row.name, sample.label);
    Plains u, direction;
    for (const Plain& x : sample.inputs) {
      u.push_back(noise(x.shape, 300 + u.size()));
      direction.push_back(noise(x.shape, 400 + direction.size()));
    }
    // First derivatives by the rules, which have been compared with the reference.
    const auto first_at = [&](double step) {
      Plains inputs;
      for (std::size_t i = 0; i < u.size(); ++i)
        inputs.push_back(moved(sample.inputs[i], direction[i], step));
      return results_of(sample, tensors(inputs));
    };
    const Second second = second_of(sample, sample.inputs, u);
    const Results here = first_at(0), before = first_at(-kStep), after = first_at(kStep);
    double value = 0, slope = 0, got = 0, size = 0, scale = 1;
    for (std::size_t i = 0; i < u.size(); ++i) {
      value += dot(u[i].v, here[1 + i]);
      slope += slope_between(u[i].v, before[1 + i], after[1 + i]);
      scale += length(here[1 + i]);
      if (second.gradients.empty()) continue;  // linear
      got += dot(second.gradients[i], direction[i].v);
      size += length(second.gradients[i]);
    }
    CAPTURE(value, second.value, slope, got, size);
    REQUIRE(std::abs(second.value - value) <= 1e-10 * scale);
    REQUIRE(std::abs(got - slope) <= kSlopeTolerance * size + 1e-9 * scale);
  });
}
