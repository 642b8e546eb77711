// The whole of Bahdanau's translator against PyTorch's numbers, with gradients. (The scores:
// score_table_test.)
#include "nn/attention/attention.hpp"
#include "nn/attention/weight_recorder.hpp"
#include "nn/seq2seq/seq2seq.hpp"
#include "tests/nn/golden.hpp"

using namespace tapestry;
using testing::GoldenCase;

TEST_CASE("lengths mask as the mask made from them") {
  const GoldenCase golden("additive", "lengths_per_row");
  const Tensor q = golden.at("query"), k = golden.at("key"), v = golden.at("value");
  Attention attention(additive(q.size(-1), k.size(-1), golden.at("score.weight").size(0)));
  golden.load_into(attention);
  golden.check("output", attention(q, k, v, golden.lengths()).context);
}

TEST_CASE("Bahdanau's translator equals PyTorch's") {
  const std::string name = GENERATE("equal", "different");
  INFO(name);
  const GoldenCase golden("bahdanau", name);
  const auto width = [&](const char* parameter, int axis) { return golden.at(parameter).size(axis); };
  TranslatorOptions options;
  options.encoder.vocabulary = width("encoder.embedding.weight", 0);
  options.encoder.embedding = width("encoder.embedding.weight", 1);
  options.encoder.hidden = width("encoder.rnn.weight_hh_l0", 1);
  options.encoder.padding = {};
  options.decoder.vocabulary = width("decoder.embedding.weight", 0);
  options.decoder.embedding = width("decoder.embedding.weight", 1);
  options.decoder.hidden = width("decoder.cell.weight_hh", 1);
  options.decoder.attention = width("decoder.attention.score.weight", 0);
  options.decoder.readout = width("decoder.readout.weight", 0);
  options.decoder.padding = {};
  Translator translator(options);
  golden.load_into(translator);

  const Indices source = golden.ids("source"), target = golden.ids("target");
  const Size steps = target.shape()[1] - 1;
  const Indices words = target.columns(0, steps), wanted = target.columns(1, steps + 1);
  const ValidLengths lengths = golden.lengths("source.lengths");
  {
    Tape tape;
    const WeightRecorder looked(translator.decoder.attention);
    const Encoded encoded = translator.encoder(source, lengths);
    golden.check("memory", encoded.states);
    golden.check("initial_state", translator.decoder.start(encoded).recurrent.hidden);
    const Tensor logits = translator.decoder(words, encoded);
    golden.check("logits", logits);
    golden.check("alignment", concat(looked.weights(), 1));
    const Tensor loss =
        cross_entropy(logits, wanted, {.smoothing = golden.at("smoothing").item(), .ignore = 0});
    golden.check("loss", loss);
    tape.backward(golden.weigh(loss, "cotangent.loss"));
    golden.check_gradients(translator.parameters());
  }
  // Word by word, as in a search, the same logits come out.
  translator.eval();
  const auto stepwise = translator.begin(source, lengths);
  std::vector<Tensor> logits;
  for (Size t = 0; t < steps; ++t) logits.push_back(stepwise->step(words.column(t)).logits);
  golden.check("logits", stack(logits, 1));
}
