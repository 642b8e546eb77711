// Measurements of speculative decoding: words per pass and time of several ways to continue the same prompts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lessons/20_gpt/char_corpus.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/speculative.hpp"
#include "nn/transformer/language_model.hpp"

namespace tapestry::lesson37 {

/// Length of the training windows, in characters. No generated text is longer, prompt included.
inline constexpr Size kContext = 256;
/// Length of a prompt, in characters.
inline constexpr Size kPrompt = 32;

/// Returns the options of a rotary model with `layers` blocks of this width, in heads of 16 components.
TransformerOptions model_options(Size layers, Size width, Size vocabulary);

/// Returns `count` prompts of kPrompt characters from evenly spaced places of the text.
std::vector<Ids> prompts_of(const Ids& text, Size count);

/// Compares the counts of drawn tokens with the probabilities p by χ². Returns the distance of χ² from its mean, in
/// standard deviations.
double deviations_of_counts(const std::vector<double>& counts, const std::vector<double>& p);

/// Way to continue a prompt.
struct Writer {
  std::string name;                                                            ///< for tables
  std::function<Speculated(const Ids& prompt, const SamplingOptions&)> write;  ///< continues a prompt
};

/// Generation without a draft, by sample(). One pass of the model per word.
Writer one_by_one(const LanguageModel& target);
/// Speculation with a smaller model; `branches` as in ModelDraft. The models must outlive the result.
Writer with_model(std::string name, const LanguageModel& target, const LanguageModel& small,
                  std::vector<Size> branches);
/// Speculation with prompt look-up of `count` words after up to `longest` equal ones.
Writer with_lookup(std::string name, const LanguageModel& target, Size longest, Size count);

/// Result of a writer over all prompts.
struct Measured {
  std::string name;              ///< of the writer
  SpeculationStatistics counts;  ///< sum over the prompts
  std::vector<Ids> texts;        ///< generated words, one text per prompt
  double seconds = 0;            ///< of the fastest round
};

/// Continues all prompts with each writer, in turns, `rounds` times.
std::vector<Measured> measure(const std::vector<Writer>& writers, const std::vector<Ids>& prompts,
                              const SamplingOptions& options, Size rounds);

/// Returns the shortest time of one pass of the model over `words` words that follow kContext / 2 cached ones, in
/// seconds.
double seconds_of_pass(const LanguageModel& model, Size words, Size rounds);

}  // namespace tapestry::lesson37
