// Command-line options of every program that trains translators: languages, vocabulary, search, checkpoints.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "lessons/kit/program/options.hpp"
#include "lessons/kit/translation/training.hpp"
#include "lessons/kit/translation/translate_file.hpp"

namespace tapestry::kit {

/// Values of the options. A program's own settings derive from this struct.
struct TranslationSettings {
  /// "en-fr" or "fr-en"; the sentence of --translate.
  std::string direction = "en-fr", sentence;
  FileTranslation file;
  /// Smallest number of occurrences of a word in the vocabulary; beam width.
  Size at_least = 2, beam = 5;
  /// Exponent of the length normalisation (SearchOptions::length_power).
  double length_power = 0.6;
  bool fresh = false;
  /// True if --steps was on the command line.
  bool steps_given = false;

  std::string from() const { return direction.substr(0, 2); }
  std::string to() const { return direction.substr(3); }
};

/// Adds --data, --translate, the options of FileTranslation, --direction, --at-least, --beam, --length-power, --fresh
/// and --parts to the program.
void add_options(Lesson& program, TranslationSettings& settings);

/// Returns true if --translate or --translate-file was given, so that the program does not train. Throws UsageError if
/// both were given, or --output or --references without --translate-file.
bool only_translates(const Lesson& program);

/// Checks --data. Throws UsageError if its folder lacks a file. Without --data, throws UsageError for an option that
/// needs it: --direction, --at-least, --beam, --length-power and the program's `more`.
void expect_real_text(const Lesson& program, const Options& options, const TranslationSettings& settings,
                      const std::vector<std::string>& more);

/// Returns the training configuration of options and recipe. The caller sets name, folder, texts and the rest of the
/// schedule. `pairs` is the number of training pairs, which converts epochs into steps; 0: the task is given in steps.
template <class Recipe>
TranslatorTraining training_by(const Options& options, const TranslationSettings& settings,
                               const Recipe& recipe, std::size_t pairs) {
  const bool in_epochs = pairs > 0 && !options.smoke;
  const Size per_epoch = (static_cast<Size>(pairs) + recipe.batch - 1) / recipe.batch;
  TranslatorTraining how;
  how.fresh = settings.fresh || options.smoke;  // a smoke run is never resumed
  how.seed = options.seed;
  how.ranks = options.ranks;
  how.steps = in_epochs && !settings.steps_given ? recipe.epochs * per_epoch : options.steps;
  how.steps_per_look = in_epochs ? per_epoch : options.smoke ? how.steps : std::max<Size>(1, how.steps / 4);
  how.batch = recipe.batch;
  how.smoothing = recipe.smoothing;
  how.rate = recipe.rate;
  how.average = recipe.average;
  return how;
}

}  // namespace tapestry::kit
