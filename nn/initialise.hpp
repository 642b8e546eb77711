// First values of parameters: what a weight holds before training.
#pragma once

#include <functional>
#include <span>
#include <type_traits>
#include <utility>

#include "core/simd/view.hpp"
#include "core/tensor/random.hpp"

namespace tapestry {

/// What an initialiser works on: the values to fill (row-major, always f64, so that f32 and f64 models start
/// from the same numbers), their shape, and the parameter's own stream of random numbers.
class FirstValues {
 public:
  FirstValues(std::span<double> values_in, const Dims& shape_in, const Stream& stream_in)
      : values(values_in), shape(shape_in), stream(stream_in) {}

  std::span<double> values;  // to be filled
  const Dims& shape;         // of the parameter
  const Stream& stream;      // its own random numbers

  /// Inputs that one unit of a weight (out, in, …) sums over; all elements for a vector.
  Size fan_in() const;
  /// Units that read one input; 1 for a vector.
  Size fan_out() const;
};

/// A rule for first values: one of the functions below, or any callable that takes FirstValues.
class Initialiser {
 public:
  Initialiser(void (*fill)(const FirstValues&)) : fill_(fill) {}
  template <class F>
  requires std::is_invocable_v<const F&, const FirstValues&> Initialiser(F fill) : fill_(std::move(fill)) {}

  void operator()(const FirstValues& first) const { fill_(first); }

 private:
  std::function<void(const FirstValues&)> fill_;
};

/// zeros, ones: every element 0, or 1.
void zeros(const FirstValues& first);
void ones(const FirstValues& first);
/// Uniform on ±√(6 / (fan in + fan out)) (Glorot & Bengio 2010, equation 16).
void xavier(const FirstValues& first);
/// Normal with standard deviation √(2 / fan in), for layers before a relu (He et al. 2015, equation 10).
void kaiming(const FirstValues& first);
/// Uniform on ±1/√(fan in): what PyTorch's Linear starts from.
void fan_in_uniform(const FirstValues& first);
/// Orthonormal rows, or columns if there are more rows than columns (Saxe et al. 2014); axes after the first
/// count as one.
void orthogonal(const FirstValues& first);

/// Every element `value`.
Initialiser constant(double value);
/// Uniform on [−bound, bound).
Initialiser uniform(double bound);
/// Normal with mean 0 and this standard deviation.
Initialiser normal(double deviation);
/// `rest`, then row `row` of the first axis set to 0: for the padding word of an embedding.
Initialiser with_zero_row(Initialiser rest, Size row);

}  // namespace tapestry
