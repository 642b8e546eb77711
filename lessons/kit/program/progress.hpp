// Progress display of a training loop: a bar on a terminal, a few plain lines elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include "lessons/kit/program/terminal.hpp"

namespace tapestry::kit {

/// Display of step, loss, speed and remaining time.
///
///     Progress progress(options.steps);
///     for (…) progress.step(loss);
///     progress.finish();
///
/// On a terminal, one line is redrawn at most ten times a second. Elsewhere, a line is printed after the first step and
/// after each tenth of the steps. The display uses standard error, so that standard output holds only results.
class Progress {
 public:
  using Clock = std::function<double()>;  ///< returns seconds since any fixed time

  struct Settings {
    std::int64_t done = 0;       ///< steps completed before a resume
    std::string unit = "steps";  ///< unit of step()'s `count`: "words", "strings"
  };

  /// Displays progress on standard error.
  explicit Progress(std::int64_t total) : Progress(total, Settings{}) {}
  Progress(std::int64_t total, Settings settings);
  /// Displays progress on any stream, for tests.
  Progress(std::int64_t total, Settings settings, std::ostream& out, Terminal terminal, Clock clock);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Records a completed step with its loss and the number of units that it processed.
  void step(double loss, double count = 1);
  /// Prints a separate line above the bar, such as a validation score.
  void note(std::string_view text);
  /// Draws the last state and ends the line. The destructor calls it if necessary.
  void finish();

  /// Returns the units per second since the start, or since the resume.
  double speed() const;
  /// Returns the exponential moving average of the loss (decay 0.95, bias-corrected), or NaN before the first step.
  double loss() const;

 private:
  std::string line() const;
  void draw();
  void erase();

  std::int64_t total_;
  std::int64_t done_;
  std::int64_t first_;
  std::string unit_;
  std::ostream& out_;
  Terminal terminal_;
  Clock clock_;
  double start_;
  double drawn_at_;
  double count_ = 0;
  double loss_sum_ = 0;
  double loss_weight_ = 0;
  bool bar_on_screen_ = false;
  bool finished_ = false;
};

/// Formats a duration: "42s", "3m05s", "2h07m", or "?" for a value that is negative, NaN or above 10⁸.
std::string short_time(double seconds);
/// Formats a number with three significant digits, or as an integer from 100 on: 4.237 → "4.24"; 3612.4 → "3,612".
std::string short_number(double value);

}  // namespace tapestry::kit
