// The recurrent encoder of a sequence-to-sequence model.
#pragma once

#include <optional>

#include "core/tensor/indices.hpp"
#include "core/tensor/mask.hpp"
#include "core/tensor/pool_vector.hpp"
#include "nn/dropout.hpp"
#include "nn/embedding.hpp"
#include "nn/recurrent.hpp"

namespace tapestry {

/// Options of Encoder.
struct EncoderOptions {
  Size vocabulary = 0;   // number of source words
  Size embedding = 256;  // width of a word embedding
  /// Hidden units in each direction.
  Size hidden = 256;
  CellKind cell = CellKind::gru;                           // kind of recurrent cell
  RecurrentOptions recurrent = {.both_directions = true};  // layers, directions and dropout between layers
  /// Dropout rate of embeddings, in training.
  double dropout = 0;
  std::optional<std::int64_t> padding = 0;  // as in Embedding
};

/// Output of an encoder.
struct Encoded {
  /// States of the last layer, (B, T, directions · hidden); 0 at padding.
  Tensor states;
  /// Final states, as in RecurrentOutput; the last element belongs to the last direction of the last layer.
  PoolVector<RecurrentState> final;
  ValidLengths lengths;  // length of each row, as given

  /// Returns the whole source as one vector, [→h_T; ←h_1] of the last layer: (B, width of states).
  Tensor code() const;
};

/// Widths of an encoder's output, from which a decoder is constructed.
struct EncodedWidths {
  /// Width of Encoded::states and of code().
  Size states = 0;
  /// Width of the final state of one direction.
  Size final = 0;
};

/// Encoder: an embedding, followed by recurrent layers, bidirectional by default: h_j = [→h_j; ←h_j].
class Encoder : public Module {
 public:
  /// Required by Seq2Seq<E>.
  using Options = EncoderOptions;
  Encoder(Parent parent, const EncoderOptions& options);
  explicit Encoder(const EncoderOptions& options) : Encoder(Parent{}, options) {}

  /// Encodes source ids (B, T); `lengths` has one length for each row, or is empty. Throws for another rank.
  Encoded encode(const Indices& source, const ValidLengths& lengths = {}) const;
  Encoded operator()(const Indices& source, const ValidLengths& lengths = {}) const {
    return encode(source, lengths);
  }
  /// Returns the widths of states and of one final state.
  EncodedWidths widths() const { return {rnn.directions() * rnn.hidden(), rnn.hidden()}; }

  Embedding embedding;
  Dropout dropout;
  Recurrent rnn;
};

}  // namespace tapestry
