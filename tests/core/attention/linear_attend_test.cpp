// linear_attend()'s kernel at full size, values and gradients, against the recurrence and its adjoint in plain loops:
// lengths around its chunks, widths around registers, gates that shut, memory in any order, any number of threads.
#include "core/attention/linear_attend.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/core/attention/recurrence.hpp"
#include "tests/threads.hpp"

using namespace tapestry;
using namespace tapestry::recurrence;

namespace {

constexpr Size kChunk = 32;  // words of a chunk, where nothing is said
constexpr double kForgetsAll = -std::numeric_limits<double>::infinity();

constexpr double kF64 = 1e-12, kF32 = 1e-5;

}  // namespace

TEST_CASE("linear_attend has the values and gradients of its recurrence around every chunk", "[linear]") {
  for (int kind = 0; kind < 16; ++kind)
    for (const Size words : {Size{1}, kChunk - 1, kChunk, kChunk + 1, 3 * kChunk + 5}) {
      CAPTURE(kind, words);
      const Text x = draw(kind, 1, words, 7, 5);
      const Found expected = on_paper(x);
      check_near(by_kernel(x, DType::f64), expected, kF64);
      check_near(by_kernel(x, DType::f32), expected, kF32);
    }
}

TEST_CASE("linear_attend has the values and gradients of its recurrence at every width", "[linear]") {
  for (const int kind : {0, 7, 8, 15})
    for (const Size d : {1, 7, 64, 100})
      for (const Size e : {1, 9, 65}) {
        CAPTURE(kind, d, e);
        const Text x = draw(kind, 3, kChunk + 9, d, e);
        const Found expected = on_paper(x);
        check_near(by_kernel(x, DType::f64), expected, kF64);
        check_near(by_kernel(x, DType::f32), expected, kF32);
        check_near(by_kernel(x, DType::f64, 0, true), expected, kF64);
      }
}

TEST_CASE("linear_attend of a batch of none, and of no tokens", "[linear]") {
  for (const int kind : {0, 15}) {
    CHECK(by_kernel(draw(kind, 0, 70, 3, 4), DType::f32).output.empty());
    const Text none = draw(kind | 4, 2, 0, 3, 4);
    check_near(by_kernel(none, DType::f64), on_paper(none), 0);
  }
}

TEST_CASE("a word may forget all that was before it: ln 0 is -inf", "[linear]") {
  for (const int kind : {1, 7, 9, 15})
    for (const Size chunk : {1, 7, 64}) {
      CAPTURE(kind, chunk);
      Text x = draw(kind, 2, 150, 4, 3);
      for (const std::size_t word : {0U, 5U, 63U, 64U, 140U, 149U, 150U, 200U})
        x.log_decay[word] = kForgetsAll;
      const Found expected = on_paper(x);
      check_near(by_kernel(x, DType::f64, chunk), expected, kF64);
      check_near(by_kernel(x, DType::f32, chunk), expected, kF32);
    }
}

// Differences of a running sum of ln α would.
TEST_CASE("a gate that shuts costs the words behind it no precision", "[linear]") {
  for (const int kind : {1, 7, 9, 15})
    for (const double shut : {-30.0, -1000.0, -1e6}) {
      CAPTURE(kind, shut);
      Text x = draw(kind, 1, 150, 8, 6);
      for (double& gate : x.log_decay) gate /= 7;
      for (const std::size_t word : {3U, 80U}) x.log_decay[word] = shut;
      const Found expected = on_paper(x);
      check_near(by_kernel(x, DType::f64), expected, kF64);
      check_near(by_kernel(x, DType::f32), expected, kF32);
    }
}

