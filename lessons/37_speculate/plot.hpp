// Tables and pictures of speculative decoding.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lessons/37_speculate/measure.hpp"

namespace tapestry::lesson37 {

/// Time of one pass of each model over one token, in seconds.
struct PassSeconds {
  double target;  ///< of the target (large) model
  double draft;   ///< of the draft (small) model
};

/// Predictions for one draft length, the number of guesses per pass.
struct Prediction {
  double tokens_per_pass;         ///< expected_tokens_per_pass() of the lesson, for the measured acceptance
  double speed_up;                ///< if the target's pass over several tokens takes as long as over one
  double speed_up_measured_pass;  ///< with the measured time of the target's pass over several tokens
};

/// Prints and draws the fraction of the rounds with each number of accepted guesses; counts[i] rounds accepted i.
void show_accepted(const std::vector<double>& counts, const std::filesystem::path& file);
/// Prints one row per draft length. results[0] is the generation without a draft, results[i + 1] belongs to lengths[i]
/// and predictions[i].
void print_lengths(const std::vector<Size>& lengths, const std::vector<Measured>& results,
                   const std::vector<Prediction>& predictions);
/// Draws the speed-up against the draft length, measured and predicted. The results are as in print_lengths().
void draw_lengths(const std::vector<Size>& lengths, const std::vector<Measured>& results,
                  const std::vector<Prediction>& predictions, const std::filesystem::path& file);
/// Prints acceptance, tokens per pass and speed-up of each writer. results[0] is the generation without a draft.
void print_drafts(const std::string& heading, const std::vector<Measured>& results);

}  // namespace tapestry::lesson37
