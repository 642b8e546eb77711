// Initialisers: rules for the values of parameters before training.
#pragma once

#include <functional>
#include <span>
#include <type_traits>
#include <utility>

#include "core/simd/view.hpp"
#include "core/tensor/random.hpp"

namespace tapestry {

/// Argument of an initialiser, which fills `values` in row-major order. They are always f64, so that f32 and f64 models
/// start from the same numbers. Each parameter has a separate stream of random numbers.
class InitialiserArguments {
 public:
  InitialiserArguments(std::span<double> values_in, const Dims& shape_in, const Stream& stream_in)
      : values(values_in), shape(shape_in), stream(stream_in) {}

  std::span<double> values;  // to fill
  const Dims& shape;         // of the parameter
  const Stream& stream;      // random numbers of this parameter

  /// Number of inputs to one unit of a weight (out, in, …); the number of elements for a vector.
  Size fan_in() const;
  /// Number of units that read one input; 1 for a vector.
  Size fan_out() const;
};

/// An initialiser: one of the functions below, or any callable that takes InitialiserArguments.
class Initialiser {
 public:
  Initialiser(void (*fill)(const InitialiserArguments&)) : fill_(fill) {}
  template <class F>
  requires std::is_invocable_v<const F&, const InitialiserArguments&> Initialiser(F fill)
      : fill_(std::move(fill)) {}

  void operator()(const InitialiserArguments& arguments) const { fill_(arguments); }

 private:
  std::function<void(const InitialiserArguments&)> fill_;
};

/// zeros() sets every element to 0, ones() to 1.
void zeros(const InitialiserArguments& arguments);
void ones(const InitialiserArguments& arguments);
/// Draws from the uniform distribution on ±√(6 / (fan in + fan out)) (Glorot & Bengio 2010, equation 16).
void xavier(const InitialiserArguments& arguments);
/// Draws from the normal distribution with mean 0 and standard deviation √(2 / fan in), for layers followed
/// by a relu (He et al. 2015, equation 10).
void kaiming(const InitialiserArguments& arguments);
/// Draws from the uniform distribution on ±1/√(fan in), the default of PyTorch's Linear.
void fan_in_uniform(const InitialiserArguments& arguments);
/// Makes the rows orthonormal, or the columns if there are more rows than columns (Saxe et al. 2014). All
/// axes after the first are flattened into columns. Throws if the shape has fewer than two axes.
void orthogonal(const InitialiserArguments& arguments);

/// Sets every element to `value`.
Initialiser constant(double value);
/// Draws from the uniform distribution on [−bound, bound).
Initialiser uniform(double bound);
/// Draws from the normal distribution with mean 0 and this standard deviation.
Initialiser normal(double deviation);
/// Applies `rest`, then sets row `row` of the first axis to 0. Embedding uses it for the padding word.
Initialiser with_zero_row(Initialiser rest, Size row);

}  // namespace tapestry
