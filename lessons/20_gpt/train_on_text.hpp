// Training of a language model on characters: sizes, schedule, checkpoints, log, and validation during
// training.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "lessons/20_gpt/char_corpus.hpp"
#include "lessons/kit/program/options.hpp"
#include "lessons/kit/train/resume.hpp"

namespace tapestry::lesson20 {

/// Sizes of a model and of its training run.
struct LanguageRecipe {
  Size layers = 4, heads = 4, width = 128;
  /// Context length in characters, and number of windows in a batch.
  Size context = 64, batch = 12;
  Size steps = 2000;
  double dropout = 0;
  /// The highest learning rate of the schedule.
  double rate = 2e-3;
  /// "learned" or "rotary".
  std::string positions = "learned";
};

/// Returns the options of a GPT as in Radford et al. (2018, 2019): pre-norm blocks, GELU, and tied embeddings.
TransformerOptions language_model_options(const LanguageRecipe& recipe, Size vocabulary);

/// Adds --layers, --heads, --width, --context, --batch, --dropout, --rate and --positions to the program. Sets
/// `recipe` to `usual`. The help also states the values of `otherwise`, which apply `where`.
void add_options(kit::Lesson& program, LanguageRecipe& recipe, const LanguageRecipe& usual,
                 const LanguageRecipe& otherwise, const std::string& where);
/// Fills the sizes that the command line did not give from `usual`. Call it in the lesson's body. Throws
/// kit::UsageError for sizes that do not fit together.
void apply_recipe(const kit::Lesson& program, const LanguageRecipe& usual, LanguageRecipe& recipe);

struct LanguageTraining {
  LanguageRecipe recipe;
  /// The directory for checkpoint.safetensors and log.csv.
  std::filesystem::path out;
  /// Ignores an existing checkpoint.
  bool fresh = false;
  std::uint64_t seed = 1;
  /// Number of steps between two losses on a part of the validation text.
  Size steps_per_look = 0;
  /// Stops after this step and saves a checkpoint; 0 trains to the end.
  Size stop_after = 0;
  /// The ranks that train together. One rank gives the same result as no ranks.
  kit::Ranks ranks = {};
};

/// Trains with AdamW (weight decay for matrices, none for vectors), or resumes from this run's checkpoint.
/// Batches and dropout depend only on the seed, the step and the part of a batch. So a run that was interrupted
/// ends with the same weights, bit for bit, as an uninterrupted one on the same number of ranks. Any number of
/// ranks may resume it. Prints time and memory, and returns the final place: steps, characters (as words), and
/// seconds.
kit::RunPlace train_language_model(LanguageModel& model, const kit::CharCorpus& corpus,
                                   const LanguageTraining& how);

/// A model loaded from a checkpoint.
struct SavedLanguageModel {
  Characters characters;
  LanguageRecipe recipe;
  std::unique_ptr<LanguageModel> model;
};
/// Throws kit::UsageError if the file is missing or damaged.
SavedLanguageModel load_language_model(const std::filesystem::path& file);

}  // namespace tapestry::lesson20
