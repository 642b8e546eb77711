// Reference for the tests of linear attention: the recurrence and its adjoint in plain loops, next to
// linear_attend() on the same numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/attention/linear_attend.hpp"
#include "core/ops/ops.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/random.hpp"
#include "tests/catch.hpp"

namespace tapestry::recurrence {

using Numbers = std::vector<double>;

/// Inputs and cotangents of linear attention for a batch of texts. Unused inputs are empty.
struct Text {
  Size batch = 1, words = 1, d = 1, e = 1;
  bool delta = false;
  Numbers q = {}, k = {}, v = {}, log_decay = {}, beta = {}, state = {};
  Numbers d_output = {}, d_last = {};  // cotangents of the reads and of the last state
};

/// The results, and the gradient of each input in the order q, k, v, log_decay, beta, state.
struct Found {
  Numbers output, last;
  std::vector<Numbers> gradients;
};

/// Computes the recurrence and its adjoint in plain loops.
inline Found on_paper(const Text& x) {
  Found out;
  const auto n = [](Size size) { return static_cast<std::size_t>(size); };
  const std::size_t words = n(x.words), d = n(x.d), e = n(x.e);
  Numbers dq(x.q.size()), dk(x.k.size()), dv(x.v.size()), d_log_decay(x.log_decay.size()),
      d_beta(x.beta.size()), d_first;
  for (std::size_t b = 0; b < n(x.batch); ++b) {
    std::vector<Numbers> states{
        x.state.empty() ? Numbers(d * e)
                        : Numbers(x.state.begin() + static_cast<std::ptrdiff_t>(b * d * e),
                                  x.state.begin() + static_cast<std::ptrdiff_t>((b + 1) * d * e))};
    std::vector<Numbers> kept, missing, written;  // α S before the write; v, for delta less (α S)ᵀ k; u
    const auto alpha = [&](std::size_t w) { return x.log_decay.empty() ? 1 : std::exp(x.log_decay[w]); };
    const auto beta = [&](std::size_t w) { return x.beta.empty() ? 1 : x.beta[w]; };
    for (std::size_t w = b * words; w < (b + 1) * words; ++w) {
      Numbers s = states.back(), rest(e), u(e);
      for (double& number : s) number *= alpha(w);
      kept.push_back(s);
      for (std::size_t j = 0; j < e; ++j) {
        rest[j] = x.v[w * e + j];
        for (std::size_t i = 0; x.delta && i < d; ++i) rest[j] -= s[i * e + j] * x.k[w * d + i];
        u[j] = beta(w) * rest[j];
        double y = 0;
        for (std::size_t i = 0; i < d; ++i) y += (s[i * e + j] += x.k[w * d + i] * u[j]) * x.q[w * d + i];
        out.output.push_back(y);
      }
      states.push_back(s), missing.push_back(rest), written.push_back(u);
    }
    out.last.insert(out.last.end(), states.back().begin(), states.back().end());
    Numbers ds(x.d_last.begin() + static_cast<std::ptrdiff_t>(b * d * e),
               x.d_last.begin() + static_cast<std::ptrdiff_t>((b + 1) * d * e));
    for (std::size_t t = words; t-- > 0;) {
      const std::size_t w = b * words + t;
      const Numbers &after = states[t + 1], &before = states[t], &faded = kept[t];
      double d_alpha = 0;
      for (std::size_t j = 0; j < e; ++j) {
        const double dy = x.d_output[w * e + j];
        double du = 0;
        for (std::size_t i = 0; i < d; ++i) {
          dq[w * d + i] += after[i * e + j] * dy;
          ds[i * e + j] += x.q[w * d + i] * dy;
          du += ds[i * e + j] * x.k[w * d + i];
          dk[w * d + i] += ds[i * e + j] * written[t][j];
        }
        if (!x.beta.empty()) d_beta[w] += du * missing[t][j];
        const double d_rest = beta(w) * du;
        dv[w * e + j] = d_rest;
        for (std::size_t i = 0; i < d; ++i) {
          if (x.delta) dk[w * d + i] -= faded[i * e + j] * d_rest;
          if (x.delta) ds[i * e + j] -= x.k[w * d + i] * d_rest;
          d_alpha += ds[i * e + j] * before[i * e + j];
          ds[i * e + j] *= alpha(w);
        }
      }
      if (!x.log_decay.empty()) d_log_decay[w] = d_alpha * alpha(w);
    }
    d_first.insert(d_first.end(), ds.begin(), ds.end());
  }
  out.gradients = {dq, dk, dv};
  if (!x.log_decay.empty()) out.gradients.push_back(d_log_decay);
  if (!x.beta.empty()) out.gradients.push_back(d_beta);
  if (!x.state.empty()) out.gradients.push_back(d_first);
  return out;
}

/// Computes the reads and the last state, with cotangents of 0.
inline Found read(Text x) {
  x.d_output.assign(x.v.size(), 0.0);
  x.d_last.assign(static_cast<std::size_t>(x.batch * x.d * x.e), 0.0);
  return on_paper(x);
}

/// Draws random inputs. Bits of `kind`: 0 gates, 1 strengths, 2 an initial state, 3 the delta rule.
inline Text draw(int kind, Size batch, Size words, Size d, Size e) {
  const auto normal = [](Size count, std::uint64_t seed) {
    return random_normal({count}, seed, DType::f64).to_vector();
  };
  const auto uniform = [](Size count, std::uint64_t seed, double low, double high) {
    return random_uniform({count}, seed, low, high, DType::f64).to_vector();
  };
  Text x{batch, words, d, e, (kind & 8) != 0};
  const Size all = batch * words;
  x.q = normal(all * d, 1), x.k = normal(all * d, 2), x.v = normal(all * e, 3);
  for (double& number : x.k) number /= std::sqrt(2.0 * static_cast<double>(d));
  if (kind & 1) x.log_decay = uniform(all, 4, -0.7, 0);
  if (kind & 2) x.beta = uniform(all, 5, 0.1, 1.2);
  if (kind & 4) x.state = normal(batch * d * e, 6);
  x.d_output = normal(all * e, 7), x.d_last = normal(batch * d * e, 8);
  return x;
}

/// Runs linear_attend() with this chunk size (0: the default), or linear_attend_by_token(). If `turned`, the first two
/// axes of the inputs are transposed in memory, and other numbers fill the gaps between rows.
inline Found by_kernel(const Text& x, DType dtype, Size chunk = 0, bool turned = false,
                       bool by_token = false) {
  const auto as = [&](const Numbers& numbers, const Dims& shape) {
    if (numbers.empty() && shape.count() > 0) return Tensor();
    const Tensor dense = tensor(numbers, shape, dtype);
    if (!turned) return variable(dense);
    const Tensor wider =
        concat({transpose(dense, 0, 1), full({shape[1], shape[0], shape[2]}, 1e30, dtype)}, 2);
    return variable(slice(transpose(contiguous(wider), 0, 1), 2, 0, shape[2]).detach());
  };
  const auto of_words = [&](const Numbers& numbers) {
    return numbers.empty() ? Tensor() : variable(tensor(numbers, {x.batch, x.words}, dtype));
  };
  const Tensor q = as(x.q, {x.batch, x.words, x.d}), k = as(x.k, {x.batch, x.words, x.d}),
               v = as(x.v, {x.batch, x.words, x.e});
  const LinearAttendOptions options{x.delta ? WriteRule::delta : WriteRule::sum, of_words(x.log_decay),
                                    of_words(x.beta),
                                    x.state.empty() ? Tensor() : as(x.state, {x.batch, x.d, x.e})};
  std::vector<Tensor> leaves{q, k, v};
  for (const Tensor& more : {options.log_decay, options.beta, options.initial_state})
    if (more.defined()) leaves.push_back(more);
  Tape tape;
  const LinearAttendResult found = by_token     ? linear_attend_by_token(q, k, v, options)
                                   : chunk == 0 ? linear_attend(q, k, v, options)
                                                : linear_attend(q, k, v, options, chunk);
  const Tensor loss = sum(found.output * tensor(x.d_output, found.output.shape(), dtype)) +
                      sum(found.final_state * tensor(x.d_last, found.final_state.shape(), dtype));
  Found out{found.output.to_vector(), found.final_state.to_vector(), {}};
  for (const Tensor& gradient : tape.gradients(loss, leaves, {.zero_if_unused = true}))
    out.gradients.push_back(gradient.to_vector());
  return out;
}

/// Returns max |a − b| / max(1, max |b|).
inline double apart(const Numbers& a, const Numbers& b) {
  REQUIRE(a.size() == b.size());
  double largest = 1, off = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    if (std::isnan(a[i] - b[i])) return a[i] - b[i];
    off = std::max(off, std::abs(a[i] - b[i]));
  }
  return off / largest;
}

inline void check_near(const Found& found, const Found& expected, double tolerance) {
  CHECK(apart(found.output, expected.output) <= tolerance);
  CHECK(apart(found.last, expected.last) <= tolerance);
  REQUIRE(found.gradients.size() == expected.gradients.size());
  for (std::size_t i = 0; i < found.gradients.size(); ++i) {
    CAPTURE(i);
    CHECK(apart(found.gradients[i], expected.gradients[i]) <= tolerance);
  }
}

}  // namespace tapestry::recurrence
