// A captioner: patches, a gate for each channel, and a decoder that attends to places (Xu and others 2015).
#pragma once

#include <vector>

#include "lessons/33_vision/scenes.hpp"
#include "nn/decode.hpp"
#include "nn/seq2seq/bahdanau.hpp"
#include "nn/vision/gates.hpp"

namespace tapestry::lesson33 {

/// The parts that a captioner has.
struct CaptionerParts {
  bool places = true;    ///< each word attends to places; else all places have equal weights
  bool channels = true;  ///< a gate scales the channels; else they stay as they are
  bool mean = false;     ///< the initial state is computed from the mean of all places; else from zeros
};

struct Widths {
  Size features = 48, gate = 16, hidden = 64;
};

struct Captioner : Module {
  explicit Captioner(CaptionerParts parts, Widths widths = {});

  /// Pictures (B, side, side, 3) → the features of the places, (B, places, features). By default the
  /// decoder's initial state is computed from zeros, so the decoder knows only those parts of a picture that
  /// it attends to.
  Encoded read(const Tensor& pictures) const;
  /// Returns the logits (B, longest, words) for the words that follow batch.words.
  Tensor operator()(const Batch& batch) const { return decoder(batch.words, read(batch.pictures)); }
  /// Returns the context of a decoder in state s (B, hidden), (B, features).
  Tensor attend(const Tensor& pictures, const Tensor& s) const;

  /// Returns the most likely word at each step, with the decoder's attention weights.
  std::vector<Decoded> write(const Tensor& pictures) const;
  /// Does the same, but the decoder may not attend to one covered place of each picture. The gate still uses
  /// that place. The weights are in a different order.
  std::vector<Decoded> write(const Tensor& pictures, const std::vector<Size>& covered) const;

  const AdditiveScore& score() const;
  /// The parameters that attend() uses.
  std::vector<Tensor> attention_parameters() const;

  Linear patch;
  Parameter places;  ///< (places, features): a position vector for each place
  ChannelAttention channels;
  BahdanauDecoder decoder;
  CaptionerParts parts;

 private:
  std::vector<Decoded> write_from(const Encoded& source) const;
};

}  // namespace tapestry::lesson33
