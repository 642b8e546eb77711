// What lesson 23 does with its models: hiding counted, the head beside nn/'s, pretraining, hidden words asked
// for, and a handful of labels.
#pragma once

#include <functional>

#include "lessons/23_bert/model.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson23 {

/// The chapter's hide().
using Hide = std::function<Row(const Dictionary& dictionary, Row row, Random& random, double share)>;
/// The chapter's loss: states (B, T, width) of the model's encoder and the answers → a scalar.
using Loss = std::function<Tensor(const Tensor& states, const MaskedModel& model, const Indices& answers)>;

/// Prints a text and what goes in, in which a word became [mask], one became another and one stays.
void show_hiding(const Hide& hide, const Dictionary& dictionary, std::uint64_t seed);

/// Over many sentences, in per cent.
struct Fates {
  double chosen = 0;                         ///< of all words
  double masked = 0, same = 0, another = 0;  ///< of those that were chosen
};
Fates count_fates(const Hide& hide, const Dictionary& dictionary, const kit::Options& options);

/// Gradcheck of the head by hand; its loss and gradients beside nn/'s.
void check_head(const Loss& loss, const Hide& hide, const Dictionary& dictionary, std::uint64_t seed,
                kit::Report& report);

/// On rows of sentences with a mood; half of them have both halves, the others one.
void pretrain(MaskedModel& model, const Hide& hide, const Dictionary& dictionary,
              const kit::Options& options);

/// One word of the half `segment` of each new sentence is hidden. How many come back, in per cent?
enum class Given { both_halves, own_half };
double recovered(MaskedModel& model, const Dictionary& dictionary, std::int64_t segment, Given given,
                 const kit::Options& options);

/// Every head on one sentence in both languages; to attention.svg. Returns how much of its weight the head
/// that looks most at the other language has there, in per cent, for the words of 50 new sentences.
double show_attention(MaskedModel& model, const Dictionary& dictionary, const kit::Options& options);

/// Prints four sentences with their labels.
void show_labels(const kit::Options& options);

/// Trains classifiers on 8 to 128 labels, from the pretrained encoder and from nothing; prints and draws
/// their accuracies, to labels.svg.
struct FewLabels {
  double tuned = 0, untaught = 0;  ///< at 32 labels, in per cent of 400 new sentences: means of five draws
  double unknown = 0;              ///< words of the test that stand in none of the 32, in per cent
};
FewLabels few_labels(const MaskedModel& pretrained, const Dictionary& dictionary,
                     const kit::Options& options);

}  // namespace tapestry::lesson23
