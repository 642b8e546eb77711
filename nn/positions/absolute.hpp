// Positions that are added to the input: sinusoidal and learned.
#pragma once

#include "nn/positions/scheme.hpp"

namespace tapestry {

/// Returns PE (count, width) for positions first … first + count − 1: PE[p, 2i] = sin(p / 10000^{2i/width}),
/// PE[p, 2i+1] = cos(the same) (Vaswani et al. 2017, section 3.5). The width may be odd.
Tensor sinusoids(Size first, Size count, Size width, DType dtype = DType::f32);

/// Adds sinusoids() to the input; it has no parameters.
class SinusoidalPositions : public InputPositions {
 public:
  explicit SinusoidalPositions(Parent parent) : InputPositions(std::move(parent)) {}

  Tensor operator()(const Tensor& x, Size first) const override;
};

/// Adds a learned vector for each position (Gehring et al. 2017). A position that was never trained is
/// meaningless. Throws for positions beyond the table, and for inputs of another width.
class LearnedPositions : public InputPositions {
 public:
  LearnedPositions(Parent parent, Size longest, Size width, double deviation);

  Tensor operator()(const Tensor& x, Size first) const override;

  /// (longest, width)
  Parameter weight;
};

/// Returns SinusoidalPositions as a scheme.
PositionScheme sinusoidal();
/// Returns LearnedPositions for up to `longest` tokens, with normal initial values of this standard
/// deviation.
PositionScheme learned_positions(Size longest, double deviation = 1);

}  // namespace tapestry
