// The two models of lesson 23, built with nn/: an encoder with a head that predicts hidden words, and the
// same encoder with a linear layer for two classes.
#pragma once

#include "core/core.hpp"
#include "lessons/23_bert/text.hpp"
#include "nn/loss.hpp"
#include "nn/transformer/encoder.hpp"

namespace tapestry::lesson23 {

inline TransformerOptions sizes(const Dictionary& dictionary, Size width, Size layers) {
  TransformerOptions options;
  options.vocabulary = dictionary.words.size();
  options.layers = layers;
  options.block = {.width = width, .heads = 4, .hidden = 2 * width};
  options.positions = learned_positions(40, 0.5);  // for up to 40 words; initial standard deviation 0.5
  options.segments = 2;
  return options;
}

struct MaskedModel : Module {
  explicit MaskedModel(const TransformerOptions& options)
      : encoder{{*this, "encoder"}, options},
        dense{{*this, "dense"}, options.block.width, options.block.width},
        norm{{*this, "norm"}, options.block.width},
        output{{*this, "output"}, options.block.width, options.vocabulary} {
    output.weight.tie(encoder.input.words.weight);
  }

  /// Returns the encoder's states (B, T, width).
  Tensor states(const Batch& batch) const { return encoder(batch.words, batch.lengths, batch.segments); }
  /// Returns logits (B, T, V).
  Tensor operator()(const Batch& batch) const { return output(norm(gelu(dense(states(batch))))); }
  Tensor loss(const Batch& batch) const {
    return cross_entropy((*this)(batch), batch.answers, {.ignore = kNone});
  }

  TransformerEncoder encoder;
  Linear dense;
  LayerNorm norm;
  Linear output;
};

/// The encoder, followed by a linear layer that maps the mean of its states to two logits.
struct Classifier : Module {
  explicit Classifier(const TransformerOptions& options)
      : encoder{{*this, "encoder"}, options}, output{{*this, "output"}, options.block.width, 2} {}

  /// Returns logits (B, 2).
  Tensor operator()(const Batch& batch) const {
    return output(mean_over_time(encoder(batch.words, batch.lengths, batch.segments), batch.lengths));
  }

  TransformerEncoder encoder;
  Linear output;
};

}  // namespace tapestry::lesson23
