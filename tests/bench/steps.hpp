// Whole training steps, by name: forward, cross-entropy, backward, Adam. Timed, weighed and counted by the
// programs beside this file; the peers of the same names say what each is.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "core/tensor/pool_vector.hpp"
#include "nn/attention/attention.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"
#include "nn/recurrent.hpp"
#include "nn/transformer/transformer.hpp"
#include "optim/adam.hpp"
#include "tests/bench/data.hpp"

namespace tapestry::bench {

/// A model with its data, ready: each call is one step.
using Step = std::function<void()>;

/// GRU encoder, a decoder of a GRU cell and additive attention with keys projected once.
struct TranslatorSizes {
  Size words, embedding, hidden, batch, time;
};

struct RecurrentTranslator : Module {
  explicit RecurrentTranslator(const TranslatorSizes& s)
      : source{{*this, "source"}, s.words, s.embedding},
        target{{*this, "target"}, s.words, s.embedding},
        encoder{{*this, "encoder"}, s.embedding, s.hidden},
        cell{{*this, "cell"}, s.embedding + s.hidden, s.hidden},
        attention{{*this, "attention"}, additive(s.hidden, s.hidden, s.hidden)},
        output{{*this, "output"}, 2 * s.hidden, s.words} {}

  Tensor operator()(const Indices& from, const Indices& previous) const {
    const RecurrentOutput read = encoder(source(from));
    const PreparedKV memory = attention.prepare(read.states, read.states);
    const Tensor words = target(previous);
    const Size width = words.size(2);
    // The words' part of all gates is one product; only the context's goes word by word.
    const Tensor gates = linear(words, slice(cell.weight_ih, 1, 0, width), cell.bias_ih),
                 for_context = slice(cell.weight_ih, 1, width, cell.weight_ih.size(1));
    RecurrentState state = read.final.back();
    PoolVector<Tensor> states, contexts;
    for (Size t = 0; t < words.size(1); ++t) {
      const Tensor context = squeeze(attention(unsqueeze(state.hidden, 1), memory).context, 1);
      state = cell.from_gates(select(gates, 1, t) + linear(context, for_context), state);
      states.push_back(state.hidden);
      contexts.push_back(context);
    }
    return output(concat({stack(states, 1), stack(contexts, 1)}, -1));
  }

  Embedding source, target;
  GRU encoder;
  GRUCell cell;
  Attention attention;
  Linear output;
};

/// Model and optimiser, which live as long as the step.
template <class Model>
struct Training {
  template <class... Args>
  explicit Training(const Args&... args) : model(args...) {
    model.initialise(1);
    adam.add_group(model.parameters(), {});
  }

  Model model;
  Adam adam;
};

inline Step seq2seq_step(const TranslatorSizes& sizes) {
  const auto training = std::make_shared<Training<RecurrentTranslator>>(sizes);
  const Dims shape{sizes.batch, sizes.time};
  const Indices from = random_ids(shape, sizes.words, 1), previous = random_ids(shape, sizes.words, 2),
                targets = random_ids(shape, sizes.words, 3);
  return [=] {
    Tape tape;
    tape.backward(cross_entropy(training->model(from, previous), targets));
    training->adam.step();
  };
}

struct TransformerSizes {
  Size words, batch, time, width, heads, units, layers;
  Activation activation = Activation::gelu;
};

inline TransformerOptions options_of(const TransformerSizes& s) {
  TransformerOptions options;
  options.vocabulary = s.words;
  options.layers = s.layers;
  options.block = {.width = s.width, .heads = s.heads, .hidden = s.units, .activation = s.activation};
  options.positions = learned_positions(s.time);
  options.scale_words = false;
  options.tied = false;
  return options;
}

inline Step decoder_step(const TransformerSizes& sizes) {
  const auto training = std::make_shared<Training<LanguageModel>>(options_of(sizes));
  const Indices ids = random_ids({sizes.batch, sizes.time}, sizes.words, 1),
                targets = random_ids({sizes.batch, sizes.time}, sizes.words, 2);
  return [=] {
    Tape tape;
    tape.backward(cross_entropy(training->model(ids), targets));
    training->adam.step();
  };
}

inline Step transformer_step(const TransformerSizes& sizes) {
  const TransformerTranslatorOptions options{options_of(sizes), options_of(sizes)};
  const auto training = std::make_shared<Training<TransformerTranslator>>(options);
  const Dims shape{sizes.batch, sizes.time};
  const Indices from = random_ids(shape, sizes.words, 1), previous = random_ids(shape, sizes.words, 2),
                targets = random_ids(shape, sizes.words, 3);
  return [=] {
    Tape tape;
    tape.backward(cross_entropy(training->model(from, {}, previous), targets));
    training->adam.step();
  };
}

inline const std::vector<const char*>& step_names() {
  static const std::vector<const char*> names{"seq2seq_tiny_step", "seq2seq_10k_step", "decoder_step",
                                              "babygpt_step", "transformer_10k_step"};
  return names;
}

/// Throws if there is none of this name.
inline Step step_of(const std::string& name) {
  if (name == "seq2seq_tiny_step") return seq2seq_step({40, 32, 64, 64, 12});
  if (name == "seq2seq_10k_step") return seq2seq_step({10000, 300, 500, 32, 30});
  if (name == "decoder_step") return decoder_step({65, 32, 64, 64, 4, 256, 2});
  if (name == "babygpt_step") return decoder_step({65, 12, 64, 128, 4, 512, 4});
  if (name == "transformer_10k_step")
    return transformer_step({10000, 8, 64, 512, 8, 2048, 2, Activation::relu});
  throw std::invalid_argument("there is no training step \"" + name + "\"");
}

}  // namespace tapestry::bench
