// Configurations of transformer translators: depth, widths, decoder.
#include "lessons/kit/translation/transformer_config.hpp"

#include "lessons/kit/train/saved_size.hpp"

namespace tapestry::kit {

TransformerTranslatorOptions options_of(const TransformerConfig& config, Size source_words,
                                        Size target_words) {
  TransformerOptions stack;
  stack.layers = config.layers;
  stack.dropout = config.word_dropout;
  stack.block = {.width = config.width,
                 .heads = config.heads,
                 .hidden = config.hidden,
                 .activation = Activation::relu,
                 .dropout = config.dropout,
                 .attention_dropout = config.dropout,
                 .hidden_dropout = config.dropout};
  TransformerTranslatorOptions options{stack, stack, false};
  options.encoder.vocabulary = source_words;
  options.decoder.vocabulary = target_words;
  return options;
}

std::unique_ptr<SequenceModel> make_translator(const TransformerConfig& config, Size source_words,
                                               Size target_words) {
  const TransformerTranslatorOptions options = options_of(config, source_words, target_words);
  if (!config.recurrent_decoder) return std::make_unique<TransformerTranslator>(options);
  Seq2SeqOptions<TransformerEncoder> mixed;
  mixed.encoder = options.encoder;
  mixed.decoder = {.vocabulary = target_words,
                   .embedding = config.width,
                   .hidden = config.width,
                   .attention = config.width,
                   .readout = config.width,
                   .dropout = config.word_dropout,
                   .tied = true};
  return std::make_unique<Seq2Seq<BahdanauDecoder, TransformerEncoder>>(mixed);
}

std::map<std::string, std::string> texts_of(const TransformerConfig& config) {
  return {{"layers", std::to_string(config.layers)},
          {"width", std::to_string(config.width)},
          {"heads", std::to_string(config.heads)},
          {"units", std::to_string(config.hidden)},
          {"decoder", config.recurrent_decoder ? "recurrent" : "transformer"}};
}

TransformerConfig transformer_plan_of(const TrainingState& saved) {
  const auto [most_layers, widest] = bounds_of_model(saved);
  return {.layers = saved_size(saved, "layers", 1, most_layers),
          .width = saved_size(saved, "width", 1, widest),
          .heads = saved_size(saved, "heads", 1, widest),
          .hidden = saved_size(saved, "units", 1, widest),
          .recurrent_decoder = saved.text("decoder") == "recurrent"};
}

}  // namespace tapestry::kit
