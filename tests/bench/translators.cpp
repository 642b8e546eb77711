// Training steps of the translators of lessons 15 and 22 on sentences of all lengths: names, sizes and
// lengths of peers/translators.py.
#include <functional>
#include <memory>
#include <numeric>

#include "nn/loss.hpp"
#include "nn/seq2seq/seq2seq.hpp"
#include "tests/bench/bench.hpp"
#include "tests/bench/steps.hpp"

namespace tapestry::bench {

namespace {

constexpr Size kSourceWords = 5921, kTargetWords = 6482, kPadding = 0;

/// 5 … 24 words, most of them about 12, longest first.
std::vector<Size> lengths(Size rows, Size extra) {
  std::vector<Size> found;
  for (Size i = 0; i < rows; ++i)
    found.push_back(5 + (i * 7) % 10 + (i * 3) % 7 + (i % 9 == 0 ? 4 : 0) + extra);
  std::sort(found.begin(), found.end(), std::greater<>());
  return found;
}

Indices padded(const std::vector<Size>& counts, Size words, std::uint64_t seed) {
  const Size rows = static_cast<Size>(counts.size()), time = counts.front();
  std::vector<std::int64_t> ids = random_ids({rows, time}, words, seed, 4).to_vector();
  for (Size row = 0; row < rows; ++row)
    for (Size t = counts[static_cast<std::size_t>(row)]; t < time; ++t)
      ids[static_cast<std::size_t>(row * time + t)] = kPadding;
  return Indices(ids, {rows, time});
}

Step training_step(std::shared_ptr<SequenceModel> model, Size rows) {
  model->initialise(1);
  const auto adam = std::make_shared<Adam>(model->parameters());
  const ValidLengths counts(lengths(rows, 0));
  const Indices source = padded(lengths(rows, 0), kSourceWords, 1),
                previous = padded(lengths(rows, 1), kTargetWords, 2),
                targets = padded(lengths(rows, 1), kTargetWords, 3);
  const CrossEntropyLoss loss{{.smoothing = 0.1, .ignore = kPadding}};
  return [=] {
    Tape tape;
    tape.backward(loss((*model)(source, counts, previous), targets));
    adam->step();
  };
}

Step rnn_step() {
  TranslatorOptions options;
  options.encoder.vocabulary = kSourceWords;
  options.encoder.dropout = 0.3;
  options.decoder.vocabulary = kTargetWords;
  options.decoder.dropout = 0.3;
  return training_step(std::make_shared<Translator>(options), 64);
}

Step transformer_translator_step() {
  TransformerOptions side;
  side.layers = 3;
  side.dropout = 0.3;
  side.block = {.width = 192,
                .heads = 4,
                .hidden = 384,
                .activation = Activation::relu,
                .dropout = 0.2,
                .attention_dropout = 0.2,
                .hidden_dropout = 0.2};
  TransformerTranslatorOptions options{side, side};
  options.encoder.vocabulary = kSourceWords;
  options.decoder.vocabulary = kTargetWords;
  return training_step(std::make_shared<TransformerTranslator>(options), 72);
}

void add() {
  register_step("translator_rnn_step", rnn_step);
  register_step("translator_transformer_step", transformer_translator_step);
}

}  // namespace

}  // namespace tapestry::bench

int main(int argc, char** argv) { return tapestry::bench::run_benchmarks(argc, argv, tapestry::bench::add); }
