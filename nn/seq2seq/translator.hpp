// Sequence-to-sequence models: an encoder and a decoder together.
#pragma once

#include <concepts>
#include <memory>

#include "nn/seq2seq/bahdanau.hpp"
#include "nn/seq2seq/luong.hpp"
#include "nn/seq2seq/plain.hpp"

namespace tapestry {

/// Options of Seq2Seq.
template <class E>
struct Seq2SeqOptions {
  typename E::Options encoder;  // options of the encoder
  DecoderOptions decoder;       // options of the decoder
};
/// Options of Seq2Seq with a recurrent encoder.
using TranslatorOptions = Seq2SeqOptions<Encoder>;

/// Interface of models that map one sequence to another.
class SequenceModel : public Module {
 public:
  using Module::Module;
  /// Maps source ids (B, S) with their lengths and the decoder's input words (B, T) to logits (B, T, V).
  /// `forcing` has the same meaning as in Decoder.
  virtual Tensor operator()(const Indices& source, const ValidLengths& lengths, const Indices& words,
                            double forcing = 1) const = 0;
  /// Encodes the source and returns a model for greedy(), beam_search() or sample(). The result refers to
  /// this model. Throws unless the model is in eval mode.
  virtual std::unique_ptr<AutoregressiveModel> begin(const Indices& source,
                                                     const ValidLengths& lengths) const = 0;
};

namespace detail {
/// Returns an AutoregressiveModel that runs `decoder` on `source`. Throws unless `model` is in eval mode.
std::unique_ptr<AutoregressiveModel> begin_search(const Module& model, const Decoder& decoder,
                                                  const Encoded& source);
}  // namespace detail

/// An encoder followed by a decoder D. The class E of the encoder must have E::Options, `encode` and `widths`.
template <std::derived_from<Decoder> D, class E = Encoder>
class Seq2Seq : public SequenceModel {
 public:
  Seq2Seq(Parent parent, const Seq2SeqOptions<E>& options)
      : SequenceModel(std::move(parent)),
        encoder{{*this, "encoder"}, options.encoder},
        decoder{{*this, "decoder"}, encoder.widths(), options.decoder} {}
  explicit Seq2Seq(const Seq2SeqOptions<E>& options) : Seq2Seq(Parent{}, options) {}

  Tensor operator()(const Indices& source, const ValidLengths& lengths, const Indices& words,
                    double forcing = 1) const override {
    return decoder(words, encoder.encode(source, lengths), forcing);
  }
  std::unique_ptr<AutoregressiveModel> begin(const Indices& source,
                                             const ValidLengths& lengths) const override {
    return detail::begin_search(*this, decoder, encoder.encode(source, lengths));
  }

  /// Encoder of the source and decoder of the target.
  E encoder;
  D decoder;
};

/// Translator of Bahdanau, Cho & Bengio 2015.
using Translator = Seq2Seq<BahdanauDecoder>;
/// Translator of Luong, Pham & Manning 2015.
using LuongTranslator = Seq2Seq<LuongDecoder>;
/// Translator without attention.
using PlainTranslator = Seq2Seq<PlainDecoder>;

}  // namespace tapestry
