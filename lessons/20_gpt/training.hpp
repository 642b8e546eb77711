// Training a language model on the characters of a text: sizes, schedule, checkpoints, log, and validation on
// the way.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "lessons/20_gpt/char_corpus.hpp"
#include "lessons/kit/program/options.hpp"
#include "lessons/kit/train/resume.hpp"

namespace tapestry::kit {

/// Sizes of a model and of its training.
struct LanguageRecipe {
  Size layers = 4, heads = 4, width = 128;
  /// Characters that it sees at most, and windows in a batch.
  Size context = 64, batch = 12;
  Size steps = 2000;
  double dropout = 0;
  /// The learning rate at its highest.
  double rate = 2e-3;
  /// "learned" or "rotary".
  std::string positions = "learned";
};

/// GPT as in Radford et al. (2018, 2019): pre-norm blocks, GELU, the output tied to the words.
TransformerOptions language_model_options(const LanguageRecipe& recipe, Size vocabulary);

/// Adds --layers, --heads, --width, --context, --batch, --dropout, --rate and --positions to the program.
/// `recipe` becomes the usual one; the help says too what is usual `where` things are otherwise.
void offer(Lesson& program, LanguageRecipe& recipe, const LanguageRecipe& usual,
           const LanguageRecipe& otherwise, const std::string& where);
/// Takes from `usual` what the command line did not give; for use in the lesson's body. Throws UsageError for
/// sizes that do not fit each other.
void follow(const Lesson& program, const LanguageRecipe& usual, LanguageRecipe& recipe);

struct LanguageTraining {
  LanguageRecipe recipe;
  /// Where checkpoint.safetensors and log.csv go.
  std::filesystem::path out;
  /// Forget the checkpoint that may be there.
  bool fresh = false;
  std::uint64_t seed = 1;
  /// The loss on a part of the validation text after so many steps.
  Size steps_per_look = 0;
  /// Stop after this step, with a checkpoint to go on from; 0: go to the end.
  Size stop_after = 0;
  /// Who trains it together. One rank alone makes what no rank makes.
  Ranks ranks = {};
};

/// Trains with AdamW (matrices shrink, vectors do not), or goes on from the checkpoint of this very run.
/// Batch and dropout depend on the seed, the step and the part of a batch alone, so a run that was killed ends with the
/// same weights, bit for bit, as one that was not, on as many ranks; any number may go on. Prints what it cost, and returns where it ended: steps,
/// characters (as words), seconds.
RunPlace train_language_model(LanguageModel& model, const CharCorpus& corpus, const LanguageTraining& how);

/// A checkpoint made into a model again.
struct SavedLanguageModel {
  Characters characters;
  LanguageRecipe recipe;
  std::unique_ptr<LanguageModel> model;
};
/// Throws UsageError if there is none, or one that is damaged.
SavedLanguageModel load_language_model(const std::filesystem::path& file);

}  // namespace tapestry::kit
