// Weights that leave the project: a language model trained here, saved as safetensors, computes the same in
// PyTorch (tests/golden/load_trained.py loads it there, and writes what it gives).
#include <cstdlib>

#include "core/io/safetensors.hpp"
#include "nn/transformer/language_model.hpp"
#include "optim/adam.hpp"
#include "tests/nn/golden.hpp"

using namespace tapestry;

namespace {

const std::string kFolder = TAPESTRY_GOLDEN_DIR;

/// The model whose weights are in trained.safetensors.
std::unique_ptr<LanguageModel> model() {
  TransformerOptions options;
  options.vocabulary = 6;
  options.block = {.width = 8, .heads = 2, .hidden = 12};
  return std::make_unique<LanguageModel>(options);
}

/// Counting upwards from any number, modulo 6.
Indices counting(Size rows, Size length) {
  std::vector<std::int64_t> ids;
  for (Size row = 0; row < rows; ++row)
    for (Size t = 0; t < length; ++t) ids.push_back((row + t) % 6);
  return Indices(ids, {rows, length});
}

}  // namespace

TEST_CASE("weights trained here give the same logits in PyTorch") {
  const auto trained = model();
  trained->load_state(read_safetensors(kFolder + "/trained.safetensors").tensors);
  const Tensor wanted = read_safetensors(kFolder + "/trained_in_pytorch.safetensors").at("logits");
  const Indices ids = counting(6, 5);
  const Tensor logits = (*trained)(ids);
  REQUIRE(logits.shape() == wanted.shape());
  CHECK(max(abs(logits - wanted.to(DType::f32))).item() < 1e-5);
  // They were trained: the model counts.
  CHECK(argmax(logits).to_vector() == counting(6, 6).columns(1, 6).to_vector());
}

// Writes trained.safetensors anew, if the environment asks for it.
TEST_CASE("write the trained weights", "[.write]") {
  if (!std::getenv("TAPESTRY_WRITE_TRAINED")) return;
  const auto trained = model();
  trained->initialise(1);
  Adam adam(trained->parameters(), {.learning_rate = 1e-2});
  const Indices ids = counting(6, 6);
  for (int step = 0; step < 100; ++step) {
    Tape tape;
    tape.backward(cross_entropy((*trained)(ids.columns(0, 5)), ids.columns(1, 6)));
    adam.step();
  }
  write_safetensors(kFolder + "/trained.safetensors", trained->state());
}
