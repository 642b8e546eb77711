// Trains several translators, one after another, on one corpus, and prints the cost of each.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lessons/kit/text/word_vectors.hpp"
#include "lessons/kit/translation/recurrent_config.hpp"
#include "lessons/kit/translation/training.hpp"

namespace tapestry::kit {

struct TrainedTranslator {
  TranslatorConfig config;
  std::unique_ptr<SequenceModel> model;
  RunPlace place;  // where training ended
};

/// Constructs and trains a translator for each config. `how` returns the training of a config. The source
/// embeddings start from `vectors`, if there are any. Prints each translator's weights and cost.
std::vector<TrainedTranslator> train_all(
    const std::vector<TranslatorConfig>& configs, const Corpus& corpus,
    const std::function<TranslatorTraining(const TranslatorConfig&)>& how, const WordVectors& vectors = {});

/// A column of table_of(): a heading, and one number for each translator.
struct Column {
  std::string heading;
  std::vector<double> figures = {};
};
/// Returns a table with the score, the columns, the words per second and the seconds of training.
std::string table_of(const std::vector<TrainedTranslator>& translators, const std::vector<Column>& columns);

}  // namespace tapestry::kit
