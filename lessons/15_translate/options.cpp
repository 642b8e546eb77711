// The command line of a lesson that trains recurrent translators: its options and their defaults.
#include "lessons/15_translate/options.hpp"

#include <fmt/format.h>

#include "lessons/kit/program/usage_error.hpp"
#include "lessons/kit/train/recipe_numbers.hpp"

namespace tapestry::kit {
namespace {

using Recipe = TranslatorRecipe;

constexpr RecipeNumber<Recipe> kNumbers[] = {
    {"--embedding", &Recipe::embedding, "numbers in the embedding of a word", 1, 4096},
    {"--hidden", &Recipe::hidden, "hidden units of the decoder, and of each direction of the encoder", 1,
     4096},
    {"--batch", &Recipe::batch, "sentences in a batch", 1, 4096},
    {"--epochs", &Recipe::epochs, "passes over the text, with --data and without --steps", 1, 1000},
    {"--rate", &Recipe::rate, "highest learning rate", 1e-6, 1},
    {"--dropout", &Recipe::dropout, "dropout of the embeddings and the readout", 0, 0.9},
    {"--smoothing", &Recipe::smoothing,
     "label smoothing: the part of the probability that is spread evenly over all words", 0, 0.9},
    {"--hold", &Recipe::hold, "fraction of the steps at the highest learning rate, before it falls", 0, 0.95},
    {"--average", &Recipe::average, "decay of the moving average of the weights; 0: no average", 0, 0.9999},
    {"--joined", &Recipe::joined,
     "additional training sentences, joined in twos and threes, as a fraction of the text", 0, 2},
};

}  // namespace

void add_options(Lesson& program, TranslatorSettings& settings, const Recipe& toy, const Recipe& real) {
  TranslatorConfig& config = settings.config;
  add_options(program, static_cast<TranslationSettings&>(settings));
  program.add("--score", config.score,
              "score of the attention; scaled_dot halves the width of each encoder direction, because "
              "query and key must have the same width; none is a decoder without attention",
              kTranslatorScores);
  program.add("--encoder", config.encoder, "recurrent cell of the encoder", kTranslatorEncoders);
  program.add_flag("--compare", settings.compare,
                   "train a translator with each score, and print a table of the results");
  program.add("--embeddings", settings.embeddings,
              "with --data: file of word vectors that the source embeddings start from (in the text format "
              "of GloVe and word2vec); --embedding is then the width of these vectors");
  program.add("--readout", config.readout,
              "width of the layer before the output layer; 0: the width of the embedding", 0, 4096);
  add_options(program, kNumbers, settings.recipe, toy, real, "with --data");
  program.add_flag(
      "--tied,!--untied", settings.recipe.tied,
      fmt::format("use one matrix for the target embedding and the output layer; default {}, with --data {}",
                  toy.tied ? "tied" : "untied", real.tied ? "tied" : "untied"));
}

void apply_recipe(const Lesson& program, const Recipe& recipe, TranslatorSettings& settings) {
  apply_recipe(program, kNumbers, recipe, settings.recipe);
  if (!program.given("--tied")) settings.recipe.tied = recipe.tied;
  settings.config.embedding = settings.recipe.embedding;
  settings.config.hidden = settings.recipe.hidden;
  settings.config.dropout = settings.recipe.dropout;
  settings.config.tied = settings.recipe.tied;
  settings.steps_given = program.given("--steps");
  settings.embedding_given = program.given("--embedding");
}

std::filesystem::path folder_of(const std::filesystem::path& out, const std::string& task,
                                const TranslatorConfig& config) {
  const TranslatorConfig usual;
  std::string name = task;
  if (config.score != usual.score) name += "-" + config.score;
  if (config.encoder != usual.encoder) name += "-" + config.encoder;
  return out / name;
}

std::vector<TranslatorConfig> plans_of(const TranslatorSettings& settings, bool and_none) {
  std::vector<std::string> scores = {settings.config.score};
  if (and_none && settings.config.attends()) scores.emplace_back("none");
  if (settings.compare) scores = kTranslatorScores;
  std::vector<TranslatorConfig> configs(scores.size(), settings.config);
  for (std::size_t i = 0; i < scores.size(); ++i) configs[i].score = scores[i];
  return configs;
}

WordVectors embeddings_for(const Vocabulary& source, TranslatorSettings& settings) {
  if (settings.embeddings.empty()) return {};
  WordVectors vectors = read_word_vectors(settings.embeddings, source);
  fmt::print("  {}: {} words with {} numbers each; found {} of the {} source words\n",
             settings.embeddings.string(), vectors.in_file, vectors.width, vectors.of.size(),
             source.size() - 4);
  TranslatorConfig& config = settings.config;
  if (settings.embedding_given && config.embedding != vectors.width)
    throw UsageError(
        fmt::format("--embedding {} must equal the {} numbers per vector in '{}'; leave the option out",
                    config.embedding, vectors.width, settings.embeddings.string()));
  config.embedding = vectors.width;
  return vectors;
}

TranslatorTraining training_of(const Options& options, const TranslatorSettings& settings,
                               const std::string& task, const std::string& folder,
                               const TranslatorConfig& config, std::size_t pairs) {
  const Recipe& recipe = settings.recipe;
  TranslatorTraining how = training_by(options, settings, recipe, pairs);
  how.out = folder_of(options.out, folder, config);
  how.hold = recipe.hold;
  how.texts = texts_of(config);
  how.name =
      fmt::format("{}, seed {}, {} steps, sizes {}/{}/{}, dropout {}, rate {}, hold {}, average {}{}", task,
                  how.seed, how.steps, config.embedding, config.hidden, recipe.batch, config.dropout,
                  recipe.rate, recipe.hold, recipe.average, config.tied ? ", tied" : "");
  // The name mentions only options that differ from their defaults.
  const TranslatorConfig usual;
  const TranslatorSettings usual_settings;
  if (config.score != usual.score) how.name += ", score " + config.score;
  if (config.encoder != usual.encoder) how.name += ", encoder " + config.encoder;
  if (config.readout != usual.readout) how.name += fmt::format(", readout {}", config.readout);
  if (recipe.smoothing != Recipe().smoothing) how.name += fmt::format(", smoothing {}", recipe.smoothing);
  if (recipe.joined > 0) how.name += fmt::format(", joined {}", recipe.joined);
  if (settings.at_least != usual_settings.at_least)
    how.name += fmt::format(", words seen {} times", settings.at_least);
  if (!settings.embeddings.empty())
    how.name += fmt::format(", embeddings {}", settings.embeddings.filename().string());
  return how;
}

}  // namespace tapestry::kit
