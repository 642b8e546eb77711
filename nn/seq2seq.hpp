// Sequence to sequence: an encoder that reads, and Bahdanau's decoder that looks back at what was read with
// every word it writes (Bahdanau, Cho & Bengio 2015).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/values.hpp"
#include "nn/attention/attention.hpp"
#include "nn/decode.hpp"
#include "nn/dropout.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"
#include "nn/recurrent.hpp"

namespace tapestry {

struct EncoderOptions {
  Size vocabulary = 0;
  Size embedding = 256;
  /// Hidden units of each direction.
  Size hidden = 256;
  CellKind cell = CellKind::gru;
  RecurrentOptions recurrent = {.both_directions = true};
  /// Of embeddings, in training.
  double dropout = 0;
  std::optional<std::int64_t> padding = 0;
};

/// What an encoder has read.
struct Encoded {
  /// (B, T, directions · hidden); 0 in padding.
  Tensor states;
  /// As in RecurrentOutput; the last one is the last layer's last direction.
  std::vector<RecurrentState> final;
  ValidLengths lengths;
};

/// Embedding, then a recurrent layer in both directions: h_j = [→h_j; ←h_j].
class Encoder : public Module {
 public:
  Encoder(Place place, const EncoderOptions& options);
  explicit Encoder(const EncoderOptions& options) : Encoder(Place{}, options) {}

  /// source (B, T) with one length for each row, or none.
  Encoded operator()(const Indices& source, const ValidLengths& lengths = {}) const;
  /// Width of Encoded::states.
  Size width() const { return rnn.directions() * rnn.hidden(); }

  Embedding embedding;
  Dropout dropout;
  Recurrent rnn;
};

struct DecoderOptions {
  Size vocabulary = 0;
  Size embedding = 256;
  Size hidden = 256;
  /// Hidden units of the additive score; ignored if `score` is given.
  Size attention = 256;
  /// Width of the layer before the vocabulary.
  Size readout = 256;
  /// Of embeddings and of the readout, in training.
  double dropout = 0;
  std::optional<std::int64_t> padding = 0;
  /// Another score in place of the additive one: `.score = scaled_dot()`.
  std::optional<ScoreMaker> score = {};
};

/// What the decoder keeps from word to word.
struct DecoderState {
  /// s (B, H)
  Tensor hidden;
  ScoreState attention;
};

/// Attend, then step: c_t = attend(s_{t−1}, h); s_t = GRU([e_t; c_t], s_{t−1}), where e_t embeds the word
/// before; logits = output(tanh(readout([s_t; c_t; e_t]))). s₀ = tanh(W ←h₁).
class BahdanauDecoder : public Module {
 public:
  /// `memory_width`: of the encoder's states; `start_width`: of its final state that s₀ is made from.
  BahdanauDecoder(Place place, Size memory_width, Size start_width, const DecoderOptions& options);
  BahdanauDecoder(Size memory_width, Size start_width, const DecoderOptions& options)
      : BahdanauDecoder(Place{}, memory_width, start_width, options) {}

  /// The encoder's states as keys (projected here, once) and values.
  AttentionMemory prepare(const Encoded& source) const;
  DecoderState start(const Encoded& source) const;

  /// Teacher forcing: words (B, T) go in, one after another, whatever the decoder would have written; →
  /// logits (B, T, V) for the words that follow them.
  Tensor operator()(const Indices& words, const Encoded& source) const;
  /// One word for each row, (B) → logits (B, V) and where the rows looked, (B, T_source). Moves the state on.
  StepModel::Step step(const Indices& words, DecoderState& state, const AttentionMemory& memory) const;

  Embedding embedding;
  Dropout dropout;
  Linear initial;
  Attention attention;
  GRUCell cell;
  Linear readout, output;

 private:
  /// The cell's input weights are [W_e | W_c]: the part for the word can be applied to a whole sequence at
  /// once.
  Tensor word_weight() const;
  Tensor context_weight() const;
  /// Attends and steps: `word_gates` (B, 3H) is W_e e + b. Moves the state on; returns the context (B, d) and
  /// the weights.
  Attended advance(const Tensor& word_gates, const Tensor& context_weight, DecoderState& state,
                   const AttentionMemory& memory) const;
  Tensor logits(const Tensor& states, const Tensor& contexts, const Tensor& words) const;
};

struct TranslatorOptions {
  EncoderOptions encoder;
  DecoderOptions decoder;
};

/// Encoder and decoder.
class Translator : public Module {
 public:
  Translator(Place place, const TranslatorOptions& options);
  explicit Translator(const TranslatorOptions& options) : Translator(Place{}, options) {}

  /// source (B, S) with lengths, the words that go into the decoder (B, T) → logits (B, T, V).
  Tensor operator()(const Indices& source, const ValidLengths& lengths, const Indices& words) const {
    return decoder(words, encoder(source, lengths));
  }
  /// Reads the source and is ready to be searched; refers to this model. Put the model into eval mode first.
  std::unique_ptr<StepModel> begin(const Indices& source, const ValidLengths& lengths) const;

  Encoder encoder;
  BahdanauDecoder decoder;
};

}  // namespace tapestry
