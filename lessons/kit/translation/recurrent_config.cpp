// Configurations of recurrent translators: attention score, encoder cell, sizes.
#include "lessons/kit/translation/recurrent_config.hpp"

#include <fmt/format.h>

#include "lessons/kit/program/usage_error.hpp"
#include "lessons/kit/train/saved_size.hpp"

namespace tapestry::kit {
namespace {

CellKind cell_named(const std::string& name) {
  return name == "rnn" ? CellKind::rnn : name == "lstm" ? CellKind::lstm : CellKind::gru;
}

TranslatorOptions options_of(const TranslatorConfig& config, Size source_words, Size target_words) {
  const Size readout = config.readout > 0 ? config.readout : config.embedding;
  if (config.tied && readout != config.embedding)
    throw UsageError(
        fmt::format("with --tied, --readout ({}) must equal --embedding ({}), because they share one matrix",
                    readout, config.embedding));
  TranslatorOptions options;
  options.encoder = {.vocabulary = source_words,
                     .embedding = config.embedding,
                     .hidden = config.hidden,
                     .cell = cell_named(config.encoder),
                     .dropout = config.dropout};
  options.decoder = {.vocabulary = target_words,
                     .embedding = config.embedding,
                     .hidden = config.hidden,
                     .attention = config.hidden,
                     .readout = readout,
                     .dropout = config.dropout,
                     .tied = config.tied};
  if (config.score == "scaled_dot") {
    if (config.hidden % 2 != 0)
      throw UsageError(fmt::format(
          "with --score scaled_dot, --hidden must be even, got {}: query and key have the same width, so each "
          "direction of the encoder gets half of it",
          config.hidden));
    options.encoder.hidden = config.hidden / 2;
    options.decoder.score = scaled_dot();
  } else if (config.score == "general") {
    options.decoder.score = general(config.hidden, 2 * config.hidden);
  } else if (config.score == "none") {
    options.decoder.code_every_step = true;
  }
  return options;
}

}  // namespace

std::unique_ptr<SequenceModel> make_translator(const TranslatorConfig& config, Size source_words,
                                               Size target_words) {
  const TranslatorOptions options = options_of(config, source_words, target_words);
  if (config.attends()) return std::make_unique<Translator>(options);
  return std::make_unique<PlainTranslator>(options);
}

std::map<std::string, std::string> texts_of(const TranslatorConfig& config) {
  return {{"score", config.score},
          {"encoder", config.encoder},
          {"embedding", std::to_string(config.embedding)},
          {"hidden", std::to_string(config.hidden)},
          {"readout", std::to_string(config.readout)},
          {"tied", config.tied ? "yes" : "no"}};
}

TranslatorConfig translator_plan_of(const TrainingState& saved) {
  TranslatorConfig config;
  const Size widest = bounds_of_model(saved).width;
  const auto size = [&](const std::string& name, Size least, Size otherwise) {
    return saved.has(name) ? saved_size(saved, name, least, widest) : otherwise;
  };
  // A checkpoint may omit score, encoder and readout if they have their defaults.
  if (saved.has("score")) config.score = saved.text("score");
  if (saved.has("encoder")) config.encoder = saved.text("encoder");
  config.embedding = size("embedding", 1, config.embedding);
  config.hidden = size("hidden", 1, config.hidden);
  config.readout = size("readout", 0, config.readout);
  config.tied = saved.text("tied") == "yes";
  return config;
}

std::vector<std::pair<std::string, Size>> weights_by_part(const Module& model) {
  std::vector<std::pair<std::string, Size>> parts;
  for (const Tensor& weight : model.parameters()) {
    const std::string& name = weight.name();
    const std::string part = name.substr(0, name.find('.', std::min(name.find('.'), name.size() - 1) + 1));
    if (parts.empty() || parts.back().first != part) parts.emplace_back(part, 0);
    parts.back().second += weight.count();
  }
  return parts;
}

std::string table_of_parts(const Module& model) {
  const auto parts = weights_by_part(model);
  Size all = 0;
  for (const auto& [name, weights] : parts) all += weights;
  std::string text = fmt::format("  {:<20}{:>12}\n", "weights", all);
  for (const auto& [name, weights] : parts)
    text += fmt::format("    {:<18}{:>12}  {:5.1f} %\n", name, weights,
                        100 * static_cast<double>(weights) / static_cast<double>(all));
  return text;
}

}  // namespace tapestry::kit
