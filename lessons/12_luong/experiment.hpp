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
enum class QueryState { new_state, old_state };

/// nn/'s LuongTranslator or Translator. The encoder has 32 units in each direction, so a key has 64 numbers. The
/// decoder has 64 units.
struct LookupModel {
  LookupModel(Kind kind, QueryState query_state, bool input_feeding = false);

  Kind kind;
  QueryState query_state;
  std::unique_ptr<SequenceModel> network;
  const Attention* attention = nullptr;  // part of the network
  std::string name() const;
};

/// Accuracy and attention weights for lists of one length.
struct LookupAccuracy {
  double symbols = 0, strings = 0;  ///< Percentage of right answers, and of lists with only right answers.
  double weight_on_pair = 0;        ///< Weight on the asked letter and its digit, in per cent.
  double weight_in_common = 0;      ///< Weight that two questions of one list have in common, in per cent.
};

/// A trained model and its test results.
struct Result {
  LookupModel model;
  std::map<Size, LookupAccuracy> at;  ///< For 2, 4, … 16 pairs.
};

/// Trains for options.steps on lists of 2 to 8 pairs, then tests 1,000 lists of each length.
Result look_up(Kind kind, QueryState query_state, const kit::Options& options);

/// Prints one row per result.
void print_table(const std::vector<Result>& results);
/// Trains with the other scores, and returns all results in the order of Kind. Draws the weights of each score and the
/// right answers for each number of pairs (scores.svg), and prints the table.
std::vector<Result> all_scores(Result dot, const kit::Options& options);
/// Checks each score against its targets. Returns true if all were met.
bool check_scores(const std::vector<Result>& results, kit::Report& report);

/// Percentages of right answers to the four questions of a trail, and of trails with only right answers.
struct TrailAccuracy {
  std::vector<double> answers;
  double whole = 0;
};
/// Trains on trails, then tests 1,000 trails in lists of 8 pairs.
TrailAccuracy follow_trails(bool input_feeding, const kit::Options& options);
/// Draws both results in input_feeding.svg.
void draw_trails_right(const TrailAccuracy& without, const TrailAccuracy& with, const kit::Options& options);

/// Shows that an additive score accepts queries of 4 numbers and keys of 6, and a dot product does not.
void check_two_widths(const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson12
