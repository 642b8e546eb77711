// The command line of a lesson that trains recurrent translators: what can be chosen, and what is usual
// where.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lessons/kit/text/word_vectors.hpp"
#include "lessons/kit/translation/options.hpp"
#include "lessons/kit/translation/recurrent_config.hpp"

namespace tapestry::kit {

/// What is usual for a task, where nothing was given.
struct TranslatorRecipe {
  /// Numbers for a word; units of the decoder, and of the encoder each way; sentences in a step; passes over
  /// the text.
  Size embedding = 256, hidden = 256, batch = 64, epochs = 1;
  /// Of embeddings and readout; share of the target that the other words get (label smoothing); the learning
  /// rate at its highest, and the share of the steps at it before it falls; decay of the average of weights,
  /// 0 for none; sentences more, as a share, joined in twos and threes.
  double dropout = 0, smoothing = 0.1, rate = 1e-3, hold = 0, average = 0, joined = 0;
  /// One matrix for target words that go in and those that come out (Press & Wolf 2017).
  bool tied = false;
};

/// What the options say.
struct TranslatorSettings : TranslationSettings {
  TranslatorConfig config;
  TranslatorRecipe recipe;
  std::filesystem::path embeddings;
  bool compare = false;
  /// It was on the command line.
  bool embedding_given = false;
};

/// Adds the options to the program; `toy` is the recipe for the built-in text, `real` the one for --data.
void offer(Lesson& program, TranslatorSettings& settings, const TranslatorRecipe& toy,
           const TranslatorRecipe& real);

/// Takes from the recipe what the command line did not give; for use in the lesson's body.
void follow(const Lesson& program, const TranslatorRecipe& recipe, TranslatorSettings& settings);

/// The translators to train: the one asked for; with `and_none` one without attention too, to compare; or, if
/// --compare was given, one for each score.
std::vector<TranslatorConfig> plans_of(const TranslatorSettings& settings, bool and_none);

/// Folder of one translator: out/task, and what of score and encoder is not the usual, as in
/// out/multi30k-en-fr-none.
std::filesystem::path folder_of(const std::filesystem::path& out, const std::string& task,
                                const TranslatorConfig& config);

/// The vectors of --embeddings for the source words, or none; the config's embedding becomes as wide as they
/// are. Says what was found. Throws UsageError for another --embedding.
WordVectors embeddings_for(const Vocabulary& source, TranslatorSettings& settings);

/// The training that the options ask for, into folder_of(options.out, folder, config). `pairs` is how many
/// there are to train on, for --epochs; 0: the task knows steps alone. The run's name says all that makes it
/// another run when it changes; `task` opens it.
TranslatorTraining training_of(const Options& options, const TranslatorSettings& settings,
                               const std::string& task, const std::string& folder,
                               const TranslatorConfig& config, std::size_t pairs = 0);

}  // namespace tapestry::kit
