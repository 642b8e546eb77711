// What all recurrent decoders share: options, state, teacher forcing.
#pragma once

#include <optional>

#include "nn/attention/attention.hpp"
#include "nn/decode.hpp"
#include "nn/linear.hpp"
#include "nn/seq2seq/encoder.hpp"

namespace tapestry {

/// The layer between a decoder's state and the vocabulary. tanh: tanh(W r). maxout: the larger of each pair
/// of 2 · readout units (Goodfellow et al. 2013; Bahdanau, Cho & Bengio 2015, appendix A.2.2).
enum class ReadoutKind { tanh, maxout };

struct DecoderOptions {
  Size vocabulary = 0;   // words that it may write
  Size embedding = 256;  // width of a word's vector
  Size hidden = 256;     // units of the cell
  /// Hidden units of the additive score; ignored if `score` is given.
  Size attention = 256;
  /// Width of the layer before the vocabulary.
  Size readout = 256;
  /// Of embeddings and of the readout, in training.
  double dropout = 0;
  std::optional<std::int64_t> padding = 0;  // as in Embedding
  /// Another score than the decoder's own: `.score = scaled_dot()`.
  std::optional<ScoreFactory> score = {};
  /// Normaliser, dropout of weights, window of local attention.
  AttentionOptions attend = {};
  CellKind cell = CellKind::gru;  // of what it steps with
  /// One matrix for the words that go in and those that come out (Press & Wolf 2017);
  /// wants readout == embedding.
  bool tied = false;
  /// BahdanauDecoder's.
  ReadoutKind readout_kind = ReadoutKind::tanh;
  /// LuongDecoder's: the attention vector goes into the next step, beside the word.
  bool input_feeding = true;
  /// LuongDecoder's: the query is [embedding of the word before; hidden], as the fully connected score wants
  /// it.
  bool word_in_query = false;
  /// PlainDecoder's: the code goes into every step (Cho et al. 2014), not into the first state alone
  /// (Sutskever, Vinyals & Le 2014).
  bool code_every_step = false;
};

/// What a decoder keeps from word to word.
struct DecoderState {
  /// hidden (B, H), and for an LSTM its cell (B, H).
  RecurrentState recurrent;
  /// What is fed back in (B, readout): Luong's attention vector; or no tensor.
  Tensor fed;
  ScoreState attention;  // what its score carries
};

/// Writes one word after another, having read a source. The words that go in are embedded; how a step uses
/// them is each decoder's own.
class Decoder : public Module {
 public:
  /// The source made ready, once for the whole sequence: keys projected, padding masked.
  virtual PreparedKV prepare(const Encoded& source) const = 0;
  /// The state before the first word.
  virtual DecoderState start(const Encoded& source) const = 0;
  /// One word for each row, (B) → logits (B, V) and where the rows looked, (B, T_source), if they look. Moves
  /// the state on.
  virtual AutoregressiveModel::Step step(const Indices& words, DecoderState& state,
                                         const PreparedKV& memory) const = 0;

  /// words (B, T) go in → logits (B, T, V) for the words that follow them. `forcing` is the share of places
  /// where the given word goes in; elsewhere it is the likeliest one that the decoder wrote before (Bengio et
  /// al. 2015). The first word is always given. 1, teacher forcing, is by far the fastest: what the words
  /// need beside the recurrence is one product for the whole sequence.
  Tensor operator()(const Indices& words, const Encoded& source, double forcing = 1) const;

  Embedding embedding;
  Dropout dropout;
  /// Makes s₀.
  Linear initial;
  RecurrentCell cell;

 protected:
  /// `start_width`: of what s₀ is made from; `beside`: of what goes into the cell beside the word.
  Decoder(Parent parent, const DecoderOptions& options, Size start_width, Size beside);
  /// Teacher forcing.
  virtual Tensor forced(const Indices& words, const Encoded& source) const = 0;

  /// s₀ = tanh(W x + b); an LSTM's cell starts at 0.
  RecurrentState first_state(const Tensor& x) const;
  /// The cell's input weights are [W_e | W_c]. W_e e + b for any number of words (…, E) → (…, gates · H).
  Tensor word_gates(const Tensor& embedded) const;
  /// W_c (gates · H, beside)
  Tensor beside_weight() const;
};

}  // namespace tapestry
