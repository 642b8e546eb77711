// What dropout draws, held by counting and by hand: no number here comes from dropout itself.
#include <cmath>
#include <string>
#include <vector>

#include "core/ops/dropout.hpp"
#include "core/ops/views.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/random.hpp"
#include "tests/catch.hpp"

using namespace tapestry;

namespace {

using Kept = std::vector<bool>;

/// Which of n elements a call keeps, at the place where the random state stands.
Kept draw(Size n, double rate) {
  Kept kept;
  for (const double value : dropout(ones({n}), rate).to_vector()) kept.push_back(value != 0);
  return kept;
}

Kept draw(Size n, double rate, std::uint64_t seed, std::uint64_t step) {
  set_random(seed, step);
  return draw(n, rate);
}

double share(const Kept& kept, std::size_t first = 0, std::size_t stride = 1) {
  double count = 0, all = 0;
  for (std::size_t i = first; i < kept.size(); i += stride, ++all) count += kept[i];
  return count / all;
}

/// The share of places where two draws agree; p² + q² if they have nothing to do with each other.
double agreement(const Kept& a, const Kept& b, std::size_t shift = 0) {
  double same = 0;
  for (std::size_t i = 0; i + shift < a.size(); ++i) same += a[i] == b[i + shift];
  return same / static_cast<double>(a.size() - shift);
}

/// Five standard deviations of a share of n coins with probability p.
double bound(double p, double n) { return 5 * std::sqrt(p * (1 - p) / n); }

}  // namespace

TEST_CASE("dropout keeps its share everywhere: over all, in every part, at every place of a vector") {
  constexpr Size kCount = 200'000;
  for (const double rate : {0.1, 0.5, 0.9}) {
    CAPTURE(rate);
    const Kept kept = draw(kCount, rate, 7, 1);
    CHECK(std::abs(share(kept) - (1 - rate)) < bound(rate, kCount));
    for (std::size_t part = 0; part < 10; ++part) {
      const auto first = kept.begin() + static_cast<std::ptrdiff_t>(part) * (kCount / 10);
      CHECK(std::abs(share(Kept(first, first + kCount / 10)) - (1 - rate)) < bound(rate, kCount / 10));
    }
    for (std::size_t lane = 0; lane < 16; ++lane)
      CHECK(std::abs(share(kept, lane, 16) - (1 - rate)) < bound(rate, kCount / 16));
  }
}

TEST_CASE("what dropout keeps it multiplies by 1 / (1 − rate), gradients by the same") {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const double rate : {0.1, 0.5, 0.875}) {
      CAPTURE(rate, dtype == DType::f64);
      const Tensor x = variable(random_normal({33, 47}, 2, dtype)), dy = random_normal({33, 47}, 3, dtype);
      set_random(7, 2);
      Tape tape;
      const Tensor y = dropout(x, rate);
      const auto out = y.detach().to_vector(), in = x.to_vector(), cotangent = dy.to_vector();
      tape.backward(y, dy);
      const auto gradient = x.grad().to_vector();
      const double digits = dtype == DType::f64 ? 1e-15 : 2e-7;
      Size kept = 0;
      for (std::size_t i = 0; i < in.size(); ++i) {
        if (out[i] == 0) {
          REQUIRE(gradient[i] == 0);
          continue;
        }
        ++kept;
        REQUIRE(out[i] == Approx(in[i] / (1 - rate)).epsilon(digits).margin(0));
        REQUIRE(gradient[i] == Approx(cotangent[i] / (1 - rate)).epsilon(digits).margin(0));
      }
      CHECK(std::abs(static_cast<double>(kept) / static_cast<double>(in.size()) - (1 - rate)) <
            bound(rate, static_cast<double>(in.size())));
    }
}