TEST_CASE("what is not a number at some word reaches no chunk before it, and no other text", "[linear]") {
  for (const int kind : {7, 15}) {
    const Text x = draw(kind, 2, 3 * kChunk, 5, 4);
    const Found clean = by_kernel(x, DType::f64);
    for (const double odd : {std::numeric_limits<double>::quiet_NaN(), -kForgetsAll}) {
      Text y = x;
      const std::size_t word = 3 * kChunk + kChunk + 9;  // of the second text, in its second chunk
      y.k[word * 5] = y.v[word * 4] = odd;
      const Found found = by_kernel(y, DType::f64);
      const auto same = [&](std::size_t words) {
        return std::equal(found.output.begin(), found.output.begin() + static_cast<std::ptrdiff_t>(words * 4),
                          clean.output.begin());
      };
      CAPTURE(kind, odd);
      CHECK(same(3 * kChunk + kChunk));
      CHECK(!std::isfinite(found.output[word * 4]));
      for (std::size_t i = 0; i < 3 * kChunk * 5; ++i)
        REQUIRE(found.gradients[0][i] == clean.gradients[0][i]);
    }
  }
}

TEST_CASE("either result of linear_attend has its gradients without the other", "[linear]") {
  for (const int kind : {7, 15})
    for (const bool of_read : {true, false}) {
      CAPTURE(kind, of_read);
      Text x = draw(kind, 2, kChunk + 7, 5, 4);
      (of_read ? x.d_last : x.d_output).assign((of_read ? x.d_last : x.d_output).size(), 0.0);
      check_near(by_kernel(x, DType::f64), on_paper(x), kF64);
    }
}

TEST_CASE("linear_attend has the same bits on any number of threads", "[linear][threads]") {
  const auto on = [](int threads, const Text& x) {
    const test::Threads scope(threads);
    return by_kernel(x, DType::f32);
  };
  for (const int kind : {0, 7, 8, 15}) {
    const Text x = draw(kind, 3, 5 * kChunk + 3, 33, 40);
    const Found one = on(1, x);
    for (const int threads : {2, 3}) {
      const Found more = on(threads, x);
      CAPTURE(kind, threads);
      CHECK(more.output == one.output);
      CHECK(more.last == one.last);
      CHECK(more.gradients == one.gradients);
    }
  }
}

// Each gradient of a gate is a sum of the terms that the gate decays, so that its error is relative to itself.
TEST_CASE("gradients of nearly closed gates are exact in f32, and 0 for a shut one", "[linear]") {
  for (const WriteRule rule : {WriteRule::sum, WriteRule::delta})
    for (const double closed : {-20.0, -std::numeric_limits<double>::infinity()}) {
      const auto gates = [&](DType dtype) {
        const auto draw = [&](std::uint64_t seed, Size width) {
          return (random_normal({2, 70, width}, seed, DType::f64) * (1 / std::sqrt(8.0))).to(dtype);
        };
        std::vector<double> log_decay(140);
        for (std::size_t i = 0; i < 140; ++i) log_decay[i] = i % 5 == 3 ? closed : -0.1;
        Tape tape;
        const Tensor gate = variable(tensor(log_decay, {2, 70}, dtype));
        const Tensor beta = tensor(std::vector<double>(140, 0.8), {2, 70}, dtype);
        const LinearAttendResult y = linear_attend(draw(1, 8), draw(2, 8), draw(3, 6),
                                                   {.rule = rule, .log_decay = gate, .beta = beta});
        return tape.gradients(sum(y.output * draw(4, 6)) + sum(y.final_state), {gate})[0].to_vector();
      };
      const std::vector<double> exact = gates(DType::f64), rounded = gates(DType::f32);
      CAPTURE(rule == WriteRule::sum, closed);
      for (std::size_t i = 3; i < 140; i += 5) {
        if (closed < -100)
          REQUIRE(rounded[i] == 0);
        else
          REQUIRE(std::abs(rounded[i] - exact[i]) < 1e-5 * std::exp(closed));
      }
    }
}

TEST_CASE("linear attention of no tokens, token by token, is on the tape", "[linear]") {
  Tape tape;
  const Tensor q = variable(ones({2, 0, 3})), v = variable(ones({2, 0, 4})), gate = variable(ones({2, 0}));
  const LinearAttendResult y = linear_attend_by_token(q, q, v, {.log_decay = gate, .beta = gate});
  CHECK(y.output.shape() == Dims{2, 0, 4});
  for (const Tensor& gradient : tape.gradients(sum(y.output), {q, v, gate})) CHECK(gradient.count() == 0);
}
