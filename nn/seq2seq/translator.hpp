// Encoder and decoder together.
#pragma once

#include <concepts>
#include <memory>

#include "nn/seq2seq/bahdanau.hpp"
#include "nn/seq2seq/luong.hpp"
#include "nn/seq2seq/plain.hpp"

namespace tapestry {

template <class E>
struct Seq2SeqOptions {
  typename E::Options encoder;  // of the part that reads
  DecoderOptions decoder;       // of the part that writes
};
/// Those of a recurrent encoder.
using TranslatorOptions = Seq2SeqOptions<Encoder>;

/// Anything that reads one sequence and writes another.
class SequenceModel : public Module {
 public:
  using Module::Module;
  /// source (B, S) with lengths, the words that go into the decoder (B, T) → logits (B, T, V); `forcing` as
  /// in Decoder.
  virtual Tensor operator()(const Indices& source, const ValidLengths& lengths, const Indices& words,
                            double forcing = 1) const = 0;
  /// Reads the source and is ready to be searched; refers to this model. Put the model into eval mode first.
  virtual std::unique_ptr<AutoregressiveModel> begin(const Indices& source,
                                                     const ValidLengths& lengths) const = 0;
};

namespace detail {
/// A decoder in the middle of its sentences. `model` is named in errors.
std::unique_ptr<AutoregressiveModel> begin_search(const Module& model, const Decoder& decoder,
                                                  const Encoded& source);
}  // namespace detail

/// Any of the decoders behind an encoder: a recurrent one, or another that has E::Options, `encode` and
/// `widths`.
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

  /// The encoder, which reads, and the decoder, which writes.
  E encoder;
  D decoder;
};

/// Bahdanau, Cho & Bengio 2015
using Translator = Seq2Seq<BahdanauDecoder>;
/// Luong, Pham & Manning 2015
using LuongTranslator = Seq2Seq<LuongDecoder>;
/// Without attention.
using PlainTranslator = Seq2Seq<PlainDecoder>;

}  // namespace tapestry
