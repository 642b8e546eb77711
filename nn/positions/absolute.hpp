// Positions that are added to the words: sinusoidal and learned.
#pragma once

#include "nn/positions/scheme.hpp"

namespace tapestry {

/// PE[p, 2i] = sin(p / 10000^{2i/width}), PE[p, 2i+1] = cos(the same) (Vaswani et al. 2017, section 3.5): for
/// the places first … first + count − 1, (count, width). Any width, also an odd one.
Tensor sinusoids(Size first, Size count, Size width, DType dtype = DType::f32);

/// sinusoids() added to the words; nothing is learned.
class SinusoidalPositions : public InputPositions {
 public:
  explicit SinusoidalPositions(Parent parent) : InputPositions(std::move(parent)) {}

  Tensor operator()(const Tensor& x, Size first) const override;
};

/// A vector for each place (Gehring et al. 2017). A place that was never trained means nothing; one that the
/// table does not have, and words of another width, throw.
class LearnedPositions : public InputPositions {
 public:
  LearnedPositions(Parent parent, Size longest, Size width, double deviation);

  Tensor operator()(const Tensor& x, Size first) const override;

  /// (longest, width)
  Parameter weight;
};

/// SinusoidalPositions, as a scheme.
PositionScheme sinusoidal();
/// For sequences of up to `longest` words; first values are normal with this standard deviation.
PositionScheme learned_positions(Size longest, double deviation = 1);

}  // namespace tapestry
