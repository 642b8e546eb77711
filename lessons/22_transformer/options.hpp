// The command line of a lesson that trains transformer translators: the options and their defaults.
#pragma once

#include <filesystem>
#include <string>

#include "lessons/kit/translation/options.hpp"
#include "lessons/kit/translation/transformer_config.hpp"

namespace tapestry::kit {

/// The default values for a task.
struct TransformerRecipe {
  /// Fields of the config, documented there. Then the batch size in sentences, passes over the text, and
  /// byte-pair merges to learn, which split words into pieces (0 for whole words).
  Size layers = 3, width = 192, heads = 4, hidden = 384, batch = 64, epochs = 1, merges = 0;
  /// Fields of the config, documented there. Then the highest learning rate, the fraction of the steps in which
  /// it rises, the target probability of the other words (label smoothing), the decay of the average of weights
  /// (0 for none), and the strength of the length correction in a search.
  double word_dropout = 0, dropout = 0, rate = 1e-3, rise = 0.1, smoothing = 0.1, average = 0,
         length_power = 0.6;
};

/// The values of the options.
struct TransformerSettings : TranslationSettings {
  TransformerConfig config;
  TransformerRecipe recipe;
};

/// Adds the options to the program. `toy` is the recipe for the built-in text, `real` the one for --data.
void add_options(Lesson& program, TransformerSettings& settings, const TransformerRecipe& toy,
                 const TransformerRecipe& real);

/// Fills the values that the command line did not give from the recipe. Call it in the lesson's body. The
/// decoder is the transformer decoder; config.recurrent_decoder can be set afterwards.
void apply_recipe(const Lesson& program, const TransformerRecipe& recipe, TransformerSettings& settings);

/// Returns the folder of one translator: out/task, or out/task-recurrent with the recurrent decoder.
std::filesystem::path folder_of(const std::filesystem::path& out, const std::string& task,
                                const TransformerConfig& config);

/// Returns the training that the options describe, with the folder folder_of(options.out, options.folder(task),
/// config). `pairs` is the number of training pairs, for --epochs; with 0, the task has only steps. The run's
/// name starts with `task` and contains every setting that distinguishes this run from others.
TranslatorTraining training_of(const Options& options, const TransformerSettings& settings,
                               const std::string& task, const TransformerConfig& config,
                               std::size_t pairs = 0);

}  // namespace tapestry::kit
