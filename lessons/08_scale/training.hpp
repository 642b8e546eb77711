// Looking values up with vectors of any width: the task, the model and the trainings of lesson 08.
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
constexpr Size kHidden = 64;  ///< U, hidden units of the additive score

/// How queries and keys are compared, and how their vectors begin and learn at width d.
struct Setting {
  std::string name;
  std::function<ScoreFactory(Size width)> score;
  double first = 0;  ///< first queries and keys have the deviation d^first
  double rate = 0;   ///< their learning rate is the usual one times d^rate
};

/// s = e^w q · k, where w is learned and begins at 0.
ScoreFactory learned_factor();

struct Outcome {
  double first_gradient;  ///< median over questions of ‖∂loss/∂scores‖ before the first step
  double first_move;      ///< how far the first step moves a score: the mean of all absolute changes
  Size steps_to_99;       ///< until 99 % of watched questions are right; 0: never
  double accuracy;        ///< at the end, on fresh questions, in per cent
  double factor;          ///< e^w at the end; 1 where there is none
};

struct Runs {
  std::string name;
  std::array<Outcome, kWidths.size()> at;  ///< at each width

  double worst() const;                            ///< the lowest accuracy
  std::array<Size, kWidths.size()> steps() const;  ///< to 99 %
  bool slower_than(const Runs& other) const;       ///< in steps to 99 %, at each width
};

/// By which power of the width a's first step moves a score further than b's: the power of a width at which
/// it is furthest from `power`.
double power_of_moves(const Runs& a, const Runs& b, double power);

/// What the columns of train() are.
void print_heading();

/// Trains at all widths, each for options.steps or until twice the steps that it took to 99 %. Prints a line
/// for each.
Runs train(const Setting& setting, const kit::Options& options);

/// Steps to 99 %, a curve for each; "gave up" where it never came. To options.out / file.
void draw_steps(const std::vector<Runs>& all, const char* file, const kit::Options& options);

}  // namespace tapestry::lesson08
