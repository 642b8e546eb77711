// Several translators trained one after another on one corpus, and what each cost.
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

/// Makes and trains a translator for each config, as `how` says; source words start from `vectors`, where there
/// are any. Prints each one's weights and what it cost.
std::vector<TrainedTranslator> train_all(
    const std::vector<TranslatorConfig>& configs, const Corpus& corpus,
    const std::function<TranslatorTraining(const TranslatorConfig&)>& how, const WordVectors& vectors = {});

/// A figure of each translator, under its heading.
struct Column {
  std::string heading;
  std::vector<double> figures = {};
};
/// Lines for a person: score, the columns, words a second and seconds of training.
std::string table_of(const std::vector<TrainedTranslator>& translators, const std::vector<Column>& columns);

}  // namespace tapestry::kit
