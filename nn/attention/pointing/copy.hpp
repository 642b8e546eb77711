// Copying: a writer that writes words of its vocabulary, and points at words of the source that it does not know
// (Vinyals, Fortunato & Jaitly 2015, pointer networks; See, Liu & Manning 2017, equation 9):
//
//     P(w) = p_gen softmax(logits)_w + (1 − p_gen) Σ_{j: x_j = w} α_j
//
// Here `source` has the words of an open vocabulary: ids below V, the number of logits, are words that the writer
// knows, any others are names of words that it does not, as many as there may be.
#pragma once

#include "core/ops/loss.hpp"
#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

/// What a writer says of each of T words, in each of B rows.
struct CopyScores {
  Tensor logits;   ///< (B, T, V): of the words that it knows
  Tensor weights;  ///< α (B, T, S): where it points, of an attention over the source
  Tensor gate;     ///< (B, T): p_gen = sigmoid(gate), the share of what it writes by itself
};

/// P, (B, T, V + S): first the V known words, then the S places of the source. A word that is not known stands at
/// V + the first place where its row has it; the other places have 0. `source` (B, S).
Tensor copy_mixture(const CopyScores& scores, const Indices& source);
/// The likeliest word of each step (B, T), by its id in the open vocabulary.
Indices likeliest_word(const Tensor& mixture, const Indices& source);

/// Options of copy_loss().
struct CopyLoss {
  /// Targets with this id have loss 0 and no gradient, and the mean does not count them.
  std::int64_t ignore = -1;
  Reduce reduce = Reduce::mean;  // of the targets' losses
};
/// −ln P(target), targets (B, T) of the open vocabulary, without the other words' P. It is finite: where a word can
/// only be copied, what points at it counts as 1e-30 at least. A target that is neither known nor in its row of the
/// source throws; a model of such texts is given the id of a word that stands for unknown ones.
Tensor copy_loss(const CopyScores& scores, const Indices& source, const Indices& targets,
                 CopyLoss options = {});

}  // namespace tapestry
