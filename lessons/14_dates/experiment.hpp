// Trains translators of dates with three forcing ratios. Measures the effect of one wrong digit, and draws the
// alignments.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/tensor/random.hpp"
#include "lessons/14_dates/dates.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/seq2seq/translator.hpp"

namespace tapestry::lesson14 {

/// A small model in f64 with two short sequences and their targets, to check the chapter's write().
struct Small {
  explicit Small(std::uint64_t seed);
  Encoded read() const;

  Translator model;
  Indices right;  ///< (2, 6): <start> y_1 …
};

/// Returns a function that calls `f` with the coins reset to their start.
template <class F>
auto with_same_coins(std::uint64_t seed, F f) {
  return [=] {
    set_random(seed, 1);
    return f();
  };
}

/// Sums the logits of the first row's last step. Returns the largest difference between 1 and an element of the
/// gradient with respect to the output layer's bias.
double bias_gradient_error(const Small& small, const std::function<Tensor()>& logits);

using Dates = std::vector<kit::DateText>;

/// Draws dates of unseen days. Prints a few other examples with their targets.
Dates test_dates(const kit::Options& options);

/// A translator trained with the forcing ratio `ratio`.
struct Trained {
  double ratio = 1;
  std::unique_ptr<Translator> model;
  kit::Series
      curve;  ///< exact match on unseen dates in free decoding, in per cent, after each number of steps
  double seconds_per_step = 0;

  /// Returns the interpolated step at which half of the dates are right, or NaN if that never happens.
  double steps_to_half() const;
};

/// Trains the translator from lesson 11, with 32 units in each direction of the encoder and 64 in the decoder.
/// The initial weights and the dates are the same at every ratio.
Trained train_with(double ratio, const kit::Options& options);

/// Returns the percentage of dates with ten right characters followed by <end>, in free decoding.
double exact_match(const Trained& trained, const Dates& dates);

/// The positions of the wrong digits in 2026-11-21: all digits but the last, which no digit follows.
inline constexpr Size kWrongDigits[] = {0, 1, 2, 3, 5, 6, 8};
/// Test results when one digit of the decoder's input is wrong and the decoder then continues with its own outputs.
struct ErrorRecovery {
  std::vector<double> rest_right;  ///< fraction of dates whose rest is right, for each of kWrongDigits
  double mean = 0;                 ///< mean of rest_right, in %
  double month = 0;                ///< rest_right of the month's first digit, in %
  /// Percentage of months 03 … 09 that become a valid month, 10 … 12, after the wrong first digit 1.
  double valid_months = 0;
};
ErrorRecovery measure_recovery(const Trained& trained, const Dates& dates);

/// Draw ratios.svg, the exact match over the training steps, and slips.svg, the effect of wrong digits.
void draw_curves(const std::vector<Trained>& all, const kit::Options& options);
void draw_recovery(const std::vector<Trained>& all, const std::vector<ErrorRecovery>& recovery,
                   const kit::Options& options);

/// Mean weights of the digits in correctly written dates, in per cent.
struct AlignmentStatistics {
  double month_on_month = 0;  ///< weight of the month's two digits on the month
  double max_on_stray = 0;    ///< weight on the stray characters: the largest of year, month and day
  /// For months written with at least seven letters: the part of the weight on the name that is on three
  /// letters.
  double on_three_letters = 0;
};

/// Draws parts.svg, the weights of each part of the date on each part of the source, and alignment.svg, the alignment
/// of one date.
AlignmentStatistics measure_alignments(const Trained& trained, const Dates& dates,
                                       const kit::Options& options);

}  // namespace tapestry::lesson14
