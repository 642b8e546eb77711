#include "core/ops/sparse.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/ops/arithmetic.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/views.hpp"
#include "core/simd/runtime/threads.hpp"
#include "core/tape/op.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

namespace {

/// Returns the threshold for which the weights of the descending scores z sum to 1. Only the largest scores get a
/// positive weight.
double sparsemax_threshold(const std::vector<double>& z) {
  double sum = 0, threshold = 0;
  for (std::size_t k = 0; k < z.size(); ++k) {
    sum += z[k];
    const double candidate = (sum - 1) / static_cast<double>(k + 1);
    if (z[k] <= candidate) break;
    threshold = candidate;
  }
  return threshold;
}

double entmax15_threshold(const std::vector<double>& z) {
  double sum = 0, squares = 0, threshold = 0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    const auto k = static_cast<double>(i + 1);
    sum += z[i];
    squares += z[i] * z[i];
    const double mean = sum / k, spread = squares - mean * sum;
    const double candidate = mean - std::sqrt(std::max(0.0, (1 - spread) / k));
    if (i > 0 && candidate > z[i]) break;
    threshold = candidate;
  }
  return threshold;
}

/// y = weight(z − τ), or 0 where z < τ, with z = shrink · (s − the row's maximum) and τ = threshold(z), row by row.
template <class Threshold, class Weight>
Tensor by_threshold(const char* name, const Tensor& scores, const Mask& mask, double shrink,
                    Threshold threshold, Weight weight) {
  if (scores.rank() < 1) fail("[{}] scores must be (…, keys), got {}", name, describe(scores));
  const Tensor s = contiguous(scores.detach());
  const Mask allowed = mask.defined() ? mask.expand(s.shape(), name) : mask;
  const std::vector<bool> may = allowed.defined() ? allowed.to_vector() : std::vector<bool>{};
  Tensor y = Tensor::uninitialised(s.shape(), s.dtype());
  const Size columns = s.size(-1), rows = columns == 0 ? 0 : s.count() / columns;
  dispatch(s.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = s.data<T>();
    T* to = y.mutable_data<T>();
    simd::parallel_ranges(
        rows, std::max<Size>(1, 2048 / std::max<Size>(1, columns)), [&](Size begin, Size end) {
          std::vector<double> z;
          for (Size row = begin; row < end; ++row) {
            const auto at = [&](Size j) { return static_cast<std::size_t>(row * columns + j); };
            const auto counts = [&](Size j) { return may.empty() || may[at(j)]; };
            z.clear();
            for (Size j = 0; j < columns; ++j)
              if (counts(j) && from[at(j)] != -std::numeric_limits<T>::infinity())
                z.push_back(static_cast<double>(from[at(j)]));
            const bool wrong = std::any_of(z.begin(), z.end(), [](double v) { return !(v < HUGE_VAL); });
            const double top = z.empty() || wrong ? 0 : *std::max_element(z.begin(), z.end());
            for (double& v : z) v = shrink * (v - top);
            if (!wrong) std::sort(z.begin(), z.end(), std::greater<>());
            const double limit = wrong ? std::numeric_limits<double>::quiet_NaN() : threshold(z);
            for (Size j = 0; j < columns; ++j) {
              const double over = shrink * (static_cast<double>(from[at(j)]) - top) - limit;
              to[at(j)] = !counts(j) || z.empty() || over < 0 ? T(0) : static_cast<T>(weight(over));
            }
          }
        });
  });
  return y;
}

}  // namespace

// y = max(s − τ, 0)        ∂s = dy − mean dy over the keys with y > 0, 0 elsewhere
Tensor sparsemax(const Tensor& scores, const Mask& mask, CallSite at) {
  return op<"sparsemax">(
      at, by_threshold("sparsemax", scores, mask, 1, sparsemax_threshold, [](double over) { return over; }),
      wrt(scores, [](const Tensor& dy, const Tensor& y) {
        const Tensor zero = scalar(0, y.dtype()), one = scalar(1, y.dtype());
        const Mask some = less(zero, y.detach());
        const Tensor count =
            maximum(one, sum(where(some, ones(y.shape(), y.dtype()), zero), {-1}, Keep::yes));
        const Tensor mean = sum(where(some, dy, zero), {-1}, Keep::yes) / count;
        return where(some, dy - mean, zero * y.detach());  // a NaN weight has the gradient NaN
      }));
}

// y = max(s/2 − τ, 0)²     ∂s = √y ⊙ (dy − Σ √y dy / Σ √y)
Tensor entmax15(const Tensor& scores, const Mask& mask, CallSite at) {
  return op<"entmax15">(at,
                        by_threshold("entmax15", scores, mask, 0.5, entmax15_threshold,
                                     [](double over) { return over * over; }),
                        wrt(scores, [](const Tensor& dy, const Tensor& y) {
                          const Tensor zero = scalar(0, y.dtype()), one = scalar(1, y.dtype());
                          const Mask some = less(zero, y.detach());
                          const Tensor root = where(some, sqrt(where(some, y, one)), zero);
                          const Tensor total = sum(root, {-1}, Keep::yes);
                          const Tensor mean =
                              sum(root * dy, {-1}, Keep::yes) / where(less(zero, total.detach()), total, one);
                          return where(some, root * (dy - mean), zero * y.detach());
                        }));
}

}  // namespace tapestry
