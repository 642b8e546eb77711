// Checks of the chapter's block and translator, compared with nn/'s, and of their masks.
#pragma once

#include <functional>

#include "lessons/kit/kit.hpp"
#include "nn/transformer/transformer.hpp"

namespace tapestry::lesson22 {

/// Computes the block of a decoder (or of an encoder, without memory) with the weights of nn/'s block.
using BlockByHand = std::function<Tensor(const TransformerBlock& nn, Tensor x, const Mask& own,
                                         const Tensor& memory, const Mask& of_memory)>;
/// source (B, S), words (B, T) → logits (B, T, V), with the weights of nn/'s translator.
using TranslatorByHand = std::function<Tensor(const TransformerTranslator& nn, const Indices& source,
                                              const ValidLengths& lengths, const Indices& words)>;

/// Largest changes of the logits for the first output word if the decoder's last input word changes, and if the last
/// word of the source changes.
struct LogitChanges {
  double last_input = 0, last_source = 0;
};

/// Gradient-checks a decoder's block and compares it with nn/'s. Compares the logits and gradients of the whole
/// translator with nn/'s. Prints the changes of the first logits.
LogitChanges check_by_hand(const BlockByHand& block, const TranslatorByHand& translator, std::uint64_t seed,
                           kit::Report& report);

}  // namespace tapestry::lesson22