TEST_CASE("what dropout keeps does not depend on how x and its gradient lie in memory") {
  set_random(7, 3);
  const auto wanted = dropout(ones({24, 35}), 0.4).to_vector();
  const auto same = [&](const Tensor& x) {
    set_random(7, 3);
    const auto found = dropout(x, 0.4).to_vector();
    REQUIRE(found.size() == wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) REQUIRE((found[i] == 0) == (wanted[i] == 0));
  };
  same(ones({35, 24}, DType::f64));          // another shape
  same(transpose(ones({35, 24})));           // columns
  same(expand(ones({1, 35}), {24, 35}));     // one row, again and again
  same(slice(ones({24, 40}), 1, 3, 38));     // a part, off its alignment
  same(slice(ones({48, 35}), 0, 0, 48, 2));  // every second row
  const Tensor x = variable(ones({24, 35}, DType::f64));
  for (const bool strided : {false, true}) {
    x.clear_grad();
    set_random(7, 3);
    Tape tape;
    const Tensor y = dropout(x, 0.4);
    tape.backward(y, strided ? transpose(ones({35, 24}, DType::f64)) : ones({24, 35}, DType::f64));
    const auto gradient = x.grad().to_vector();
    for (std::size_t i = 0; i < gradient.size(); ++i) REQUIRE((gradient[i] == 0) == (wanted[i] == 0));
  }
}

TEST_CASE("other places, steps, seeds and calls drop other elements") {
  constexpr Size kCount = 100'000;
  constexpr double kRate = 0.5;
  const double off = bound(0.5, kCount);
  const Kept kept = draw(kCount, kRate, 7, 4);
  const Kept next_call = draw(kCount, kRate);
  CHECK(std::abs(agreement(kept, next_call) - 0.5) < off);
  CHECK(std::abs(agreement(kept, draw(kCount, kRate, 7, 5)) - 0.5) < off);
  CHECK(std::abs(agreement(kept, draw(kCount, kRate, 8, 4)) - 0.5) < off);
  CHECK(agreement(kept, draw(kCount, kRate, 7, 4)) == 1);
  // The mask does not come again further on, at the sizes of blocks, pages and rows.
  for (const std::size_t shift :
       {1U, 2U, 4U, 8U, 16U, 32U, 64U, 256U, 1024U, 4096U, 8192U, 16384U, 32768U, 65536U}) {
    CAPTURE(shift);
    const double n = static_cast<double>(kCount) - static_cast<double>(shift);
    CHECK(std::abs(agreement(kept, kept, shift) - 0.5) < bound(0.5, n));
  }
}

TEST_CASE("dropout keeps its share, scales it, and draws the same in both types") {
  set_random(3, 8);
  const auto kept = dropout(ones({20000}), 0.3).to_vector();
  CHECK(random_state().site == 1);
  double count = 0;
  for (double v : kept) {
    if (v == 0) continue;
    REQUIRE(v == Approx(1 / 0.7));
    ++count;
  }
  CHECK(count / 20000 == Approx(0.7).margin(0.015));
  const auto second = dropout(ones({20000}), 0.3).to_vector();
  CHECK(second != kept);  // the next site
  set_random(3, 8);
  const auto wide = dropout(ones({20000}, DType::f64), 0.3).to_vector();
  for (std::size_t i = 0; i < kept.size(); ++i) REQUIRE((wide[i] == 0) == (kept[i] == 0));
  set_random(3, 9);
  CHECK(dropout(ones({20000}), 0.3).to_vector() != kept);  // the next step
  CHECK(dropout(ones({5}), 0).to_vector() == std::vector<double>(5, 1));
}

TEST_CASE("each call of next_stream() returns another stream, and a seed and step reproduce all of them") {
  set_random(3, 8);
  const Stream first = next_stream(), second = next_stream();
  CHECK(random_state().site == 2);
  CHECK(first.bits(0) != second.bits(0));
  set_random(3, 9);
  CHECK(next_stream().bits(0) != first.bits(0));
  set_random(4, 8);
  CHECK(next_stream().bits(0) != first.bits(0));
  set_random(3, 8);
  CHECK(next_stream().bits(0) == first.bits(0));
  // Checkpoints rely on it: what a seed and a step keep may not change from one version to the next.
  set_random(3, 8);
  std::string kept;
  for (const double v : dropout(ones({16}), 0.5).to_vector()) kept += v != 0 ? '1' : '0';
  CHECK(kept == "1100010111111010");
}
