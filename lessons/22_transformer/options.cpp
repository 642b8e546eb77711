// The command line of a lesson that trains transformer translators: what can be chosen, and what is usual
// where.
#include "lessons/22_transformer/options.hpp"

#include <fmt/format.h>

#include "lessons/kit/train/recipe_numbers.hpp"

namespace tapestry::kit {
namespace {

using Recipe = TransformerRecipe;

constexpr RecipeNumber<Recipe> kNumbers[] = {
    {"--layers", &Recipe::layers, "blocks in the encoder and in the decoder", 1, 24},
    {"--width", &Recipe::width, "width of the model", 1, 16384},
    {"--heads", &Recipe::heads, "attention heads; the width must be a multiple", 1, 64},
    {"--hidden", &Recipe::hidden, "hidden units of the feed-forward", 1, 16384},
    {"--dropout", &Recipe::dropout, "dropout of residual branches", 0, 0.9},
    {"--word-dropout", &Recipe::word_dropout, "dropout of embeddings with their positions", 0, 0.9},
    {"--batch", &Recipe::batch, "batch size in sentences", 1, 16384},
    {"--epochs", &Recipe::epochs, "passes over the text, with --data and without --steps", 1, 1000},
    {"--merges", &Recipe::merges,
     "with --data: byte-pair merges to learn, which split words into pieces; 0 for whole words", 0,
     1'000'000},
    {"--rate", &Recipe::rate, "highest learning rate", 1e-6, 1},
    {"--rise", &Recipe::rise, "fraction of the steps in which the learning rate rises", 0, 0.9},
    {"--smoothing", &Recipe::smoothing, "label smoothing: target probability spread over all words", 0, 0.9},
    {"--average", &Recipe::average, "decay of the average of weights; 0 for no average", 0, 0.9999},
};

}  // namespace

void add_options(Lesson& program, TransformerSettings& settings, const Recipe& toy, const Recipe& real) {
  settings.length_power = real.length_power;
  add_options(program, static_cast<TranslationSettings&>(settings));
  add_options(program, kNumbers, settings.recipe, toy, real, "with --data");
}

void apply_recipe(const Lesson& program, const Recipe& recipe, TransformerSettings& settings) {
  apply_recipe(program, kNumbers, recipe, settings.recipe);
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
  how.beta2 =
      0.98;  // as in Vaswani et al. 2017: a shorter mean of squares, for a learning rate that changes fast
  how.texts = texts_of(config);
  how.name = fmt::format("{}, {}, seed {}, {} steps, {}, words seen {} times", task, config.label(), how.seed,
                         how.steps, text_of(kNumbers, recipe), settings.at_least);
  return how;
}

}  // namespace tapestry::kit
