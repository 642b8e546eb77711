// Trains several translators, one after another, on one corpus, and prints the cost of each.
#include "lessons/15_translate/train_each.hpp"

#include <fmt/format.h>

namespace tapestry::kit {

std::vector<TrainedTranslator> train_all(
    const std::vector<TranslatorConfig>& configs, const Corpus& corpus,
    const std::function<TranslatorTraining(const TranslatorConfig&)>& how, const WordVectors& vectors) {
  std::vector<TrainedTranslator> all;
  for (const TranslatorConfig& config : configs) {
    fmt::print("\n  score {}, encoder {}\n", config.score, config.encoder);
    TrainedTranslator trained{
        config, make_translator(config, corpus.source.size(), corpus.target.size()), {}};
    const TranslatorTraining training = how(config);
    trained.model->initialise(training.seed);
    if (!vectors.of.empty()) put_word_vectors(vectors, trained.model->state().at("encoder.embedding.weight"));
    trained.place = train_translator(*trained.model, corpus, training);
    fmt::print("{}", table_of_parts(*trained.model));
    all.push_back(std::move(trained));
  }
  return all;
}

std::string table_of(const std::vector<TrainedTranslator>& translators, const std::vector<Column>& columns) {
  std::string text = fmt::format("  {:<14}", "score");
  for (const Column& column : columns) text += fmt::format("{:>16}", column.heading);
  text += fmt::format("{:>10}{:>10}\n", "words/s", "seconds");
  for (std::size_t i = 0; i < translators.size(); ++i) {
    text += fmt::format("  {:<14}", translators[i].config.score);
    for (const Column& column : columns) text += fmt::format("{:>16.2f}", column.figures.at(i));
    const RunPlace& place = translators[i].place;
    text += fmt::format("{:>10.0f}{:>10.1f}\n", place.words / place.seconds, place.seconds);
  }
  return text;
}

}  // namespace tapestry::kit
