// Position vectors that are added to the input of a model: sinusoidal and learned.
#pragma once

#include "nn/positions/scheme.hpp"

namespace tapestry {

/// Returns the position vectors (count, width) of positions first … first + count − 1 (Vaswani et al. 2017, section
/// 3.5). For position p, component 2i is sin(a) and component 2i + 1 is cos(a), with a = p / 10000^{2i/width}. The
/// width may be odd; then the last component is a sine.
Tensor sinusoids(Size first, Size count, Size width, DType dtype = DType::f32);

/// Adds sinusoids() to the input. There are no parameters, so any position is possible. Calls throw Error if the input
/// has fewer than two axes or `first` is negative.
class SinusoidalPositions : public InputPositions {
 public:
  explicit SinusoidalPositions(Parent parent) : InputPositions(std::move(parent)) {}

  Tensor operator()(const Tensor& x, Size first) const override;
};

/// Adds a learned vector for each position (Gehring et al. 2017). The vector of a position that did not occur in
/// training still has its random initial value. Calls throw Error if a position is not from 0 to longest − 1, and if
/// the input has another width or fewer than two axes.
class LearnedPositions : public InputPositions {
 public:
  /// Takes the number of positions, the width of the input, and the standard deviation of the normal initial values.
  LearnedPositions(Parent parent, Size longest, Size width, double deviation);

  Tensor operator()(const Tensor& x, Size first) const override;

  /// The vector of each position, (longest, width).
  Parameter weight;
};

/// Returns SinusoidalPositions as a scheme.
PositionScheme sinusoidal();
/// Returns LearnedPositions as a scheme, for texts of up to `longest` tokens. The initial values are normal with this
/// standard deviation.
PositionScheme learned_positions(Size longest, double deviation = 1);

}  // namespace tapestry
