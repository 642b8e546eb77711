// The lookup task with one decoder and several scores: nn/'s models, their training, accuracy and weights. Also the
// trail task, which shows the effect of input feeding.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lessons/12_luong/lookups.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/tasks/gru_step.hpp"
#include "nn/seq2seq/seq2seq.hpp"

namespace tapestry::lesson12 {

/// The five scores of the chapter, and lesson 08's scaled dot product.
enum class Kind { dot, general, concat, location, fully_connected, scaled_dot };

struct Sizes {
  Size embedding, query, key, units, longest;
};
/// Returns a score for the option .score of nn/'s decoders.
ScoreFactory make_score(Kind kind, const Sizes& sizes);
std::string name_of(Kind kind);

/// The inputs of one step of nn/'s Luong decoder, in f64: two rows with widths that differ. The second source has two
/// states of padding at its end.
struct OneStep {
  OneStep(Kind kind, std::uint64_t seed);
  kit::GruWeights gru() const;
  /// Returns nn/'s logits and weights, concatenated.
  Tensor by_nn() const;
  /// Returns all tensors that the step depends on.
  std::vector<Tensor> leaves() const;

  Kind kind;
  LuongDecoder decoder;
  Indices words;               // (2)
  Tensor fed, before, source;  // (2, 5), (2, d_q), (2, 5, 6)
  ValidLengths lengths;
};

/// new_state: Luong's order, step and then attend. old_state: Bahdanau's order, attend and then step.
enum class Asks { new_state, old_state };

/// nn/'s LuongTranslator or Translator. The encoder has 32 units in each direction, so a key has 64 numbers. The
/// decoder has 64 units.
struct Finder {
  Finder(Kind kind, Asks asks, bool input_feeding = false);

  Kind kind;
  Asks asks;
  std::unique_ptr<SequenceModel> model;
  const Attention* attention = nullptr;  // part of the model
  std::string name() const;
};

/// Accuracy and attention weights of a finder for lists of one length.
struct Counted {
  double symbols = 0, strings = 0;  ///< Percentage of right answers, and of lists with only right answers.
  double on_pair = 0;               ///< Weight on the asked letter and its digit, in per cent.
  double shared = 0;                ///< Weight that two questions of one list have in common, in per cent.
};

struct Result {
  Finder finder;
  std::map<Size, Counted> at;  ///< For 2, 4, … 16 pairs.
};

/// Trains for options.steps on lists of 2 to 8 pairs, then tests 1,000 lists of each length.
Result look_up(Kind kind, Asks asks, const kit::Options& options);

/// Prints one row per result.
void print_table(const std::vector<Result>& results);
/// Trains with the other scores, and returns all results in the order of Kind. Draws the weights of each score and the
/// right answers for each number of pairs (scores.svg), and prints the table.
std::vector<Result> all_scores(Result dot, const kit::Options& options);
/// Checks each score against its targets. Returns true if all were met.
bool judge_scores(const std::vector<Result>& results, kit::Report& report);

/// Trains on trails, then tests 1,000 trails in lists of 8 pairs. Returns the percentages of right answers, from the
/// first to the fourth, and of whole trails.
struct Trail {
  std::vector<double> answers;
  double whole = 0;
};
Trail follow_trails(bool input_feeding, const kit::Options& options);
/// Draws both results in input_feeding.svg.
void draw_trails_right(const Trail& without, const Trail& with, const kit::Options& options);

/// Shows that an additive score accepts queries of 4 numbers and keys of 6, and a dot product does not.
void two_widths(const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson12
