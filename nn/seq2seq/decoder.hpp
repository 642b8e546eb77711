// Base class of the recurrent decoders: options, state, and teacher forcing.
#pragma once

#include <optional>

#include "nn/attention/attention.hpp"
#include "nn/decode.hpp"
#include "nn/linear.hpp"
#include "nn/seq2seq/encoder.hpp"

namespace tapestry {

/// Activation of the layer between the decoder's state and the vocabulary. tanh: tanh(W r). maxout: the
/// larger of each pair of 2 · readout units (Goodfellow et al. 2013; Bahdanau, Cho & Bengio 2015, appendix
/// A.2.2).
enum class ReadoutKind { tanh, maxout };

/// Options of the recurrent decoders.
struct DecoderOptions {
  Size vocabulary = 0;   // number of target words
  Size embedding = 256;  // width of a word embedding
  Size hidden = 256;     // hidden units of the cell
  /// Hidden units of BahdanauDecoder's default score, additive(); ignored if `score` is given.
  Size attention = 256;
  /// Width of the layer before the vocabulary projection.
  Size readout = 256;
  /// Dropout rate of embeddings and of the readout, in training.
  double dropout = 0;
  std::optional<std::int64_t> padding = 0;  // as in Embedding
  /// Attention score that replaces the decoder's default: `.score = scaled_dot()`.
  std::optional<ScoreFactory> score = {};
  /// Fails to compile if it is set: the option is attend.normalise.
  [[no_unique_address]] detail::NormaliseOfAttend normalise = {};
  /// Options of the attention: normaliser, dropout of weights, local window.
  AttentionOptions attend = {};
  CellKind cell = CellKind::gru;  // kind of recurrent cell
  /// Ties the input embedding and the output projection (Press & Wolf 2017). Requires readout == embedding.
  bool tied = false;
  /// Activation of the readout layer; BahdanauDecoder only.
  ReadoutKind readout_kind = ReadoutKind::tanh;
  /// Input feeding: the attention vector is an additional input of the next step; LuongDecoder only.
  bool input_feeding = true;
  /// Makes the query [embedding of the previous word; hidden], as the fully connected score requires;
  /// LuongDecoder only.
  bool word_in_query = false;
  /// Feeds the code into every step (Cho et al. 2014), not only into the first state (Sutskever, Vinyals & Le
  /// 2014); PlainDecoder only.
  bool code_every_step = false;
};

/// State of a decoder between steps.
struct DecoderState {
  /// hidden (B, H) and, for an LSTM, cell (B, H).
  RecurrentState recurrent;
  /// Luong's attention vector for input feeding, (B, readout); otherwise undefined.
  Tensor fed;
  ScoreState attention;  // state of the attention score
};

/// Base class of decoders: generates a sentence word by word from an encoded source. The input words are
/// embedded; each subclass defines how a step uses them.
class Decoder : public Module {
 public:
  /// Prepares the keys and values of the source for all steps, and masks its padding.
  virtual PreparedKV prepare(const Encoded& source) const = 0;
  /// Returns the state before the first word.
  virtual DecoderState start(const Encoded& source) const = 0;
  /// Runs one step on one word for each row, (B), and advances the state. Returns logits (B, V) and the
  /// attention weights (B, T_source), if the decoder has attention.
  virtual AutoregressiveModel::Step step(const Indices& words, DecoderState& state,
                                         const PreparedKV& memory) const = 0;

  /// Maps input words (B, T) to logits (B, T, V) for the words that follow them. `forcing`, from 0 to 1, is the
  /// probability that an input is the given word; otherwise it is the word that the decoder found likeliest in the
  /// previous step (scheduled sampling, Bengio et al. 2015). The first input is always the given word. A forcing of 1
  /// is called teacher forcing. It is by far the fastest, because only the recurrence runs step by step. Throws if
  /// `words` is not (B, T ≥ 1) for the rows of the source, or if `forcing` is out of range.
  Tensor operator()(const Indices& words, const Encoded& source, double forcing = 1) const;

  Embedding embedding;
  Dropout dropout;
  /// Linear layer of the first state s₀.
  Linear initial;
  RecurrentCell cell;

 protected:
  /// `start_width`: width of the input of first_state(). `extra_width`: width of the cell's input after the embedding.
  Decoder(Parent parent, const DecoderOptions& options, Size start_width, Size extra_width);
  /// Computes the logits (B, T, V) with teacher forcing.
  virtual Tensor forced(const Indices& words, const Encoded& source) const = 0;

  /// Returns s₀ = tanh(W x + b); an LSTM's cell starts at 0.
  RecurrentState first_state(const Tensor& x) const;
  /// Returns W_e e + b (…, gates · H) for embedded words (…, E). The cell's input weights are [W_e | W_x].
  Tensor word_gates(const Tensor& embedded) const;
  /// Returns W_x (gates · H, extra_width).
  Tensor extra_weight() const;
};

}  // namespace tapestry
