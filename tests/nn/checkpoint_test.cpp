// checkpoint() on a real model: the same bits, for half of the memory or less; and gradients added up over
// parts of a batch.
#include "core/tape/checkpoint.hpp"

#include "core/simd/runtime/memory.hpp"
#include "core/tensor/random.hpp"
#include "nn/loss.hpp"
#include "nn/transformer/transformer.hpp"
#include "tests/nn/golden.hpp"

using namespace tapestry;
using testing::equal_bits;

namespace {

constexpr Size kVocabulary = 17, kBatch = 4, kTime = 80;

TransformerOptions small(double dropout) {
  TransformerOptions options;
  options.vocabulary = kVocabulary, options.layers = 6;
  options.block.width = 32, options.block.heads = 2, options.block.dropout = dropout;
  options.positions = rotary();
  return options;
}

Indices text(Size rows, Size first_row = 0) {
  std::vector<std::int64_t> ids;
  for (Size row = first_row; row < first_row + rows; ++row)
    for (Size i = 0; i <= kTime; ++i) ids.push_back((i * i + 3 * row + i) % kVocabulary);
  return Indices(ids, {rows, kTime + 1});
}

/// The blocks one after the other, each perhaps a checkpoint.
Tensor logits(const LanguageModel& model, const Indices& words, bool checkpoints) {
  Tensor h = model.input(words);
  for (Size i = 0; i < model.stack.blocks.size(); ++i) {
    const TransformerBlock& block = model.stack.blocks[i];
    h = checkpoints ? checkpoint([&block](const Tensor& x) { return block(x); }, h) : block(h);
  }
  return model.output((*model.stack.norm)(h));
}

Tensor loss_of(const LanguageModel& model, const Indices& ids, bool checkpoints) {
  return cross_entropy(logits(model, ids.columns(0, kTime), checkpoints), ids.columns(1, kTime + 1));
}

struct Found {
  double loss = 0;
  Size held = 0;  // bytes that forward left for backward
  std::vector<Tensor> gradients;
};

Found train_once(const LanguageModel& model, bool checkpoints) {
  Found found;
  const Size before = simd::pool_stats().in_use;
  set_random(3, 1);
  Tape tape;
  const Tensor loss = loss_of(model, text(kBatch), checkpoints);
  found.held = simd::pool_stats().in_use - before;
  tape.backward(loss);
  found.loss = loss.item();
  for (const Tensor& leaf : model.parameters()) {
    found.gradients.push_back(leaf.grad());
    leaf.clear_grad();
  }
  return found;
}

}  // namespace

TEST_CASE("a transformer of checkpoints: the same bits from less than half of the memory") {
  for (const double dropout : {0.0, 0.3}) {
    LanguageModel model(small(dropout));
    model.initialise(1);
    const Found plain = train_once(model, false), checked = train_once(model, true);
    CHECK(plain.loss == checked.loss);
    REQUIRE(plain.gradients.size() == checked.gradients.size());
    for (std::size_t i = 0; i < plain.gradients.size(); ++i)
      CHECK(equal_bits(plain.gradients[i], checked.gradients[i]));
    CHECK(2 * checked.held < plain.held);
  }
}

TEST_CASE("gradients of parts of a batch add up to those of the whole") {
  LanguageModel model(small(0));
  model.initialise(1, DType::f64);
  const Found whole = train_once(model, false);
  for (Size row = 0; row < kBatch; ++row) {
    Tape tape;
    tape.backward(loss_of(model, text(1, row), false) * (1.0 / static_cast<double>(kBatch)));
  }
  std::size_t i = 0;
  for (const Tensor& leaf : model.parameters()) {
    CHECK(max(abs(leaf.grad() - whole.gradients[i++])).item() < 1e-12);
    leaf.clear_grad();
  }
}
