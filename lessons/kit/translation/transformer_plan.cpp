// Transformer translators by description: how deep, how wide, which decoder.
#include "lessons/kit/translation/transformer_plan.hpp"

#include "lessons/kit/train/saved_size.hpp"

namespace tapestry::kit {

TransformerTranslatorOptions options_of(const TransformerPlan& plan, Size source_words, Size target_words) {
  TransformerOptions stack;
  stack.layers = plan.layers;
  stack.dropout = plan.word_dropout;
  stack.block = {.width = plan.width,
                 .heads = plan.heads,
                 .hidden = plan.hidden,
                 .activation = Activation::relu,
                 .dropout = plan.dropout,
                 .attention_dropout = plan.dropout,
                 .hidden_dropout = plan.dropout};
  TransformerTranslatorOptions options{stack, stack, false};
  options.encoder.vocabulary = source_words;
  options.decoder.vocabulary = target_words;
  return options;
}

std::unique_ptr<SequenceModel> make_translator(const TransformerPlan& plan, Size source_words,
                                               Size target_words) {
  const TransformerTranslatorOptions options = options_of(plan, source_words, target_words);
  if (!plan.recurrent_decoder) return std::make_unique<TransformerTranslator>(options);
  Seq2SeqOptions<TransformerEncoder> mixed;
  mixed.encoder = options.encoder;
  mixed.decoder = {.vocabulary = target_words,
                   .embedding = plan.width,
                   .hidden = plan.width,
                   .attention = plan.width,
                   .readout = plan.width,
                   .dropout = plan.word_dropout,
                   .tied = true};
  return std::make_unique<Seq2Seq<BahdanauDecoder, TransformerEncoder>>(mixed);
}

std::map<std::string, std::string> texts_of(const TransformerPlan& plan) {
  return {{"layers", std::to_string(plan.layers)},
          {"width", std::to_string(plan.width)},
          {"heads", std::to_string(plan.heads)},
          {"units", std::to_string(plan.hidden)},
          {"decoder", plan.recurrent_decoder ? "recurrent" : "transformer"}};
}

TransformerPlan transformer_plan_of(const TrainingState& saved) {
  const auto [most_layers, widest] = bounds_of_model(saved);
  return {.layers = saved_size(saved, "layers", 1, most_layers),
          .width = saved_size(saved, "width", 1, widest),
          .heads = saved_size(saved, "heads", 1, widest),
          .hidden = saved_size(saved, "units", 1, widest),
          .recurrent_decoder = saved.text("decoder") == "recurrent"};
}

}  // namespace tapestry::kit
