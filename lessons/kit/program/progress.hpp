// Progress of a training loop: a bar on a terminal, a few plain lines elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include "lessons/kit/program/terminal.hpp"

namespace tapestry::kit {

/// Shows step, loss, speed and time left.
///
///     Progress progress(options.steps);
///     for (…) progress.step(loss);
///     progress.finish();
///
/// On a terminal one line is redrawn at most ten times a second; elsewhere a line is printed after about
/// every tenth of the steps. All of it goes to standard error, so that standard output holds only results.
class Progress {
 public:
  using Clock = std::function<double()>;  ///< seconds, from any start

  struct Settings {
    std::int64_t done = 0;       ///< steps done before a resume
    std::string unit = "steps";  ///< what step()'s `count` counts: "words", "strings"
  };

  /// On standard error, as it is.
  explicit Progress(std::int64_t total) : Progress(total, Settings{}) {}
  Progress(std::int64_t total, Settings settings);
  /// On any stream; for tests.
  Progress(std::int64_t total, Settings settings, std::ostream& out, Terminal terminal, Clock clock);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// One step is done: its loss, and how many units it worked through.
  void step(double loss, double count = 1);
  /// A line of its own, above the bar: a figure on held-out data, a checkpoint.
  void note(std::string_view text);
  /// Draws the last state and ends the line. Called by the destructor where it was not.
  void finish();

  /// Units a second since the start, or since the resume.
  double speed() const;
  /// The mean loss with weights that fall by 5 % a step, corrected for its start at zero.
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

/// "42s", "3m05s", "2h07m": short, rounded to what matters; "?" for what is not a time.
std::string short_time(double seconds);
/// 3612.4 → "3,612"; 4.237 → "4.24".
std::string short_number(double value);

}  // namespace tapestry::kit
