// The command line of a lesson that trains recurrent translators: its options and their defaults.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lessons/kit/text/word_vectors.hpp"
#include "lessons/kit/translation/options.hpp"
#include "lessons/kit/translation/recurrent_config.hpp"

namespace tapestry::kit {

/// The default values for a task.
struct TranslatorRecipe {
  /// Numbers in the embedding of a word; hidden units of the decoder and of each direction of the encoder;
  /// sentences in a batch; passes over the text.
  Size embedding = 256, hidden = 256, batch = 64, epochs = 1;
  /// Dropout of the embeddings and the readout; label smoothing; highest learning rate; fraction of the steps
  /// at the highest learning rate, before it falls; decay of the moving average of the weights, 0 for no
  /// average; additional sentences, joined in twos and threes, as a fraction of the text.
  double dropout = 0, smoothing = 0.1, rate = 1e-3, hold = 0, average = 0, joined = 0;
  /// True if the target embedding and the output layer use one matrix (Press & Wolf 2017).
  bool tied = false;
};

/// The values of the options.
struct TranslatorSettings : TranslationSettings {
  TranslatorConfig config;
  TranslatorRecipe recipe;
  std::filesystem::path embeddings;
  bool compare = false;
  /// True if --embedding was on the command line.
  bool embedding_given = false;
};

/// Adds the options to the program; `toy` is the recipe for the built-in text, `real` the one for --data.
void add_options(Lesson& program, TranslatorSettings& settings, const TranslatorRecipe& toy,
                 const TranslatorRecipe& real);

/// Sets each option that was not on the command line to the recipe's value. Call it in the lesson's body.
void apply_recipe(const Lesson& program, const TranslatorRecipe& recipe, TranslatorSettings& settings);

/// Returns the translators to train: the one from the options; with `and_none`, also one without attention for
/// comparison; with --compare, one for each score.
std::vector<TranslatorConfig> plans_of(const TranslatorSettings& settings, bool and_none);

/// Returns the folder of one translator: out/task, followed by the score and the encoder if they differ from
/// the defaults, as in out/multi30k-en-fr-none.
std::filesystem::path folder_of(const std::filesystem::path& out, const std::string& task,
                                const TranslatorConfig& config);

/// Returns the vectors from --embeddings for the source words, or none, and sets the config's embedding to
/// their width. Prints the number of words found. Throws UsageError if --embedding gives another width.
WordVectors embeddings_for(const Vocabulary& source, TranslatorSettings& settings);

/// Returns the training that the options describe, with results in folder_of(options.out, folder, config).
/// `pairs` is the number of training pairs, for --epochs; with 0, only --steps is used. The run's name begins
/// with `task` and contains every setting that changes the run.
TranslatorTraining training_of(const Options& options, const TranslatorSettings& settings,
                               const std::string& task, const std::string& folder,
                               const TranslatorConfig& config, std::size_t pairs = 0);

}  // namespace tapestry::kit
