// Looking letters up with one decoder and several scores: nn/'s models, their training, what they get right
// and where they look; and the trail, which tells input feeding from none.
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

/// The chapter's scores; and lesson 08's, dot with √d.
enum class Kind { dot, general, concat, location, fully_connected, scaled_dot };

struct Sizes {
  Size embedding, query, key, units, longest;
};
/// What nn/'s decoders take as their option .score.
ScoreFactory make_score(Kind kind, const Sizes& sizes);
std::string name_of(Kind kind);

/// All that goes into one step of nn/'s Luong decoder, f64: two rows, widths that differ, and a second source
/// whose last two states are padding.
struct OneStep {
  OneStep(Kind kind, std::uint64_t seed);
  kit::GruWeights gru() const;
  /// nn/'s logits and weights, side by side.
  Tensor by_nn() const;
  /// What the step depends on.
  std::vector<Tensor> leaves() const;

  Kind kind;
  LuongDecoder decoder;
  Indices words;               // (2)
  Tensor fed, before, source;  // (2, 5), (2, d_q), (2, 5, 6)
  ValidLengths lengths;
};

/// Luong's order, step and then attend; Bahdanau's, attend and then step.
enum class Asks { new_state, old_state };

/// nn/'s LuongTranslator or Translator: an encoder of 32 units in each direction, so that a key has 64
/// numbers; a decoder of 64.
struct Finder {
  Finder(Kind kind, Asks asks, bool input_feeding = false);

  Kind kind;
  Asks asks;
  std::unique_ptr<SequenceModel> model;
  const Attention* attention = nullptr;  // the model's
  std::string name() const;
};

/// What a finder gets right of lists of one length, and where it looks.
struct Counted {
  double symbols = 0, strings = 0;  ///< per cent right
  double on_pair = 0;               ///< weight on the letter that is asked for and on its digit, in per cent
  double shared = 0;                ///< weight that two questions of one list have in common, in per cent
};

struct Result {
  Finder finder;
  std::map<Size, Counted> at;  ///< 2, 4, … 16 pairs
};

/// Trains for options.steps on lists of 2 to 8 pairs, then tests 1,000 lists of each length.
Result look_up(Kind kind, Asks asks, const kit::Options& options);

/// One row for each result.
void print_table(const std::vector<Result>& results);
/// Trains with the other scores, and returns all in the order of Kind. Shows where each looked, symbols right
/// against pairs (scores.svg), and the table.
std::vector<Result> all_scores(Result dot, const kit::Options& options);
/// Holds each score against its targets; returns whether all were met.
bool judge_scores(const std::vector<Result>& results, kit::Report& report);

/// Trains on trails, then tests 1,000 trails through lists of 8 pairs: per cent right of the first to the
/// fourth answer, and of whole trails.
struct Trail {
  std::vector<double> answers;
  double whole = 0;
};
Trail follow_trails(bool input_feeding, const kit::Options& options);
/// Both; to input_feeding.svg.
void draw_trails_right(const Trail& without, const Trail& with, const kit::Options& options);

/// What an additive score bears, and a dot product does not: queries of 4 numbers and keys of 6.
void two_widths(const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson12
