// The measurements of lesson 23: statistics of hiding, a check of the head, pretraining, recovered words, and
// accuracy with few labels.
#pragma once

#include <functional>

#include "lessons/23_bert/model.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson23 {

/// The function hide() of the chapter.
using Hide = std::function<Row(const Dictionary& dictionary, Row row, Random& random, double share)>;
/// The chapter's loss. It maps the encoder's states (B, T, width) and the answers to a scalar.
using Loss = std::function<Tensor(const Tensor& states, const MaskedModel& model, const Indices& answers)>;

/// Prints a text, the model's input and the answers. In the input one word is masked, one replaced and one
/// kept.
void show_hiding(const Hide& hide, const Dictionary& dictionary, std::uint64_t seed);

/// Percentages over many sentences.
struct Fates {
  double chosen = 0;                         ///< of all words
  double masked = 0, same = 0, another = 0;  ///< of the chosen words
};
Fates count_fates(const Hide& hide, const Dictionary& dictionary, const kit::Options& options);

/// Runs gradcheck on the loss by hand, and compares its value and gradients with those of nn/.
void check_head(const Loss& loss, const Hide& hide, const Dictionary& dictionary, std::uint64_t seed,
                kit::Report& report);

/// Trains on rows of sentences that have a mood. Half of the rows have both languages, the others one.
void pretrain(MaskedModel& model, const Hide& hide, const Dictionary& dictionary,
              const kit::Options& options);

/// Hides one word of the half `segment` in each new sentence and returns the percentage of words recovered.
enum class Given { both_halves, own_half };
double recovered(MaskedModel& model, const Dictionary& dictionary, std::int64_t segment, Given given,
                 const kit::Options& options);

/// Draws every head's weights for one sentence in both languages, to attention.svg. For the words of 50 new
/// sentences, finds the head with the most weight on the other language, and returns this weight in per cent.
double show_attention(MaskedModel& model, const Dictionary& dictionary, const kit::Options& options);

/// Prints four sentences with their labels.
void show_labels(const kit::Options& options);

/// Trains classifiers on 8 to 128 labels, from the pretrained encoder and from random weights. Prints their
/// accuracies and draws them, to labels.svg.
struct FewLabels {
  double tuned = 0, untaught = 0;  ///< accuracy at 32 labels, in per cent of 400 new sentences; means of 5
  double unknown = 0;              ///< test words that occur in none of the 32 sentences, in per cent
};
FewLabels few_labels(const MaskedModel& pretrained, const Dictionary& dictionary,
                     const kit::Options& options);

}  // namespace tapestry::lesson23
