// Rotary positions (RoPE): queries and keys are rotated by angles proportional to their position.
#pragma once

#include "nn/positions/scheme.hpp"

namespace tapestry {

/// Rotates the pair of components (i, i + d/2) of a query or key at position p by the angle p · base^{−2i/d}.
/// Then q · k depends on two positions only through their distance (Su et al. 2021, section 3.2.2; they pair
/// neighbours, which differs by the order of rows in W_Q and W_K). Throws for an odd d, and unless `base` is
/// positive and finite.
class RotaryPositions : public PairPositions {
 public:
  RotaryPositions(Parent parent, const PairShape& shape, double base);

  Tensor rotate(const Tensor& x, Size first) const override;
  std::optional<ScoreMod> as_score_mod(Size, Size) const override { return ScoreMod{}; }

 private:
  double base_;
};

/// Returns RotaryPositions as a scheme.
PositionScheme rotary(double base = 10000);

}  // namespace tapestry
