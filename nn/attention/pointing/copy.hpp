// Copying: a decoder generates tokens of its vocabulary and copies unknown tokens from the source (Vinyals, Fortunato &
// Jaitly 2015, pointer networks; See, Liu & Manning 2017, equation 9):
//
//     P(w) = p_gen softmax(logits)_w + (1 − p_gen) Σ_{j: x_j = w} α_j
//
// `source` and targets hold ids of an open vocabulary. Ids below V, the number of logits, are known tokens. All other
// ids name unknown tokens; there may be any number of them.
#pragma once

#include "core/ops/loss.hpp"
#include "core/tensor/indices.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Decoder outputs for T steps in each of B rows.
struct CopyScores {
  Tensor logits;   ///< (B, T, V): scores of the known tokens
  Tensor weights;  ///< α (B, T, S): attention weights over the source
  Tensor gate;     ///< (B, T): p_gen = sigmoid(gate), the probability of generating
};

/// Returns P (B, T, V + S) for `source` (B, S): first the V known tokens, then the S source positions. An unknown token
/// is at V + its first position in the row; its other positions have 0.
Tensor copy_mixture(const CopyScores& scores, const Indices& source);
/// Returns the likeliest token of each step (B, T), as an id of the open vocabulary.
Indices likeliest_word(const Tensor& mixture, const Indices& source);

/// Options of copy_loss().
struct CopyLoss {
  /// Targets with this id have loss 0 and no gradient, and the mean does not count them.
  std::int64_t ignore = -1;
  Reduce reduce = Reduce::mean;  // over the targets' losses
};
/// Returns −ln P(target) for targets (B, T) of the open vocabulary, without computing P of other tokens. The loss is
/// finite: the attention to a target counts as at least 1e-30. Throws if a target is neither known nor in its row of
/// the source; for such a target, use the vocabulary's id for unknown tokens.
Tensor copy_loss(const CopyScores& scores, const Indices& source, const Indices& targets,
                 CopyLoss options = {});

}  // namespace tapestry
