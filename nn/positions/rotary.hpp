// Rotary positions (RoPE): queries and keys are rotated by angles proportional to their position.
#pragma once

#include <optional>
#include <type_traits>
#include <vector>

#include "nn/positions/scheme.hpp"

namespace tapestry {

/// Choice of the two components that form a pair, where w is the number of rotated components:
///     halves      (i, i + w/2)      GPT-NeoX, and Llama in Hugging Face's format
///     adjacent    (2i, 2i + 1)      Su et al. 2021, GPT-J, and Llama in Meta's and llama.cpp's formats
enum class RotaryPairs { halves, adjacent };

/// Change of the frequencies θ_i, so that a model can read texts that are s times as long as its training texts (s is
/// RotaryOptions::factor):
///     none
///     linear    θ_i / s                               position interpolation, Chen et al. 2023
///     ntk       base · s^{w/(w−2)} in place of base   "NTK-aware", bloc97 2023
///     yarn      (1 − γ_i) θ_i / s + γ_i θ_i           Peng et al. 2023, "NTK by parts"
enum class RotaryScaling { none, linear, ntk, yarn };

/// Variable on which γ of YaRN depends. Between the limits `slow` and `fast`, γ is linear in it:
///     rotations    number of rotations within the trained length, L θ_i / 2π (equation 18 of the paper): γ grows
///                  from 0 at `slow` to 1 at `fast`
///     pairs        index i of the pair, as in the published code: γ falls from 1 to 0 between the rounded indices of
///                  the pairs with `fast` and with `slow` rotations
enum class YarnRamp { rotations, pairs };

struct RotaryOptions {
  double base = 10000;  // θ_i = base^{−2i/w} for pair i of w components
  /// w: number of rotated components, an even number. These are the first components of a head; the others are
  /// unchanged. 0 means all.
  Size width = 0;
  RotaryPairs pairs = RotaryPairs::halves;      // components that form a pair
  RotaryScaling scaling = RotaryScaling::none;  // change of the frequencies
  double factor = 1;                            // s of the scaling; must be 1 without scaling
  /// L of YaRN: number of tokens in a training text. YaRN requires it.
  Size trained_length = 0;
  /// Limits of YaRN. Pairs that make at least `fast` rotations within L tokens keep their frequency (γ = 1). For pairs
  /// that make at most `slow` rotations, the frequency is divided by s (γ = 0).
  double fast = 32, slow = 1;
  YarnRamp ramp = YarnRamp::rotations;  // course of γ between `slow` and `fast`
  /// Factor by which the rotated components of queries and keys are multiplied. By default, it is 0.1 ln s + 1 for YaRN
  /// (√(1/t) in equation 22; 1 if s < 1), and 1 otherwise.
  std::optional<double> attention_factor = {};
};

/// Rotates pair i of the components of each query and key at position p by the angle p · θ_i. Then q · k depends on
/// the two positions only through their distance (Su et al. 2021, section 3.2.2). The constructor throws
/// Error for options that are out of range or do not fit the head width. rotate() throws Error if the heads have
/// another width than `shape` (shape.head_width 0 allows any width).
class RotaryPositions : public PairPositions {
 public:
  RotaryPositions(Parent parent, const PairShape& shape, const RotaryOptions& options);

  Tensor rotate(const Tensor& x, Size first) const override;
  std::optional<ScoreMod> as_score_mod(Size, Size) const override { return ScoreMod{}; }

  /// Returns the w / 2 frequencies θ_i after scaling, in radians per position, for heads of `head_width` components.
  std::vector<double> frequencies(Size head_width) const;

 private:
  Size rotated_width(Size head_width) const;

  RotaryOptions options_;
  Size head_width_;
};

/// Returns RotaryPositions as a scheme.
PositionScheme rotary(const RotaryOptions& options = {});
/// Same with this base and default values for the other options. It is a template, so that rotary({}) calls the
/// function above.
template <class Number>
requires std::is_arithmetic_v<Number> PositionScheme rotary(Number base) {
  return rotary(RotaryOptions{.base = static_cast<double>(base)});
}

}  // namespace tapestry
