// A score of queries and keys with weights of its own, behind one type: what makes scores in tiled attention
// where they are not scale·query·key. pair_score() (score_lambda.hpp) makes one from a lambda.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/simd/attention/attention.hpp"
#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

/// A score of query and key with learned weights; pair_score() makes one. Copies share them.
class PairScore {
 public:
  /// What a kind of score has to do.
  struct Form {
    virtual ~Form() = default;
    /// From the weights, each (U) or (heads, U), dense and of the right type.
    virtual std::unique_ptr<simd::TilePairs<float>> on_tiles(float, const Tensor* weights,
                                                             Size width) const = 0;
    virtual std::unique_ptr<simd::TilePairs<double>> on_tiles(double, const Tensor* weights,
                                                              Size width) const = 0;
    /// The same from plain ops: (B, H, Tq, U) and (B, H, Tk, U) → (B, H, Tq, Tk). As ScoreMod::Form has it
    /// for pairs that `live` leaves out.
    virtual Tensor by_ops(const Tensor& query, const Tensor& key, const Tensor* weights,
                          const Mask& live) const = 0;
  };

  /// None: the score is scale·q·k.
  PairScore() = default;
  PairScore(std::shared_ptr<const Form> form, std::vector<Tensor> learned)
      : form_(std::move(form)), learned_(std::move(learned)) {}

  /// Whether there is one; without it the score is scale·q·k.
  bool defined() const { return form_ != nullptr; }
  /// Its form(), which has to be there, and its learned() weights in the order in which they were given.
  const Form& form() const { return *form_; }
  const std::vector<Tensor>& learned() const { return learned_; }

 private:
  std::shared_ptr<const Form> form_;
  std::vector<Tensor> learned_;
};

}  // namespace tapestry
