#include "lessons/22_transformer/by_hand.hpp"

#include <string>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/translation/transformer_config.hpp"

namespace tapestry::lesson22 {
namespace {

TransformerTranslator small(std::uint64_t seed) {
  TransformerTranslator model(kit::options_of({.layers = 2, .width = 8, .heads = 2, .hidden = 12}, 9, 10));
  model.initialise(seed, DType::f64);
  return model;
}

/// Two texts; the second has three words and one position of padding.
Indices texts(std::int64_t last_of_first = 3) {
  return Indices{4, 5, 6, last_of_first, 7, 8, 3, 0}.reshape({2, 4});
}
Indices written(std::int64_t last_of_first = 5) {
  return Indices{1, 4, last_of_first, 1, 6, 7}.reshape({2, 3});
}
const ValidLengths kLengths = {4, 3};

void check_block(const BlockByHand& block, std::uint64_t seed, kit::Report& report) {
  const TransformerTranslator model = small(seed);
  const TransformerBlock& nn = model.stack.blocks[0];
  const Tensor y = variable(random_normal({2, 3, 8}, seed, DType::f64), "y");
  const Tensor x = variable(random_normal({2, 4, 8}, seed + 1, DType::f64), "x");
  std::vector<Tensor> leaves = {y, x};
  for (const Tensor& weight : nn.parameters())  // a bias of the keys has no effect (lesson 18)
    if (weight.name().find("key.bias") == std::string::npos) leaves.push_back(weight);
  kit::check_by_hand(
      report, "a decoder's block",
      [&] { return block(nn, y, Mask::causal(3, 3), x, kLengths.mask(4).unsqueeze(1)); },
      [&] {
        const PreparedKV memory = nn.cross->prepare(x, x, kLengths);
        return nn(y, {}, &memory);
      },
      leaves, seed);
}

void check_translator(const TranslatorByHand& translator, std::uint64_t seed, kit::Report& report) {
  const TransformerTranslator model = small(seed);
  const auto by_hand = [&] { return translator(model, texts(), kLengths, written()); };
  const auto by_nn = [&] { return model(texts(), kLengths, written()); };
  const auto leaves = model.parameters();
  report.check("the whole translator: same logits as nn/'s, to 1e-12",
               kit::farthest({by_hand()}, {by_nn()}) < 1e-12);
  report.check("the whole translator: same gradients as nn/'s, to 1e-11",
               kit::farthest(kit::gradients(by_hand, leaves, 4), kit::gradients(by_nn, leaves, 4)) < 1e-11);
}

LogitChanges changes_of_first_logits(const TranslatorByHand& translator, std::uint64_t seed) {
  const TransformerTranslator model = small(seed);
  const auto first = [&](const Indices& source, const Indices& words) {
    return select(slice(translator(model, source, kLengths, words), 0, 0, 1), 1, 0);
  };
  const Tensor usual = first(texts(), written());
  return {kit::farthest({first(texts(), written(9))}, {usual}),
          kit::farthest({first(texts(8), written())}, {usual})};
}

}  // namespace

LogitChanges check_by_hand(const BlockByHand& block, const TranslatorByHand& translator, std::uint64_t seed,
                           kit::Report& report) {
  check_block(block, seed, report);
  check_translator(translator, seed, report);
  const LogitChanges changes = changes_of_first_logits(translator, seed);
  report.figure("change of the first logits with the decoder's last input word", changes.last_input);
  report.figure("change of the first logits with the last source word", changes.last_source);
  return changes;
}

}  // namespace tapestry::lesson22
