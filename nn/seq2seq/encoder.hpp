// The encoder of a sequence-to-sequence model: it reads.
#pragma once

#include <optional>

#include "core/tensor/pool_vector.hpp"
#include "core/tensor/values.hpp"
#include "nn/dropout.hpp"
#include "nn/embedding.hpp"
#include "nn/recurrent.hpp"

namespace tapestry {

struct EncoderOptions {
  Size vocabulary = 0;   // words that it may read
  Size embedding = 256;  // width of a word's vector
  /// Hidden units of each direction.
  Size hidden = 256;
  CellKind cell = CellKind::gru;                           // of the recurrent layer
  RecurrentOptions recurrent = {.both_directions = true};  // its layers and directions
  /// Of embeddings, in training.
  double dropout = 0;
  std::optional<std::int64_t> padding = 0;  // as in Embedding
};

/// What an encoder has read.
struct Encoded {
  /// (B, T, directions · hidden); 0 in padding.
  Tensor states;
  /// As in RecurrentOutput; the last one is the last layer's last direction.
  PoolVector<RecurrentState> final;
  ValidLengths lengths;  // of the rows, as given

  /// The whole source in one vector, [→h_T; ←h_1] of the last layer: (B, width of states).
  Tensor code() const;
};

/// What a decoder has to know of the encoder that it follows.
struct EncodedWidths {
  /// Of Encoded::states, and of code().
  Size states = 0;
  /// Of one direction's final state.
  Size final = 0;
};

/// Embedding, then a recurrent layer in both directions: h_j = [→h_j; ←h_j].
class Encoder : public Module {
 public:
  /// As Seq2Seq asks for them.
  using Options = EncoderOptions;
  Encoder(Parent parent, const EncoderOptions& options);
  explicit Encoder(const EncoderOptions& options) : Encoder(Parent{}, options) {}

  /// source (B, T) with one length for each row, or none.
  Encoded encode(const Indices& source, const ValidLengths& lengths = {}) const;
  Encoded operator()(const Indices& source, const ValidLengths& lengths = {}) const {
    return encode(source, lengths);
  }
  /// What a decoder behind it has to know.
  EncodedWidths widths() const { return {rnn.directions() * rnn.hidden(), rnn.hidden()}; }

  Embedding embedding;
  Dropout dropout;
  Recurrent rnn;
};

}  // namespace tapestry
