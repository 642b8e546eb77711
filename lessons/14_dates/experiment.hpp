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

/// A model with few weights in f64, two short sequences and their targets, to check write().
struct Small {
  explicit Small(std::uint64_t seed);
  Encoded read() const;

  Translator model;
  Indices right;  ///< (2, 6): <start> y_1 …
};

/// Returns a function that calls `f` with the coins reset to their start.
template <class F>
auto same_coins(std::uint64_t seed, F f) {
  return [=] {
    set_random(seed, 1);
    return f();
  };
}

/// Sums the logits of the first row's last step. Returns the largest difference between 1 and an element of the
/// gradient with respect to the output layer's bias.
double bias_gradient_beyond_one(const Small& small, const std::function<Tensor()>& logits);

using Dates = std::vector<kit::DateText>;

/// Draws dates of unseen days. Prints a few other examples with their targets.
Dates test_dates(const kit::Options& options);

/// A translator trained with the forcing ratio `ratio`.
struct Trained {
  double ratio = 1;
  std::unique_ptr<Translator> model;
  kit::Series
      curve;  ///< exact match on unseen dates in free decoding, in per cent, after each number of steps
  double seconds_a_step = 0;

  /// Returns the interpolated step at which half of the dates are right, or NaN if that never happens.
  double steps_to_half() const;
};

/// Trains the translator from lesson 11, with 32 units in each direction of the encoder and 64 in the decoder.
/// The initial weights and the dates are the same at every ratio.
Trained train_with(double ratio, const kit::Options& options);

/// Returns the percentage of dates with ten right characters followed by <end>, in free decoding.
double exact_match(const Trained& trained, const Dates& dates);

/// Results of replacing one digit of the input with a wrong one and letting the decoder continue alone.
struct Slips {
  std::vector<double> rest_right;  ///< fraction of dates whose rest is right, for each of kSlipDigits
  double mean = 0, month = 0;      ///< mean over these digits, and the month's first digit; per cent
  /// Percentage of months 03 … 09 whose second digit is written as 0, 1 or 2 after the wrong input 1.
  double taken_for_autumn = 0;
};
inline constexpr Size kSlipDigits[] = {0, 1, 2, 3, 5, 6, 8};  // in 2026-11-21; no digit follows the last one
Slips slip(const Trained& trained, const Dates& dates);

/// Draw the exact match over the training steps to ratios.svg, and the effect of wrong digits to slips.svg.
void draw_curves(const std::vector<Trained>& all, const kit::Options& options);
void draw_slips(const std::vector<Trained>& all, const std::vector<Slips>& slips,
                const kit::Options& options);

/// Mean weights of the digits in correctly written dates, in per cent.
struct Looked {
  double month_on_month = 0;  ///< weight of the month's two digits on the month
  double most_on_stray = 0;   ///< weight on the stray characters: the largest of year, month and day
  /// For months written with at least seven letters: the part of the weight on the name that is on three
  /// letters.
  double on_three_letters = 0;
};

/// Draws the weights of each part of the date on each part of the source to parts.svg, and the alignment of one
/// date to alignment.svg.
Looked look(const Trained& trained, const Dates& dates, const kit::Options& options);

}  // namespace tapestry::lesson14
