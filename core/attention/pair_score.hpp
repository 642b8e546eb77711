// PairScore, a function of query and key with learned weights. In tiled attention it replaces the score
// scale·query·key. pair_score() (score_lambda.hpp) builds one from a lambda.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/simd/attention/attention.hpp"
#include "core/tensor/mask.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// A score of query and key with learned weights, built by pair_score(). Copies share the weights.
class PairScore {
 public:
  /// Interface of an implementation.
  struct Impl {
    virtual ~Impl() = default;
    /// Returns the function for tiles of f32 or f64, which the first argument selects. Each weight is (U) or
    /// (heads, U), dense and of this type; `width` is U, the width of queries and keys.
    virtual std::unique_ptr<simd::TilePairs<float>> on_tiles(float, const Tensor* weights,
                                                             Size width) const = 0;
    virtual std::unique_ptr<simd::TilePairs<double>> on_tiles(double, const Tensor* weights,
                                                              Size width) const = 0;
    /// Computes the same from plain ops: (B, H, Tq, U) and (B, H, Tk, U) → (B, H, Tq, Tk). `live` as in
    /// ScoreMod::Impl.
    virtual Tensor by_ops(const Tensor& query, const Tensor& key, const Tensor* weights,
                          const Mask& live) const = 0;
  };

  /// No function: the score is scale·q·k.
  PairScore() = default;
  PairScore(std::shared_ptr<const Impl> impl, std::vector<Tensor> learned)
      : impl_(std::move(impl)), learned_(std::move(learned)) {}

  /// Returns true if there is a function; otherwise the score is scale·q·k.
  bool defined() const { return impl_ != nullptr; }
  /// Implementation, if defined(), and the learned weights in the order in which they were passed.
  const Impl& impl() const { return *impl_; }
  const std::vector<Tensor>& learned() const { return learned_; }

 private:
  std::shared_ptr<const Impl> impl_;
  std::vector<Tensor> learned_;
};

}  // namespace tapestry
