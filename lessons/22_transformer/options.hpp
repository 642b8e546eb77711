// The command line of a lesson that trains transformer translators: what can be chosen, and what is usual
// where.
#pragma once

#include <filesystem>
#include <string>

#include "lessons/kit/translation/options.hpp"
#include "lessons/kit/translation/transformer_config.hpp"

namespace tapestry::kit {

/// What is usual for a task, where nothing was given.
struct TransformerRecipe {
  /// Of the config: see there. Then sentences in a step, passes over the text, and byte pairs to learn, which
  /// cut words into pieces (0: whole words).
  Size layers = 3, width = 192, heads = 4, hidden = 384, batch = 64, epochs = 1, merges = 0;
  /// Of the config: see there. Then the learning rate at its highest, and the share of the steps in which it
  /// rises; share of the target that the other words get (label smoothing); decay of the average of weights,
  /// 0 for none; how much a search makes up for length.
  double word_dropout = 0, dropout = 0, rate = 1e-3, rise = 0.1, smoothing = 0.1, average = 0,
         length_power = 0.6;
};

/// What the options say.
struct TransformerSettings : TranslationSettings {
  TransformerConfig config;
  TransformerRecipe recipe;
};

/// Adds the options to the program; `toy` is the recipe for the built-in text, `real` the one for --data.
void offer(Lesson& program, TransformerSettings& settings, const TransformerRecipe& toy,
           const TransformerRecipe& real);

/// Takes from the recipe what the command line did not give; for use in the lesson's body. The decoder is the
/// usual one: config.recurrent_decoder can be set afterwards.
void follow(const Lesson& program, const TransformerRecipe& recipe, TransformerSettings& settings);

/// Folder of one translator: out/task, or out/task-recurrent with the other decoder.
std::filesystem::path folder_of(const std::filesystem::path& out, const std::string& task,
                                const TransformerConfig& config);

/// The training that the options ask for, into folder_of(options.out, options.folder(task), config). `pairs` is
/// how many there are to train on, for --epochs; 0: the task knows steps alone. The run's name says all that
/// makes it another run when it changes; `task` opens it.
TranslatorTraining training_of(const Options& options, const TransformerSettings& settings,
                               const std::string& task, const TransformerConfig& config,
                               std::size_t pairs = 0);

}  // namespace tapestry::kit
