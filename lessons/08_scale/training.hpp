// The task, the model and the training runs of lesson 08: look up answers with vectors of any width.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/attention/attention.hpp"

namespace tapestry::lesson08 {

constexpr std::array<Size, 4> kWidths = {16, 64, 256, 1024};
constexpr Size kHidden = 64;  ///< U, the number of hidden units of the additive score.

/// Score, and the initial size and learning rate of queries and keys at width d.
struct Setting {
  std::string name;
  std::function<ScoreFactory(Size width)> score;
  double size_power = 0;  ///< Initial queries and keys have the standard deviation d^size_power.
  double rate_power = 0;  ///< Their learning rate is the usual one times d^rate_power.
};

/// Returns the score e^w q · k, where w is learned and starts at 0.
ScoreFactory learned_factor();

struct Outcome {
  double first_gradient;  ///< Median over questions of ‖∂loss/∂scores‖ before the first step.
  double first_move;      ///< Mean absolute change of a score by the first step.
  Size steps_to_99;       ///< Steps until 99 % of a fixed set of questions are right; 0 if never.
  double accuracy;        ///< Percentage of right answers to fresh questions, after training.
  double factor;          ///< e^w after training; 1 for scores without w.
};

struct Runs {
  std::string name;
  std::array<Outcome, kWidths.size()> at;  ///< One outcome per width.

  double worst() const;                            ///< Returns the lowest accuracy.
  std::array<Size, kWidths.size()> steps() const;  ///< Returns the steps to 99 % at each width.
  bool slower_than(const Runs& other) const;       ///< True if it needs more steps to 99 % at each width.
};

/// Returns p such that the first step of `a` moves a score width^p times as far as the first step of `b`. Of all
/// widths, it uses the one where p differs most from `power`.
double power_of_moves(const Runs& a, const Runs& b, double power);

/// Prints the names of train()'s columns.
void print_heading();

/// Trains at all widths. Each run ends after options.steps, or after twice the steps that it needed for 99 %. Prints
/// one line per width.
Runs train(const Setting& setting, const kit::Options& options);

/// Draws the steps to 99 %, one curve per setting, in options.out / file. "gave up" marks runs that never got there.
void draw_steps(const std::vector<Runs>& all, const char* file, const kit::Options& options);

}  // namespace tapestry::lesson08
