// Rotary positions (RoPE): queries and keys are rotated by angles proportional to their position.
#pragma once

#include <optional>
#include <type_traits>
#include <vector>

#include "nn/positions/scheme.hpp"

namespace tapestry {

/// Components that form a pair, of w rotated components:
///     halves      (i, i + w/2)      GPT-NeoX, and Llama in Hugging Face's format
///     adjacent    (2i, 2i + 1)      Su et al. 2021, GPT-J, and Llama in Meta's and llama.cpp's formats
enum class RotaryPairs { halves, adjacent };

/// Change of the frequencies θ_i, so that a model can read texts s times as long as those in its training:
///     none
///     linear    θ_i / s                               position interpolation, Chen et al. 2023
///     ntk       base · s^{w/(w−2)} in place of base   "NTK-aware", bloc97 2023
///     yarn      (1 − γ_i) θ_i / s + γ_i θ_i           Peng et al. 2023, "NTK by parts"
enum class RotaryScaling { none, linear, ntk, yarn };

/// The variable in which YaRN's γ grows linearly from 0 to 1:
///     rotations    the rotations within the trained length, L θ_i / 2π (the paper's equation 18)
///     pairs        the pair's number i, between the rounded places of `slow` and `fast` (the published code)
enum class YarnRamp { rotations, pairs };

struct RotaryOptions {
  double base = 10000;  // θ_i = base^{−2i/w} for pair i of w components
  /// w: number of components that are rotated, the first ones of a head; the others are unchanged. 0: all.
  Size width = 0;
  RotaryPairs pairs = RotaryPairs::halves;      // components that form a pair
  RotaryScaling scaling = RotaryScaling::none;  // change of the frequencies
  double factor = 1;                            // s of the scaling
  /// L of YaRN: number of tokens in the texts of the training.
  Size trained_length = 0;
  /// YaRN: pairs with at least `fast` rotations within L keep their frequency (γ = 1); those with at most `slow`
  /// are divided by s (γ = 0).
  double fast = 32, slow = 1;
  YarnRamp ramp = YarnRamp::rotations;  // course of γ between `slow` and `fast`
  /// Factor of the rotated components of queries and keys. By default 0.1 ln s + 1 for YaRN (equation 22; it is
  /// √(1/t)), and 1 otherwise.
  std::optional<double> attention_factor = {};
};

/// Rotates each pair of components of a query or key at position p by the angle p · θ_i. Then q · k depends on two
/// positions only through their distance (Su et al. 2021, section 3.2.2). Throws for options out of range, and for
/// heads of another width than `shape` has (a width of 0 allows any).
class RotaryPositions : public PairPositions {
 public:
  RotaryPositions(Parent parent, const PairShape& shape, const RotaryOptions& options);

  Tensor rotate(const Tensor& x, Size first) const override;
  std::optional<ScoreMod> as_score_mod(Size, Size) const override { return ScoreMod{}; }

  /// Returns the frequencies θ_i after scaling, in radians per position, for heads of `head_width` components.
  std::vector<double> frequencies(Size head_width) const;

 private:
  Size rotated_width(Size head_width) const;

  RotaryOptions options_;
  Size head_width_;
};

/// Returns RotaryPositions as a scheme.
PositionScheme rotary(const RotaryOptions& options = {});
/// Same, for all components in halves, without scaling. A template, so that rotary({}) means the default options.
template <class Number>
requires std::is_arithmetic_v<Number> PositionScheme rotary(Number base) {
  return rotary(RotaryOptions{.base = static_cast<double>(base)});
}

}  // namespace tapestry
