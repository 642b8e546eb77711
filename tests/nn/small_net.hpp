// A small model with every kind of part, for the tests of modules.
#pragma once

#include <string>
#include <vector>

#include "core/ops/ops.hpp"
#include "nn/dropout.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"

namespace tapestry::testing {

/// Two linear layers; the second one has no bias.
struct Block : Module {
  using Module::Module;
  Linear up{{*this, "up"}, 3, 4};
  Linear down{{*this, "down"}, 4, 3, Bias::no};
};

/// An embedding with padding, two blocks, dropout, an output layer and a parameter.
struct Net : Module {
  Embedding words{{*this, "words"}, 5, 3, 0};
  List<Block> blocks{{*this, "blocks"}, 2};
  Dropout dropout{{*this, "dropout"}, 0.5};
  Linear out{{*this, "out"}, 3, 5};
  Parameter gain{*this, "gain", {3}, ones};

  Tensor operator()(const Indices& ids) const {
    Tensor x = words(ids);
    for (const Block& block : blocks) x = x + block.down(tanh(block.up(x)));
    return out(dropout(x) * gain);
  }
};

/// The same, with the embedding as the output matrix.
struct Tied : Net {
  Tied() { out.weight.tie(words.weight); }
};

/// Returns the names of all parameters.
inline std::vector<std::string> names_of(const Module& model) {
  std::vector<std::string> names;
  for (const Tensor& leaf : model.parameters()) names.push_back(leaf.name());
  return names;
}

/// Returns the loss of four words.
inline Tensor ids_loss(const Net& net) {
  return cross_entropy(net(Indices{1, 2, 0, 4}), Indices{2, 0, 4, 1});
}

}  // namespace tapestry::testing
