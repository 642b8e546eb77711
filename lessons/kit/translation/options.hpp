// What can be asked of every program that trains translators: the languages, the dictionary, the search.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "lessons/kit/program/options.hpp"
#include "lessons/kit/translation/training.hpp"
#include "lessons/kit/translation/translate_file.hpp"

namespace tapestry::kit {

/// What the options say. A program's own settings derive from it.
struct TranslationSettings {
  /// "en-fr" or "fr-en"; a sentence of the user's.
  std::string direction = "en-fr", sentence;
  FileTranslation file;
  /// How often the training text has a word that gets into the dictionary; hypotheses that a search keeps.
  Size at_least = 2, beam = 5;
  /// How much a search makes up for length.
  double length_power = 0.6;
  bool fresh = false;
  /// --steps was on the command line.
  bool steps_given = false;

  std::string from() const { return direction.substr(0, 2); }
  std::string to() const { return direction.substr(3); }
};

/// Adds --data, --translate, those of a FileTranslation, --direction, --at-least, --beam, --length-power, --fresh and --parts
/// to the program.
void offer(Lesson& program, TranslationSettings& settings);

/// --translate or --translate-file was given: the program trains nothing. Throws UsageError for both, and for
/// options that go with the second without it.
bool only_translates(const Lesson& program);

/// Throws UsageError for an option, of these or `more` of the program's own, that is for real sentences alone
/// when there is no --data; and for a --data that lacks a file.
void expect_real_text(const Lesson& program, const Options& options, const TranslationSettings& settings,
                      const std::vector<std::string>& more);

/// The training that options and recipe ask for; its name, folder and texts, and the rest of its schedule,
/// are left to the caller. `pairs` is how many there are to train on, for --epochs; 0: the task knows steps
/// alone.
template <class Recipe>
TranslatorTraining training_by(const Options& options, const TranslationSettings& settings,
                               const Recipe& recipe, std::size_t pairs) {
  const bool in_epochs = pairs > 0 && !options.smoke;
  const Size per_epoch = (static_cast<Size>(pairs) + recipe.batch - 1) / recipe.batch;
  TranslatorTraining how;
  how.fresh = settings.fresh || options.smoke;  // a smoke run is never worth going on with
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
