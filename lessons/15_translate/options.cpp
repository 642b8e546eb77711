// The command line of a lesson that trains recurrent translators: what can be chosen, and what is usual
// where.
#include "lessons/15_translate/options.hpp"

#include <fmt/format.h>

#include "lessons/kit/program/usage_error.hpp"
#include "lessons/kit/train/recipe_numbers.hpp"

namespace tapestry::kit {
namespace {

using Recipe = TranslatorRecipe;

constexpr RecipeNumber<Recipe> kNumbers[] = {
    {"--embedding", &Recipe::embedding, "numbers for a word", 1, 4096},
    {"--hidden", &Recipe::hidden, "hidden units of the decoder, and of the encoder each way", 1, 4096},
    {"--batch", &Recipe::batch, "sentences in a batch", 1, 4096},
    {"--epochs", &Recipe::epochs, "with --data, unless --steps is given: passes over the text", 1, 1000},
    {"--rate", &Recipe::rate, "the learning rate at its highest", 1e-6, 1},
    {"--dropout", &Recipe::dropout, "of embeddings and readout", 0, 0.9},
    {"--smoothing", &Recipe::smoothing, "share of the target that the other words get", 0, 0.9},
    {"--hold", &Recipe::hold, "share of the steps at the highest rate, before it falls", 0, 0.95},
    {"--average", &Recipe::average, "decay of the average of weights; 0: none", 0, 0.9999},
    {"--joined", &Recipe::joined, "so many sentences more, as a share, joined in twos and threes", 0, 2},
};

}  // namespace

void offer(Lesson& program, TranslatorSettings& settings, const Recipe& toy, const Recipe& real) {
  TranslatorConfig& config = settings.config;
  offer(program, static_cast<TranslationSettings&>(settings));
  program.add("--score", config.score,
              "the attention's score; scaled_dot halves the encoder's width each way, since query and key "
              "must be equally wide; none is a decoder without attention",
              kTranslatorScores);
  program.add("--encoder", config.encoder, "the encoder's recurrent cell", kTranslatorEncoders);
  program.add_flag("--compare", settings.compare, "train with every score, one after another; then a table");
  program.add("--embeddings", settings.embeddings,
              "with --data: start the source words from the vectors in this file (text, as GloVe's and "
              "word2vec's); --embedding is then their width");
  program.add("--readout", config.readout, "width of the layer before the dictionary; 0: the embedding's", 0,
              4096);
  offer(program, kNumbers, settings.recipe, toy, real, "with --data");
  program.add_flag("--tied,!--untied", settings.recipe.tied,
                   fmt::format("one matrix for target words that go in and those that come out; "
                               "{}, and {} with --data",
                               toy.tied ? "tied" : "untied", real.tied ? "tied" : "untied"));
}

void follow(const Lesson& program, const Recipe& recipe, TranslatorSettings& settings) {
  follow(program, kNumbers, recipe, settings.recipe);
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
  fmt::print("  {}: {} words of {} numbers; {} of the {} source words found\n", settings.embeddings.string(),
             vectors.in_file, vectors.width, vectors.of.size(), source.size() - 4);
  TranslatorConfig& config = settings.config;
  if (settings.embedding_given && config.embedding != vectors.width)
    throw UsageError(
        fmt::format("--embedding {} does not fit the vectors of {} numbers in '{}': leave it out",
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
  // What is as usual goes unsaid.
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
