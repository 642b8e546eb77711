// The command line of a lesson that trains transformer translators: what can be chosen, and what is usual
// where.
#include "lessons/22_transformer/options.hpp"

#include <fmt/format.h>

#include "lessons/kit/train/recipe_numbers.hpp"

namespace tapestry::kit {
namespace {

using Recipe = TransformerRecipe;

constexpr RecipeNumber<Recipe> kNumbers[] = {
    {"--layers", &Recipe::layers, "blocks of encoder and decoder", 1, 24},
    {"--width", &Recipe::width, "numbers for a word", 1, 16384},
    {"--heads", &Recipe::heads, "heads, a divisor of the width", 1, 64},
    {"--hidden", &Recipe::hidden, "units of the feed-forward", 1, 16384},
    {"--dropout", &Recipe::dropout, "of what each part of a block adds, in training", 0, 0.9},
    {"--word-dropout", &Recipe::word_dropout, "of words with their places", 0, 0.9},
    {"--batch", &Recipe::batch, "sentences in a batch", 1, 16384},
    {"--epochs", &Recipe::epochs, "with --data, unless --steps is given: passes over the text", 1, 1000},
    {"--merges", &Recipe::merges,
     "with --data: byte pairs to learn, which cut words into pieces; 0: whole words", 0, 1'000'000},
    {"--rate", &Recipe::rate, "the learning rate at its highest", 1e-6, 1},
    {"--rise", &Recipe::rise, "share of the steps in which the rate rises", 0, 0.9},
    {"--smoothing", &Recipe::smoothing, "share of the target that the other words get", 0, 0.9},
    {"--average", &Recipe::average, "decay of the average of weights; 0: none", 0, 0.9999},
};

}  // namespace

void offer(Lesson& program, TransformerSettings& settings, const Recipe& toy, const Recipe& real) {
  settings.length_power = real.length_power;
  offer(program, static_cast<TranslationSettings&>(settings));
  offer(program, kNumbers, settings.recipe, toy, real, "with --data");
}

void follow(const Lesson& program, const Recipe& recipe, TransformerSettings& settings) {
  follow(program, kNumbers, recipe, settings.recipe);
  const Recipe& chosen = settings.recipe;
  check_heads(chosen);
  settings.config = {.layers = chosen.layers,
                     .width = chosen.width,
                     .heads = chosen.heads,
                     .hidden = chosen.hidden,
                     .word_dropout = chosen.word_dropout,
                     .dropout = chosen.dropout};
  if (!program.given("--length-power")) settings.length_power = recipe.length_power;
  settings.steps_given = program.given("--steps");
}

std::filesystem::path folder_of(const std::filesystem::path& out, const std::string& task,
                                const TransformerConfig& config) {
  return out / (config.recurrent_decoder ? task + "-recurrent" : task);
}

TranslatorTraining training_of(const Options& options, const TransformerSettings& settings,
                               const std::string& task, const TransformerConfig& config, std::size_t pairs) {
  const Recipe& recipe = settings.recipe;
  TranslatorTraining how = training_by(options, settings, recipe, pairs);
  how.out = folder_of(options.out, options.folder(task), config);
  how.rise = recipe.rise;
  how.beta2 = 0.98;  // as Vaswani et al. 2017: a shorter memory of squares, for a rate that changes fast
  how.texts = texts_of(config);
  how.name = fmt::format("{}, {}, seed {}, {} steps, {}, words seen {} times", task, config.label(), how.seed,
                         how.steps, text_of(kNumbers, recipe), settings.at_least);
  return how;
}

}  // namespace tapestry::kit
