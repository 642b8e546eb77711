// What lesson 14 trains, measures and draws: translators of dates that were fed in three ways, what a slip
// does to them, and where they look.
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

/// Two short sentences and their targets for a model of a few weights, in f64: to check write() with.
struct Small {
  explicit Small(std::uint64_t seed);
  Encoded read() const;

  Translator model;
  Indices right;  ///< (2, 6): <start> y_1 …
};

/// What `f` gives when its coins start anew.
template <class F>
auto same_coins(std::uint64_t seed, F f) {
  return [=] {
    set_random(seed, 1);
    return f();
  };
}

/// How far the gradient of the output layer's bias is from 1, at the farthest, when the last step's logits of
/// the first row are summed up.
double bias_gradient_beyond_one(const Small& small, const std::function<Tensor()>& logits);

using Dates = std::vector<kit::DateText>;

/// Dates of unseen days. Prints a few others, and what is to be made of them.
Dates test_dates(const kit::Options& options);

/// A translator that was fed right characters with this probability.
struct Trained {
  double ratio = 1;
  std::unique_ptr<Translator> model;
  kit::Series curve;  ///< exact match on unseen dates in free decoding against steps, in per cent
  double seconds_a_step = 0;

  /// The step at which the curve reaches half of the dates, interpolated; NaN if it never does.
  double steps_to_half() const;
};

/// lesson 11's translator, 32 units in each direction and 64 to write with. The first weights and the dates
/// are the same at every ratio.
Trained train_with(double ratio, const kit::Options& options);

/// Free decoding: in per cent, with all ten characters right, and <end> behind them.
double exact_match(const Trained& trained, const Dates& dates);

/// One wrong digit is put into the input in place of the right one, and the decoder goes on alone.
struct Slips {
  std::vector<double> rest_right;  ///< the share of dates whose rest is right, for each of kSlipDigits
  double mean = 0, month = 0;      ///< at any of the places, and at the month's first digit; per cent
  /// Fed a 1 as the first digit of 03 … 09: how often the second is 0, 1 or 2, in per cent.
  double taken_for_autumn = 0;
};
inline constexpr Size kSlipDigits[] = {0, 1, 2, 3, 5, 6, 8};  // of 2026-11-21; behind the last is nothing
Slips slip(const Trained& trained, const Dates& dates);

/// Exact match against steps to ratios.svg; what comes right after a slip to slips.svg.
void draw_curves(const std::vector<Trained>& all, const kit::Options& options);
void draw_slips(const std::vector<Trained>& all, const std::vector<Slips>& slips,
                const kit::Options& options);

/// Mean weights of the digits of dates that were written right, in per cent.
struct Looked {
  double month_on_month = 0;  ///< of the month's two digits on the month
  double most_on_stray = 0;   ///< of year, month or day, whichever put most there, on the stray characters
  /// Where the month is a name of seven letters or more: the share of its weight that lies on three letters.
  double on_three_letters = 0;
};

/// Draws the parts of the source that each part of the date looked at, to parts.svg, and one
/// date's alignment to alignment.svg.
Looked look(const Trained& trained, const Dates& dates, const kit::Options& options);

}  // namespace tapestry::lesson14
