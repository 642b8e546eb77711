// A captioner: patches, a gate for each channel, and a decoder that looks at the places (Xu and others 2015).
#pragma once

#include <vector>

#include "lessons/33_vision/scenes.hpp"
#include "nn/decode.hpp"
#include "nn/seq2seq/bahdanau.hpp"
#include "nn/vision/gates.hpp"

namespace tapestry::lesson33 {

/// What a captioner attends to.
struct Attends {
  bool places = true;    ///< each word chooses among places; else all weights are equal
  bool channels = true;  ///< the picture chooses among channels; else they stay as they are
  bool mean = false;     ///< the first state is made from the mean of all places; else of nothing
};

struct Widths {
  Size features = 48, gate = 16, hidden = 64;
};

struct Captioner : Module {
  explicit Captioner(Attends attends, Widths widths = {});

  /// (B, side, side, 3) → the features of the places, (B, places, features). The decoder's first state is
  /// made of zeros: it knows nothing of a picture but what it looks at.
  Encoded read(const Tensor& pictures) const;
  /// Logits (B, longest, words) for the words that follow batch.words.
  Tensor operator()(const Batch& batch) const { return decoder(batch.words, read(batch.pictures)); }
  /// What a decoder in state s (B, hidden) reads of the pictures, (B, features).
  Tensor look(const Tensor& pictures, const Tensor& s) const;

  /// The likeliest word at each step, and where the decoder looked for each.
  std::vector<Decoded> write(const Tensor& pictures) const;
  /// The same where it may not look at one place of each picture; the gates have seen it. Its weights are in
  /// another order.
  std::vector<Decoded> write(const Tensor& pictures, const std::vector<Size>& covered) const;

  const AdditiveScore& score() const;
  /// The parameters that look() uses.
  std::vector<Tensor> looking() const;

  Linear patch;
  Parameter places;  ///< (places, features): a vector for each place
  ChannelAttention channels;
  BahdanauDecoder decoder;
  Attends attends;

 private:
  std::vector<Decoded> write_from(const Encoded& source) const;
};

}  // namespace tapestry::lesson33
