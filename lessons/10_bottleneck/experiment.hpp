// Writing strings backwards through one vector: models of four widths, their training, three measures, pictures.
#pragma once

#include <vector>

#include "lessons/kit/kit.hpp"
#include "lessons/kit/tasks/gru_step.hpp"
#include "lessons/kit/tasks/reversal.hpp"
#include "nn/seq2seq/seq2seq.hpp"

namespace tapestry::lesson10 {

/// Returns the options of nn/'s PlainTranslator, the model of this chapter: a GRU encoder that reads in one direction,
/// whose last state is the code, and a GRU decoder.
TranslatorOptions sizes(Size vocabulary, Size embedding, Size hidden, Size readout);

/// Returns the weights of a GRU's cell or layer, for kit::gru_step.
kit::GruWeights gru_weights(const Module& gru);

/// A model for the task, with `hidden` numbers in its code.
struct Reverser {
  explicit Reverser(Size hidden);

  Size hidden;
  PlainTranslator model;
};

/// Trains for options.steps. Models of all widths get the same strings.
void train(Reverser& reverser, const kit::Options& options);

/// Percentages of right answers for strings of one length. <end> counts as a letter.
struct Counted {
  double exact = 0, letters = 0;                // in free decoding
  double exact_forced = 0, letters_forced = 0;  // under teacher forcing
};

/// Tests 500 fresh strings of each length, from kit::kShortestString on.
std::vector<Counted> count_all(const Reverser& reverser, const kit::Options& options);
/// Returns the entry for a length.
const Counted& at_length(const std::vector<Counted>& counted, Size length);
/// Returns the largest difference between exact match under teacher forcing and in free decoding, in points.
double furthest_apart(const std::vector<Counted>& counted);

/// Prints a string of 16 letters, its target, and the output under teacher forcing and in free decoding.
void write_one(const Reverser& reverser, const kit::Options& options);
/// Draws all three measures for each length, in ways_to_count.svg.
void draw_ways_to_count(const std::vector<Counted>& counted, Size hidden, const kit::Options& options);

/// A width, and the length at which exact match falls to half.
struct Width {
  Size hidden, weights;
  double half_length;
};

/// Trains the other three of the widths 32, 64, 128 and 256, and prints a row for each. Draws exact match for each
/// length in lengths.svg.
std::vector<Width> widen(const std::vector<Counted>& of_64, const kit::Options& options);
/// Checks that each doubling of the width increases the half length by at least one letter. Returns true if it also
/// increases it by less than half of its previous value.
bool few_letters_more(const std::vector<Width>& widths, kit::Report& report);

}  // namespace tapestry::lesson10
