// Steps of Adam, AdamW and SGD on one chunk of a parameter, and the sum of squares and scaling of a gradient.
#include "core/simd/optimiser_step.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/simd/lanes.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

// Adam's formula with the bias corrections taken out of the loop:
//     w ← decay · w − step_size · m / (√v · inverse_root_correction2 + ε)
template <class T>
void adam(T* weight, const T* gradient, T* m, T* v, Size n, const AdamStep& step) {
  const auto splat = [](double x) { return Lanes<T>(static_cast<T>(x)); };
  const Lanes<T> beta1 = splat(step.beta1), beta2 = splat(step.beta2);
  const Lanes<T> one_minus_beta1 = splat(1 - step.beta1), one_minus_beta2 = splat(1 - step.beta2);
  const Lanes<T> step_size = splat(step.learning_rate / step.correction1);
  const Lanes<T> inverse_root_correction2 = splat(1 / std::sqrt(step.correction2));
  const Lanes<T> epsilon = splat(step.epsilon);
  const Lanes<T> l2 = splat(step.decoupled ? 0 : step.weight_decay);
  const Lanes<T> decay = splat(step.decoupled ? 1 - step.learning_rate * step.weight_decay : 1);
  const Lanes<T> scale_by = splat(step.scale);
  for (Size i = 0; i < n; i += kLanes<T>) {
    const Size count = std::min(kLanes<T>, n - i);
    Lanes<T> w = load_n(static_cast<const T*>(weight + i), count);
    const Lanes<T> g = fma(l2, w, load_n(gradient + i, count) * scale_by);
    const Lanes<T> new_m = fma(beta1, load_n(static_cast<const T*>(m + i), count), one_minus_beta1 * g);
    const Lanes<T> new_v = fma(beta2, load_n(static_cast<const T*>(v + i), count), one_minus_beta2 * (g * g));
    w = w * decay - step_size * new_m / fma(sqrt(new_v), inverse_root_correction2, epsilon);
    store_n(m + i, new_m, count);
    store_n(v + i, new_v, count);
    store_n(weight + i, w, count);
  }
}

template <class T>
void sgd(T* weight, const T* gradient, T* velocity, Size n, const SgdStep& step) {
  const auto splat = [](double x) { return Lanes<T>(static_cast<T>(x)); };
  const Lanes<T> learning_rate = splat(step.learning_rate), momentum = splat(step.momentum);
  const Lanes<T> l2 = splat(step.weight_decay), scale_by = splat(step.scale);
  for (Size i = 0; i < n; i += kLanes<T>) {
    const Size count = std::min(kLanes<T>, n - i);
    const Lanes<T> w = load_n(static_cast<const T*>(weight + i), count);
    Lanes<T> d = fma(l2, w, load_n(gradient + i, count) * scale_by);
    if (velocity) {
      const Lanes<T> b = fma(momentum, load_n(static_cast<const T*>(velocity + i), count), d);
      store_n(velocity + i, b, count);
      d = step.nesterov ? fma(momentum, b, d) : b;
    }
    store_n(weight + i, w - learning_rate * d, count);
  }
}

template <class T>
double sum_of_squares(const T* x, Size n) {
  // Within full groups of eight, element i is added to sums[i % 8]. This fixes the order of the additions, so the
  // compiler can use vectors without changing a bit of the result.
  std::array<double, 8> sums{};
  Size i = 0;
  for (; i + 8 <= n; i += 8)
    for (std::size_t j = 0; j < 8; ++j) {
      const auto value = static_cast<double>(x[i + static_cast<Size>(j)]);
      sums[j] += value * value;
    }
  double total = ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
  for (; i < n; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return total;
}

template <class T>
void scale(T* x, Size n, double factor) {
  for (Size i = 0; i < n; ++i) x[i] = static_cast<T>(static_cast<double>(x[i]) * factor);
}

template void adam(float*, const float*, float*, float*, Size, const AdamStep&);
template void adam(double*, const double*, double*, double*, Size, const AdamStep&);
template void sgd(float*, const float*, float*, Size, const SgdStep&);
template void sgd(double*, const double*, double*, Size, const SgdStep&);
template double sum_of_squares(const float*, Size);
template double sum_of_squares(const double*, Size);
template void scale(float*, Size, double);
template void scale(double*, Size, double);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
