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

/// Prints a text, the model's input and the answers. In the input, one word is masked, one is replaced and one is
/// unchanged.
void show_masking(const Hide& hide, const Dictionary& dictionary, std::uint64_t seed);

/// Percentages over many sentences.
struct MaskingStatistics {
  double chosen = 0;                         ///< of all words
  double masked = 0, same = 0, another = 0;  ///< of the chosen words
};
MaskingStatistics count_masking(const Hide& hide, const Dictionary& dictionary, const kit::Options& options);

/// Runs gradcheck on the loss by hand, and compares its value and gradients with those of nn/.
void check_head(const Loss& loss, const Hide& hide, const Dictionary& dictionary, std::uint64_t seed,
                kit::Report& report);

/// Trains on rows of sentences that have a mood. Half of the rows have both languages, the others one.
void pretrain(MaskedModel& model, const Hide& hide, const Dictionary& dictionary,
              const kit::Options& options);

/// The model's input: both languages, or only the language with the hidden word.
enum class Context { both_languages, own_language };
/// Hides one word of the language `segment` in each new sentence. Returns the percentage of words recovered.
double recovered(MaskedModel& model, const Dictionary& dictionary, std::int64_t segment, Context context,
                 const kit::Options& options);

/// Draws attention.svg, the weights of each head for one sentence in both languages. For the words of 50 new sentences,
/// finds the head with the most weight on the other language, and returns this weight in %.
double show_attention(MaskedModel& model, const Dictionary& dictionary, const kit::Options& options);

/// Prints four sentences with their labels.
void show_labels(const kit::Options& options);

/// Results with 32 labels, in %. Accuracies are means over five draws of the labels, each on 400 new sentences.
struct FewLabels {
  double fine_tuned = 0, from_random = 0;  ///< accuracy from the pretrained encoder and from random weights
  double unknown = 0;                      ///< test words that occur in none of the 32 sentences
};
/// Trains classifiers on 8 to 128 labels, from the pretrained encoder and from random weights. Prints their
/// accuracies and draws labels.svg.
FewLabels few_labels(const MaskedModel& pretrained, const Dictionary& dictionary,
                     const kit::Options& options);

}  // namespace tapestry::lesson23
