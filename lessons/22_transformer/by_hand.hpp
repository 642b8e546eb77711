// The chapter's block and translator beside nn/'s, and what their masks let through.
#pragma once

#include <functional>

#include "lessons/kit/kit.hpp"
#include "nn/transformer/transformer.hpp"

namespace tapestry::lesson22 {

/// The block of a decoder (or of an encoder, without memory) with the weights of nn/'s.
using BlockByHand = std::function<Tensor(const TransformerBlock& nn, Tensor x, const Mask& own,
                                         const Tensor& memory, const Mask& of_memory)>;
/// source (B, S), words (B, T) → logits (B, T, V), with the weights of nn/'s.
using TranslatorByHand = std::function<Tensor(const TransformerTranslator& nn, const Indices& source,
                                              const ValidLengths& lengths, const Indices& words)>;

/// How far the logits for the first word move when another word is changed: the last one that goes into the
/// decoder, or the last one of the source.
struct Seen {
  double last_written = 0, last_read = 0;
};

/// Gradcheck of a decoder's block, and the same from nn/; the whole translator's logits and gradients beside
/// nn/'s. Prints what moves the first logits, too.
Seen check_by_hand(const BlockByHand& block, const TranslatorByHand& translator, std::uint64_t seed,
                   kit::Report& report);

}  // namespace tapestry::lesson22
