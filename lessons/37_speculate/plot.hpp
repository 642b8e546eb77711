// Tables and pictures of speculative decoding.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lessons/37_speculate/measure.hpp"

namespace tapestry::lesson37 {

/// Seconds of a pass over one token.
struct Costs {
  double target;  ///< large model
  double draft;   ///< small model
};

/// Prediction of the formula for one draft length.
struct Prediction {
  double words;          ///< tokens per pass
  double speed;          ///< speed-up if the target's pass over several tokens takes as long as over one
  double measured_pass;  ///< speed-up with the measured time of the target's pass over several tokens
};

/// Prints and draws the share of the rounds with each number of accepted guesses.
void show_accepted(const std::vector<double>& counts, const std::filesystem::path& file);
/// Prints one row per draft length. results[0] is the generation without a draft.
void print_lengths(const std::vector<Size>& lengths, const std::vector<Measured>& results,
                   const std::vector<Prediction>& predictions);
/// Draws the speed-up against the draft length: measured, and as the formula predicts.
void draw_lengths(const std::vector<Size>& lengths, const std::vector<Measured>& results,
                  const std::vector<Prediction>& predictions, const std::filesystem::path& file);
/// Prints acceptance, tokens per pass and speed-up of each writer. results[0] is the generation without a draft.
void print_drafts(const std::string& heading, const std::vector<Measured>& results);

}  // namespace tapestry::lesson37
