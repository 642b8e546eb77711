// Naming the first symbol of a string after forty more: models, starts, training and pictures of lesson 09.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lessons/kit/kit.hpp"
#include "nn/recurrent.hpp"

namespace tapestry::lesson09 {

/// Symbols of noise after the first one, in the test and, where lengths are not mixed, in training.
inline constexpr Size kNoise = 40;

/// x (B, T, in) with lengths, and a layer's four weights → each string's last state (B, H).
using Run =
    std::function<Tensor(const Tensor& x, const ValidLengths& lengths, const std::vector<Tensor>& weights)>;
/// Cells by hand against nn/'s layer, with a string that is shorter: gradcheck, values, gradients.
void compare(kit::Report& report, const std::string& name, CellKind kind, const Run& by_hand,
             std::uint64_t seed);

/// First values of the recurrent layer. usual: uniform on ±1/√H, biases too; open_gate: as usual, but the
/// bias of the forget gate (LSTM) or update gate (GRU) is 3; orthogonal: U is a rotation.
enum class Start { usual, open_gate, orthogonal };

/// What is trained, and what it must reach.
struct Plan {
  CellKind cell;
  Start start;
  bool mixed = false;  ///< training has any number of noise symbols up to kNoise, not kNoise always
  double at_least = 0, at_most = 100;  ///< per cent right

  std::string name() const;
};

enum Which : std::size_t {  // places in plans()
  kPlain,
  kPlainOrthogonal,
  kLstm,
  kLstmOpen,
  kGru,
  kGruOpen,
  kPlainMixed,
  kPlainOrthogonalMixed,
  kLstmMixed,
  kGruMixed,
};
const std::vector<Plan>& plans();

/// How much a nudge to a symbol still moves the last state, against how far back it stands; 1 is what a nudge
/// to the last symbol does. Of the untrained models, those with mixed lengths left out: they start like the
/// others. Drawn to before.svg.
std::vector<kit::Series> influence_before(const kit::Options& options);

struct Outcome {
  double right = 0;    ///< per cent of strings with kNoise symbols after the first
  double at_ends = 0;  ///< per cent of the last state's numbers beyond ±0.9, where tanh is flat
  kit::Series after;   ///< influence, as above
};

/// Trains all plans for options.steps, or until nothing is left to learn; prints a row for each, and holds
/// them against what they must reach.
std::vector<Outcome> train_all(const kit::Options& options, kit::Report& report);

/// Influence of six of them; to after.svg.
void draw_after(const std::vector<Outcome>& outcomes, const kit::Options& options);

}  // namespace tapestry::lesson09
