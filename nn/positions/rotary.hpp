// Rotary positions (RoPE): queries and keys are turned by an angle that grows with their place.
#pragma once

#include "nn/positions/scheme.hpp"

namespace tapestry {

/// The pair of components (i, i + d/2) of a query or key at place p is turned by the angle
/// p · base^{−2i/d}: what q · k sees of two places is their distance alone (Su et al. 2021, section 3.2.2;
/// they pair neighbours, which differs by the order of rows in W_Q and W_K). An odd d throws.
class RotaryPositions : public PairPositions {
 public:
  RotaryPositions(Parent parent, const PairShape& shape, double base);

  Tensor rotate(const Tensor& x, Size first) const override;
  std::optional<ScoreMod> as_score_mod(Size, Size) const override { return ScoreMod{}; }

 private:
  double base_;
};

/// RotaryPositions, as a scheme.
PositionScheme rotary(double base = 10000);

}  // namespace tapestry
