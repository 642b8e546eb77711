// Reversing strings through one vector: models of four widths, their training, three ways to count, pictures.
#pragma once

#include <vector>

#include "lessons/kit/kit.hpp"
#include "lessons/kit/tasks/gru_step.hpp"
#include "lessons/kit/tasks/reversal.hpp"
#include "nn/seq2seq/seq2seq.hpp"

namespace tapestry::lesson10 {

/// Of nn/'s PlainTranslator, which is the chapter's model: a GRU that reads in one direction, its last state
/// as the code, a GRU that writes.
TranslatorOptions sizes(Size vocabulary, Size embedding, Size hidden, Size readout);

/// Of a GRU's cell or layer, as kit::gru_step takes them.
kit::GruWeights gru_weights(const Module& gru);

/// A model for the task, with `hidden` numbers in its code.
struct Reverser {
  explicit Reverser(Size hidden);

  Size hidden;
  PlainTranslator model;
};

/// Trains for options.steps. All widths see the same strings.
void train(Reverser& reverser, const kit::Options& options);

/// What is right of the strings of one length, in per cent. <end> counts as a letter.
struct Counted {
  double exact = 0, letters = 0;                // in free decoding
  double exact_forced = 0, letters_forced = 0;  // under teacher forcing
};

/// Of 500 fresh strings of each length from kit::kShortestString on.
std::vector<Counted> count_all(const Reverser& reverser, const kit::Options& options);
/// Of these, the one for a length.
const Counted& at_length(const std::vector<Counted>& counted, Size length);
/// Whole strings right, forced and free: how far apart they are at most, in points.
double furthest_apart(const std::vector<Counted>& counted);

/// Prints a string of 16 letters, what is wanted, and what comes under teacher forcing and in free decoding.
void write_one(const Reverser& reverser, const kit::Options& options);
/// Letters forced, letters free, whole strings, against length; to ways_to_count.svg.
void draw_ways_to_count(const std::vector<Counted>& counted, Size hidden, const kit::Options& options);

/// A width, and how long a string may be before half of them go wrong.
struct Width {
  Size hidden, weights;
  double half_length;
};

/// Trains the other three of the widths 32, 64, 128, 256, prints a row for each, and draws exact match
/// against length to lengths.svg.
std::vector<Width> widen(const std::vector<Counted>& of_64, const kit::Options& options);
/// Holds the letters that each doubling gains against 1; returns whether they are that many, and less than
/// half of those before.
bool few_letters_more(const std::vector<Width>& widths, kit::Report& report);

}  // namespace tapestry::lesson10
