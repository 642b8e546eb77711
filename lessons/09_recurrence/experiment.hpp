// The models, initialisations, training runs and pictures of lesson 09: name the first symbol after forty more.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lessons/kit/kit.hpp"
#include "nn/recurrent.hpp"

namespace tapestry::lesson09 {

/// Number of noise symbols after the first one, in the test and in training without mixed lengths.
inline constexpr Size kNoise = 40;

/// Takes x (B, T, in), lengths and a layer's four weights. Returns the last state of each string, (B, H).
using Run =
    std::function<Tensor(const Tensor& x, const ValidLengths& lengths, const std::vector<Tensor>& weights)>;
/// Compares a cell by hand with nn/'s layer: gradcheck, values and gradients. One of the strings is shorter.
void compare(kit::Report& report, const std::string& name, CellKind kind, const Run& by_hand,
             std::uint64_t seed);

/// Initialisation of the recurrent layer. usual: uniform on ±1/√H, biases too; open_gate: as usual, but the bias of the
/// forget gate (LSTM) or the update gate (GRU) is 3; orthogonal: U is a rotation.
enum class Start { usual, open_gate, orthogonal };

/// A training run, and the accuracy that it must reach.
struct Plan {
  CellKind cell;
  Start start;
  bool mixed = false;  ///< If true, training strings have 0 to kNoise noise symbols; otherwise always kNoise.
  double at_least = 0, at_most = 100;  ///< Bounds for the percentage of right answers.

  std::string name() const;
};

enum Which : std::size_t {  // indices of plans()
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

/// Returns how much a small change of a symbol changes the last state, for each distance of the symbol from the end,
/// relative to a change of the last symbol. Uses the untrained models, without the plans with mixed lengths, which
/// start like the others. Draws before.svg.
std::vector<kit::Series> influence_before(const kit::Options& options);

struct Outcome {
  double right = 0;    ///< Percentage of right answers for strings with kNoise symbols after the first.
  double at_ends = 0;  ///< Percentage of the last state's numbers beyond ±0.9, where tanh is flat.
  kit::Series after;   ///< The curve of influence_before(), after training.
};

/// Trains all plans for options.steps, or until the mean loss is nearly 0. Prints a row for each plan, and checks its
/// bounds.
std::vector<Outcome> train_all(const kit::Options& options, kit::Report& report);

/// Draws the influence of six of the plans in after.svg.
void draw_after(const std::vector<Outcome>& outcomes, const kit::Options& options);

}  // namespace tapestry::lesson09
